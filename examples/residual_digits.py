"""A residual network on scikit-learn's digits: train with ReLU, operate, train the heights alone, compare.

    python examples/residual_digits.py [--epochs 6] [--seeds 3] [--picture residual_digits.png]

Six ways: ReLU; right after surgery; then as many epochs of the heights alone, or of everything; ReLU for as many epochs
more; learned activations that start as ReLU, from the beginning and as long in one schedule.
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
    """The test accuracies of one seed, in percent, and the operated model."""
    data, test = read_digits(points)
    torch.manual_seed(seed)
    start, example = ResidualNet(), data[0][:256]
    scores = {}
    relu = copy.deepcopy(start)
    train_(relu, relu.parameters(), data, epochs, seed)
    scores["ReLU"] = accuracy(relu, test)
    replacement = chebact.replace_activations(relu, example, interval="fit", copy=True)
    scores["after surgery"] = accuracy(replacement.model, test)
    alone = copy.deepcopy(replacement.model)
    train_(alone, heights_of(alone), data, epochs, seed + 1)
    scores["then heights alone"] = accuracy(alone, test)
    everything = copy.deepcopy(replacement.model)
    train_(everything, everything.parameters(), data, epochs, seed + 1, lr=0.003)
    scores["then everything"] = accuracy(everything, test)
    longer = copy.deepcopy(relu)
    train_(longer, longer.parameters(), data, epochs, seed + 1, lr=0.003)
    scores["ReLU, twice as long"] = accuracy(longer, test)
    fresh = chebact.replace_activations(start, example, copy=True).model
    train_(fresh, fresh.parameters(), data, 2 * epochs, seed)
    scores["CL from the start"] = accuracy(fresh, test)
    return scores, alone, replacement.report


def draw_picture(scores, model, data, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
    for place, values in enumerate(scores.values()):
        errors = [100 - value for value in values]
        spread = numpy.linspace(-0.12, 0.12, len(errors)) + place  # seeds of one accuracy side by side
        left.plot(errors, spread, "o", color="tab:blue", alpha=0.6)
        left.plot(numpy.mean(errors), place, "|", color="black", markersize=16)
    left.set_yticks(range(len(scores)), scores)
    left.invert_yaxis()
    left.set(xscale="log", xlabel="wrong test pictures, %; one point per seed, a bar for the mean")
    left.set_xticks([0.5, 1, 2, 5, 10], ["0.5", "1", "2", "5", "10"])
    left.minorticks_off()
    left.grid(alpha=0.3, axis="x")
    with chebact.record_inputs(model) as inputs:
        model(data[0][0])
    chebact.plot_activation(model.block2.relu, [0, 1, 2, 3], inputs["block2.relu"], right)
    x = numpy.linspace(*right.get_xlim(), 3 * 67)
    right.plot(x, numpy.maximum(x, 0), "--", color="0.4", linewidth=1, label="ReLU")
    right.legend(fontsize=8)
    right.set(xlabel="input; bars: how often it occurs", ylabel="output", title="block2.relu, heights trained alone")
    figure.savefig(path, dpi=110)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=6, help="of each training")
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds")
    parser.add_argument("--points", type=int, help="fewer pictures, for a quick look")
    parser.add_argument("--picture")
    given = parser.parse_args(arguments)
    for name, least in (("epochs", 1), ("seeds", 1), ("points", 50)):
        if getattr(given, name) is not None and getattr(given, name) < least:
            parser.error(f"--{name} must be at least {least}, got {getattr(given, name)}")
    if given.picture and not Path(given.picture).resolve().parent.is_dir():
        parser.error(f"--picture must be in a folder that exists, got {given.picture}")
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
