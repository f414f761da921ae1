"""Times of exported networks: python benchmarks/deploy.py measures and records in results/deploy, and writes the tables
of docs/deploy.md; with --tables it only writes the tables.

Each pair is timed in turns, 40 times; a result is the median of the ratios and their quartiles. Nothing else may run.
"""

from __future__ import annotations

import copy
import ctypes
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import onnx
import onnxruntime
import torch
from torch import Tensor, nn

import chebact
from chebact.lab.engine import now
from chebact.lab.environment import environment, host
from chebact.lab.page.documents import update_document
from chebact.lab.store import Record, holds, read_record, write_record
from chebact.networks import ResidualMLP

ROOT = Path(__file__).parents[1]
RECORD, PAGE = ROOT / "results" / "deploy" / "times.json", ROOT / "docs" / "deploy.md"
SPEC = {"turns": 40, "calls": 5, "threads": 2}
SHAPES = ((32, 32), (256, 256), (128, 32, 16, 16))


def conv_net(activation: Callable[[int], nn.Module]) -> nn.Module:
    parts = [nn.Conv2d(3, 32, 3, padding=1), activation(32), nn.Conv2d(32, 32, 3, padding=1), activation(32)]
    return nn.Sequential(*parts, nn.Conv2d(32, 8, 3, padding=1))


def networks() -> Iterator[tuple[str, nn.Module, nn.Module, Tensor]]:
    """Name, network with learned activations, the same with ReLU, and its input."""
    for width in (32, 256):
        learned, relu = (ResidualMLP(3, width=width, blocks=3, activation=word) for word in ("cl-extrapolate", "relu"))
        yield f"ResidualMLP, {width} wide, batch 256", learned, relu, torch.randn(256, 3)
    pictures = torch.randn(16, 3, 32, 32)
    learned, relu = conv_net(chebact.ChebyshevLagrange), conv_net(lambda width: nn.ReLU())
    yield "three convolutions, 32 channels, 16x3x32x32", learned, relu, pictures


def session(model: nn.Module, x: Tensor, path: Path) -> Callable[[], Any]:
    """A call of the exported model in onnxruntime."""
    with warnings.catch_warnings(action="ignore"):
        torch.onnx.export(model.eval(), (x,), str(path), dynamo=True, verbose=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = SPEC["threads"]
    made = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return partial(made.run, None, {made.get_inputs()[0].name: x.numpy()})


def time_in_turns(*calls: Callable[[], Any]) -> Any:
    """Seconds per call, (turn, call)."""
    for call in calls * SPEC["calls"]:
        call()
    times = numpy.empty((SPEC["turns"], len(calls)))
    for turn in times:
        for place, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(SPEC["calls"]):
                call()
            turn[place] = (time.perf_counter() - start) / SPEC["calls"]
    return times


def ratio(one: Callable[[], Any], other: Callable[[], Any]) -> list[float]:
    """Median and quartiles of the time of one over that of the other."""
    times = time_in_turns(one, other)
    return quartiles(times[:, 0] / times[:, 1])


def quartiles(values: Any) -> list[float]:
    return [float(f"{value:.4g}") for value in numpy.quantile(values, [0.5, 0.25, 0.75])]


def measure_networks(folder: Path) -> dict[str, Any]:
    """In onnxruntime, learned and folded against ReLU; in torch, folded against learned."""
    found = {}
    for name, learned, relu, x in networks():
        folded = chebact.fold_(copy.deepcopy(learned))
        models = {"learned": learned, "folded": folded, "relu": relu}
        paths = {key: folder / f"{key}.onnx" for key in models}
        runs = {key: session(model, x, paths[key]) for key, model in models.items()}
        found[name] = {
            "operations": {key: len(onnx.load(str(path)).graph.node) for key, path in paths.items()},
            "learned": ratio(runs["learned"], runs["relu"]),
            "folded": ratio(runs["folded"], runs["relu"]),
            "torch": ratio(partial(folded, x), partial(learned, x)),
        }
    return found


def measure_activations() -> dict[str, Any]:
    """One activation in torch, folded against learned, without derivatives and against one that records them."""
    found = {}
    for shape in SHAPES:
        x, learned = torch.randn(shape), chebact.ChebyshevLagrange(shape[1])
        folded = chebact.fold_(learned)
        plain = ratio(partial(folded, x), partial(learned, x))
        with torch.enable_grad():
            found["x".join(map(str, shape))] = [plain, ratio(partial(folded, x), partial(learned, x))]
    return found


def measure_point(folder: Path) -> dict[str, Any]:
    """Microseconds for one row of the paper's network: in torch, in onnxruntime, in C."""
    network, x = chebact.fold_(ResidualMLP(3)), torch.randn(1, 3)
    given, out = (ctypes.c_float * 3)(*x[0].tolist()), ctypes.c_float()
    call = partial(compiled(network, folder), given, ctypes.byref(out))
    times = time_in_turns(partial(network, x), session(network, x, folder / "point.onnx"), call)
    names = ("torch", "onnxruntime", "C")
    return {name: quartiles(1e6 * column) for name, column in zip(names, times.T, strict=True)}


def compiled(network: nn.Module, folder: Path) -> Any:
    """The function of a network, by the system's C compiler."""
    source, library = chebact.to_c(network, folder / "network.c"), folder / "network.so"
    compiler = shutil.which("cc")
    assert compiler, "there is no C compiler cc"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library)).network


@torch.no_grad()
def measure() -> None:
    """Measure everything and write the record."""
    torch.set_num_threads(SPEC["threads"])
    torch.manual_seed(0)
    created, start = now(), time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = {"networks": measure_networks(folder), "activations": measure_activations()}
        results["point"] = measure_point(folder)
    times = {"host": host(), "created": created, "seconds": round(time.perf_counter() - start, 1)}
    write_record(RECORD, Record("deploy", SPEC, results, environment("onnx", "onnxruntime", "onnxscript"), times))


def spread(values: list[float], digits: int = 2) -> str:
    """Median and quartiles as text."""
    middle, low, high = (f"{value:.{digits}f}" for value in values)
    return f"{middle} ({low} to {high})"


def write_tables(page: Path = PAGE) -> None:
    """Fill the marked blocks of the page."""
    results = read_record(RECORD).results
    version = read_record(RECORD).environment["versions"]["onnxruntime"]
    lines = [f"| onnxruntime {version}, time / ReLU's | folded | not folded | operations |", "|---|--:|--:|--:|"]
    for name, row in results["networks"].items():
        counts = " / ".join(str(row["operations"][key]) for key in ("folded", "learned", "relu"))
        lines.append(f"| {name} | {spread(row['folded'])} | {spread(row['learned'])} | {counts} |")
    heads = ("time of folded / learned, in torch", "both without gradients", "learned with gradients")
    folds = [f"| {' | '.join(heads)} |", "|---|--:|--:|"]
    folds += [f"| {shape} | {spread(one)} | {spread(two)} |" for shape, (one, two) in results["activations"].items()]
    folds += [f"| {name} | {spread(row['torch'])} | |" for name, row in results["networks"].items()]
    point = ["| one row, ResidualMLP of 32 | microseconds |", "|---|--:|"]
    point += [f"| {name} | {spread(values, 1)} |" for name, values in results["point"].items()]
    tables = {"deploy-onnx": lines, "deploy-fold": folds, "deploy-point": point}
    update_document(page, {name: "\n".join(table) for name, table in tables.items()})


if __name__ == "__main__":
    if "--tables" not in sys.argv and not holds(RECORD, SPEC):
        measure()
    write_tables()
