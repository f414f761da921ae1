"""Private inference from end to end: train with a range penalty, remove the tails, export, serve encrypted rows.

    python examples/private/demo.py [--data breast-cancer] [--degree 2] [--rows N] [--picture private.png]

`--data` is breast-cancer, wine, digits, or voice with `--voice FILE` (the CSV of UCI 489). Needs chebact[private] and
scikit-learn. The client standardises and clips its rows before it encrypts them.
"""

import argparse
import csv
import tempfile
import time
from pathlib import Path

import numpy
import torch
from client import RemoteNetwork
from sklearn import datasets
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit
from torch import nn

import chebact

CLIP = 3.0


def read_table(name, voice=None):
    """x, y and, of the voices, who spoke."""
    if name != "voice":
        return *getattr(datasets, f"load_{name.replace('-', '_')}")(return_X_y=True), None
    with open(voice, newline="") as file:
        rows = list(csv.DictReader(file))
    features = [column for column in rows[0] if column not in ("ID", "Recording", "Status")]
    x = numpy.array([[float(row[column]) for column in features] for row in rows])
    return x, numpy.array([int(row["Status"]) for row in rows]), [row["ID"] for row in rows]


def split_table(x, y, groups):
    """Training and test rows, standardised by the training rows and clipped, float64."""
    kind = StratifiedShuffleSplit if groups is None else GroupShuffleSplit
    train, test = next(kind(1, test_size=0.2, random_state=0).split(x, y, groups))
    deviation = x[train].std(axis=0)
    scaled = (x - x[train].mean(axis=0)) / numpy.where(deviation > 0, deviation, 1)
    x, y = torch.tensor(scaled).clamp(-CLIP, CLIP), torch.tensor(y)
    return (x[train], y[train]), (x[test], y[test])


def train_network(x, y, degree, epochs, width=32):
    """Two hidden layers that start as GELU, with straight tails and a penalty on what lies outside the interval."""
    torch.manual_seed(0)

    def hidden(columns):
        return nn.Linear(columns, width), chebact.ChebyshevLagrange(width, degree=degree, init="gelu")

    network = nn.Sequential(*hidden(x.shape[1]), *hidden(width), nn.Linear(width, int(y.max()) + 1)).double()
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.003, weight_decay=1.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    penalty = chebact.range_penalty(network, margin=0.2, weight=10.0)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            with penalty:
                loss = nn.functional.cross_entropy(network(x[rows]), y[rows])
            (loss + penalty.value()).backward()
            optimizer.step()
        schedule.step()
    return network.eval()


def run(given):
    """Train, serve the test rows encrypted, and compare with the network in the clear."""
    table = read_table(given.data, given.voice)
    train, (x, y) = split_table(*table)
    network = train_network(*train, given.degree, given.epochs)
    result = chebact.to_polynomial(network, calibration=train[0], margin=0.0)
    print(result.report)
    with tempfile.TemporaryDirectory() as folder:
        print(chebact.private.export(result.model, Path(folder) / "model.json"))
        start = time.perf_counter()
        with RemoteNetwork(Path(folder) / "model.json") as remote:
            times = {"keys and server": time.perf_counter() - start}
            for name, rows in (("first row", x[:1]), ("one row", x[:1]), ("all rows", x[: given.rows])):
                start = time.perf_counter()
                outputs = remote(rows)
                times[name] = time.perf_counter() - start
    with torch.no_grad():
        clear = result.model(x[: given.rows]).numpy()
    return {"network": network, "rows": x[: given.rows], "y": y[: given.rows].numpy(), "times": times,
            "clear": clear, "decrypted": outputs, "remote": remote}  # fmt: skip


def summarise(found):
    clear, decrypted = found["clear"], found["decrypted"]
    found["accuracy"] = 100 * float((clear.argmax(1) == found["y"]).mean())
    found["same"] = int((clear.argmax(1) == decrypted.argmax(1)).sum())
    found["error"] = float(numpy.abs(clear - decrypted).max())
    for name, seconds in found["times"].items():
        print(f"{name}: {seconds:.2f} s")
    print(f"{len(clear)} test rows, {found['accuracy']:.1f} % right in the clear")
    print(f"encrypted: the same decision on {found['same']}, outputs within {found['error']:.1e}")
    return found


def draw_picture(found, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    margin = found["clear"].max(1) - numpy.sort(found["clear"], axis=1)[:, -2]
    error = numpy.abs(found["clear"] - found["decrypted"]).max(1)
    right_class = found["clear"].argmax(1) == found["y"]
    for chosen, label, colour in ((right_class, "right class", "tab:blue"), (~right_class, "wrong class", "tab:red")):
        left.plot(margin[chosen], error[chosen], ".", color=colour, label=f"{label} ({chosen.sum()})")
    ends = numpy.array([margin.min() / 2, margin.max() * 2])
    left.plot(ends, ends / 2, "--", color="black", lw=1, label="an error that can change a decision")
    left.set(xscale="log", yscale="log", xlabel="distance of the two best outputs", ylabel="error of the encryption")
    left.legend(fontsize=8)
    left.grid(alpha=0.3)
    left.set_title(f"{len(margin)} encrypted test rows, {found['same']} decisions the same", fontsize=10)
    with chebact.record_inputs(found["network"]) as inputs:
        found["network"](found["rows"])
    chebact.plot_activation(found["network"][1], [0, 1, 2, 3], inputs["1"], right)
    right.set_title("four learned polynomials and what reaches them", fontsize=10)
    figure.savefig(path, dpi=110)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", choices=("breast-cancer", "wine", "digits", "voice"), default="breast-cancer")
    parser.add_argument("--voice", type=Path, help="the CSV file of UCI 489, for --data voice")
    parser.add_argument("--degree", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--rows", type=int, help="so many test rows; all by default")
    parser.add_argument("--picture")
    given = parser.parse_args(arguments)
    found = summarise(run(given))
    if given.picture:
        draw_picture(found, given.picture)
    return found


if __name__ == "__main__":
    main()
