"""Times of exported networks in onnxruntime, and of folded activations in torch: python benchmarks/deploy.py.

Each pair is timed in turns, 40 times; what is printed is the median of the ratios and their quartiles.
"""

from __future__ import annotations

import copy
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy
import onnx
import onnxruntime
import torch
from torch import nn

import chebact
from chebact.networks import ResidualMLP

TURNS = 40


def conv_net(activation):
    parts = [nn.Conv2d(3, 32, 3, padding=1), activation(32), nn.Conv2d(32, 32, 3, padding=1), activation(32)]
    return nn.Sequential(*parts, nn.Conv2d(32, 8, 3, padding=1))


def nets():
    """Name, network with the learned activation, the same with ReLU, and its input."""
    learned, relu = chebact.ChebyshevLagrange, lambda width: nn.ReLU()
    yield "ResidualMLP, 32 wide, batch 256", ResidualMLP(3), ResidualMLP(3, activation="relu"), torch.randn(256, 3)
    wide = {"width": 256, "blocks": 3}
    x = torch.randn(256, 3)
    yield "ResidualMLP, 256 wide, batch 256", ResidualMLP(3, **wide), ResidualMLP(3, activation="relu", **wide), x
    yield "three convolutions, 16x3x32x32", conv_net(learned), conv_net(relu), torch.randn(16, 3, 32, 32)


def session(model, x, path):
    with warnings.catch_warnings(action="ignore"):
        torch.onnx.export(model.eval(), (x,), str(path), dynamo=True, verbose=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def ratios(one, other):
    for _ in range(5):
        one(), other()
    times = numpy.empty((TURNS, 2))
    for turn in times:
        for place, call in enumerate((one, other)):
            start = time.perf_counter()
            for _ in range(5):
                call()
            turn[place] = time.perf_counter() - start
    return numpy.quantile(times[:, 0] / times[:, 1], [0.5, 0.25, 0.75])


def show(name, quartiles):
    print(f"{name}: {quartiles[0]:.2f} ({quartiles[1]:.2f} to {quartiles[2]:.2f})", flush=True)


@torch.no_grad()
def main():
    torch.set_num_threads(2)
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        for name, learned, relu, x in nets():
            folded = chebact.fold_(copy.deepcopy(learned))
            models = {"learned": learned, "folded": folded, "relu": relu}
            paths = {key: Path(folder) / f"{key}.onnx" for key in models}
            sessions = {key: session(model, x, paths[key]) for key, model in models.items()}
            counts = {key: len(onnx.load(str(path)).graph.node) for key, path in paths.items()}
            print(name, counts, flush=True)
            given = x.numpy()
            runs = {key: partial(each.run, None, {each.get_inputs()[0].name: given}) for key, each in sessions.items()}
            show("  onnxruntime, learned over ReLU", ratios(runs["learned"], runs["relu"]))
            show("  onnxruntime, folded over ReLU", ratios(runs["folded"], runs["relu"]))
            show("  torch, folded over learned", ratios(partial(folded, x), partial(learned, x)))
    for shape in ((32, 32), (256, 256), (128, 32, 16, 16)):
        x = torch.randn(shape)
        layer = chebact.ChebyshevLagrange(32 if len(shape) == 4 else shape[1])
        folded = chebact.fold_(layer)
        show(f"one activation {shape}, torch, folded over learned", ratios(partial(folded, x), partial(layer, x)))
        with torch.enable_grad():
            show("  the same, learned one recording", ratios(partial(folded, x), partial(layer, x)))


if __name__ == "__main__":
    main()
