"""A residual network on scikit-learn's digits: train with ReLU, replace the activations, train again.

    python examples/residual_digits.py [--epochs 6] [--seeds 3] [--picture residual_digits.png]

Six ways: ReLU; right after ReLU is replaced by learned curves; then as many epochs of their heights (the values at the
nodes) alone, or of everything; ReLU for as many epochs more; learned curves from the start, as long in one schedule.
"""

import argparse
import copy
from pathlib import Path

import numpy
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

import chebact


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)

    def forward(self, x):
        return F.relu(x + self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))


class ResidualNet(nn.Module):
    """Two blocks on 8x8 pictures, with F.relu as people write it."""

    def __init__(self, width=16):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.block1, self.block2 = Block(width), Block(width)
        self.fc = nn.Linear(width, 10)

    def forward(self, x):
        x = F.max_pool2d(self.block1(F.relu(self.bn(self.conv(x)))), 2)
        return self.fc(self.block2(x).mean((2, 3)))


def read_digits(points=None):
    digits = load_digits()
    x = torch.tensor(digits.images / 8 - 1, dtype=torch.float32).unsqueeze(1)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:points]
    x, y = x[order], torch.tensor(digits.target)[order]
    cut = len(x) * 2 // 3
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])


def train_(model, parameters, data, epochs, seed, lr=0.01):
    optimizer = torch.optim.Adam(parameters, lr=lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    draws, (x, y) = torch.Generator().manual_seed(seed), data
    model.train()
    for _ in range(epochs):
        for rows in torch.randperm(len(x), generator=draws).split(64):
            optimizer.zero_grad()
            F.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
        schedule.step()
    return model


@torch.no_grad()
def accuracy(model, data):
    return 100 * (model.eval()(data[0]).argmax(1) == data[1]).float().mean().item()


def heights_of(model):
    return [p for part in model.modules() if isinstance(part, chebact.ChebyshevLagrange) for p in part.parameters()]


def run(seed, epochs, points=None):
    """The test accuracies of one seed, in percent, the model with learned curves, and what was replaced."""
    data, test = read_digits(points)
    torch.manual_seed(seed)
    start, example = ResidualNet(), data[0][:256]
    scores = {}
    relu = copy.deepcopy(start)
    train_(relu, relu.parameters(), data, epochs, seed)
    scores["ReLU"] = accuracy(relu, test)
    replacement = chebact.replace_activations(relu, example, interval="fit")
    scores["right after the replacement"] = accuracy(replacement.model, test)
    alone = copy.deepcopy(replacement.model)
    train_(alone, heights_of(alone), data, epochs, seed + 1)
    scores["then the heights alone"] = accuracy(alone, test)
    everything = copy.deepcopy(replacement.model)
    train_(everything, everything.parameters(), data, epochs, seed + 1, lr=0.003)
    scores["then everything"] = accuracy(everything, test)
    longer = copy.deepcopy(relu)
    train_(longer, longer.parameters(), data, epochs, seed + 1, lr=0.003)
    scores["ReLU, twice as long"] = accuracy(longer, test)
    fresh = chebact.replace_activations(start, example).model
    train_(fresh, fresh.parameters(), data, 2 * epochs, seed)
    scores["learned curves from the start"] = accuracy(fresh, test)
    return scores, alone, replacement.report


def draw_picture(scores, model, data, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 6.4), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=(1, 1.3))
    draw_errors(above.subplots(), scores)
    draw_curves(below.subplots(), model, data)
    figure.savefig(path, dpi=160)


def draw_errors(axes, scores):
    """The error of each way on the test pictures: a point per seed, a bar for the mean."""
    for place, (name, values) in enumerate(scores.items()):
        errors = [100 - value for value in values]
        rows = numpy.linspace(-0.15, 0.15, len(errors)) + place  # seeds of one accuracy side by side
        axes.plot(errors, rows, "o", color="tab:blue" if name.startswith("ReLU") else "tab:orange", alpha=0.7)
        axes.plot(numpy.mean(errors), place, "|", color="black", markersize=16)
    axes.set_yticks(range(len(scores)), scores)
    axes.invert_yaxis()
    axes.margins(x=0.08, y=0.1)
    axes.set_xlabel("test error, %; point: a seed, bar: the mean")
    axes.grid(alpha=0.3, axis="x")


def draw_curves(axes, model, data):
    """Four of the learned curves of one activation, beside ReLU."""
    with chebact.record_inputs(model) as inputs:
        model(data[0][0])
    axes.set_prop_cycle(color=["#7f3300", "#d95f0e", "#fe9929", "#fec44f"])
    chebact.plot_activation(model.block2.relu, [0, 1, 2, 3], inputs["block2.relu"], axes)
    x = numpy.linspace(*axes.get_xlim(), 3 * 67)
    axes.plot(x, numpy.maximum(x, 0), "--", color="tab:blue", linewidth=1.2, label="ReLU")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.set(xlabel="input; bars: how often it occurs", ylabel="output", title="block2.relu, heights trained alone")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=6, help="epochs of each training, at least 1")
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds, at least 1")
    parser.add_argument("--points", type=int, default=1797, help="pictures used, at least 50")
    parser.add_argument("--picture", metavar="FILE", help="draw the results: a .png, .svg or .pdf file")
    given = parser.parse_args(arguments)
    for name, least in (("epochs", 1), ("seeds", 1), ("points", 50)):
        if not least <= getattr(given, name) < 2**63:
            parser.error(f"--{name} must be at least {least} and below 2^63, got {getattr(given, name)}")
    path = Path("none.png" if given.picture is None else given.picture).resolve()
    if path.is_dir() or not path.parent.is_dir() or path.suffix.lower() not in (".png", ".svg", ".pdf"):
        parser.error(f"--picture must be a .png, .svg or .pdf file in a folder that exists, got {given.picture!r}")
    runs = [run(seed, given.epochs, given.points) for seed in range(given.seeds)]
    print(runs[0][2])
    scores = {name: [scores[name] for scores, _, _ in runs] for name in runs[0][0]}
    for name, values in scores.items():
        print(f"{name}: {numpy.mean(values):.2f} % (from {min(values):.2f} to {max(values):.2f})")
    if given.picture:
        draw_picture(scores, runs[0][1], read_digits(given.points), given.picture)
    return scores


if __name__ == "__main__":
    main()
