"""CL-extrapolate on intermediate features of a trained image network, which the paper proposes to try.

python benchmarks/image_features.py [--folder build/image-features] [--data FOLDER] [--table]
Trains the image network with ReLU on part of MNIST (`chebact data fetch mnist` first; about ten minutes on one core,
continued where it was stopped), takes its features after each stage, and trains the paper's clinical network on them
with ReLU, tanh and CL-extrapolate. The record is in results/image-features, the table in docs/vision.md; --table only
writes that.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from chebact.lab.checkpoint import checkpoints, load_checkpoint
from chebact.lab.engine import now
from chebact.lab.environment import environment, host
from chebact.lab.images.augment import as_input, with_border
from chebact.lab.images.network import ShakeShakeResNet
from chebact.lab.images.run import run_images
from chebact.lab.images.sets import IMAGE_DATASETS, ImageSet, load_images
from chebact.lab.images.spec import ImageSpec
from chebact.lab.images.tables import activation_title
from chebact.lab.page.documents import update_document
from chebact.lab.page.sheet import Cell, Head, Sheet, as_markdown, plus_minus
from chebact.lab.spec import as_plain, stream
from chebact.lab.stats import summarize, welch
from chebact.lab.store import Record, holds, read_record, write_record
from chebact.networks import ResidualMLP
from chebact.training import cross_entropy, paper_sgd, predict_replicas, train_replicas_

ROOT = Path(__file__).parents[1]
PAGE, RECORD = ROOT / "docs" / "vision.md", ROOT / "results" / "image-features" / "mnist.json"
PIXELS = "pixels"
SUBJECT = "cl-extrapolate"


@dataclass(frozen=True)
class FeatureSpec:
    """The record: the trained network, what of it is the input, and the settings of the small network, the paper's
    clinical ones but for the epochs: about as many steps as on the synthetic functions.
    """

    backbone: ImageSpec
    inputs: tuple[str, ...] = (PIXELS, "stage 1", "stage 2", "stage 3")
    activations: tuple[str, ...] = ("relu", "tanh", SUBJECT)
    seeds: int = 10
    width: int = 32
    epochs: int = 30
    batch_size: int = 32
    learning_rate: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 1e-4


SPEC = FeatureSpec(ImageSpec("mnist", "relu", epochs=3, seeds=1, cosine="step", subset=10_000))


@torch.no_grad()
def features_of(network: ShakeShakeResNet, images: ImageSet, row: Any, batch: int = 250) -> dict[str, Tensor]:
    """The inputs by name, each (image, number): the picture in 8 x 8 means, and after every stage the mean of the
    positive part of each channel, as the network itself takes it at its end.
    """
    network.eval()
    parts: dict[str, list[Tensor]] = {}
    for some in with_border(images.images, row.border).split(batch):
        hidden = as_input(some, row.mean, row.deviation)
        parts.setdefault(PIXELS, []).append(torch.nn.functional.adaptive_avg_pool2d(hidden, 8).flatten(1))
        hidden = network.first(hidden)
        for number, block in enumerate(network.blocks, 1):
            hidden = block(hidden)
            stage, is_within = divmod(3 * number, len(network.blocks))
            if not is_within:
                parts.setdefault(f"stage {stage}", []).append(hidden.relu().mean((2, 3)))
    return {name: torch.cat(found) for name, found in parts.items()}


def standardize(train: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
    """Both with the mean and the deviation of the training part; a column that does not vary becomes zero."""
    mean, deviation = train.mean(0), train.std(0)
    scale = torch.where(deviation > 0, 1 / deviation, 0)
    return (train - mean) * scale, (test - mean) * scale


def train_small(spec: FeatureSpec, name: str, activation: str, data: tuple[Tensor, ...]) -> dict[str, Any]:
    """The test accuracy of every seed of the small network, None for one that diverged."""
    x, labels, test_x, test_labels = data
    words = ("image-features", name, activation)
    network = ResidualMLP(
        x.shape[1],
        IMAGE_DATASETS[spec.backbone.dataset].classes,
        activation=activation,
        width=spec.width,
        blocks=2,
        layers=2,
        shortcut="mean",
        last_activation=False,
        replicas=spec.seeds,
        generator=[stream(*words, "start", seed) for seed in range(spec.seeds)],
    )
    run = train_replicas_(
        network,
        x,
        labels[:, None],
        order=[stream(*words, "order", seed) for seed in range(spec.seeds)],
        epochs=spec.epochs,
        batch_size=spec.batch_size,
        loss=cross_entropy,
        optimizer=partial(paper_sgd, lr=spec.learning_rate, momentum=spec.momentum, weight_decay=spec.weight_decay),
    )
    right = (predict_replicas(network, test_x, spec.seeds).argmax(2) == test_labels).double().mean(1)
    accuracies = [None if lost else round(share, 6) for share, lost in zip(right.tolist(), run.failed, strict=True)]
    return {"inputs": name, "columns": x.shape[1], "activation": activation, "accuracy": accuracies}


def measure(spec: FeatureSpec, folder: Path, data: Path | None) -> dict[str, Any]:
    """Train the image network unless the folder has it, then all small networks on its features."""
    trained = run_images(spec.backbone, folder, data=data)
    path = checkpoints(spec.backbone.path(folder).with_suffix("") / "seed-0")[-1]
    network = spec.backbone.network(0)
    network.load_state_dict(load_checkpoint(path, spec.backbone.identity(0))["network"])
    row = IMAGE_DATASETS[spec.backbone.dataset]
    train = load_images(spec.backbone.dataset, "train", data).head(spec.backbone.subset)
    test = load_images(spec.backbone.dataset, "test", data)
    train_inputs, test_inputs = (features_of(network, images, row) for images in (train, test))
    cells = []
    for name in spec.inputs:
        x, test_x = standardize(train_inputs[name], test_inputs[name])
        for activation in spec.activations:
            cells.append(train_small(spec, name, activation, (x, train.labels, test_x, test.labels)))
            print(name, activation, cells[-1]["accuracy"], flush=True)
    return {"backbone": trained.results["seeds"][0]["accuracy"], "cells": cells}


def describe(record: Record) -> str:
    """The table of a record as Markdown, with its caption."""
    spec, results = record.spec, record.results
    title = IMAGE_DATASETS[spec["backbone"]["dataset"]].title
    heads = [Head("input"), Head("numbers", right=True)]
    heads += [Head(activation_title(name), right=True) for name in spec["activations"]]
    others = [name for name in spec["activations"] if name != SUBJECT]
    heads += [Head(f"p against {activation_title(name)}", right=True) for name in others]
    rows = []
    for name in spec["inputs"]:
        cells = {cell["activation"]: cell for cell in results["cells"] if cell["inputs"] == name}
        rows.append((Cell(name), Cell(str(cells[SUBJECT]["columns"])), *accuracy_cells(cells, others)))
    caption = (
        f"Test accuracy in %, mean ± standard deviation of {spec['seeds']} seeds, on inputs from a network that was "
        f"trained on the first {spec['backbone']['subset']:,} images of {title} ({100 * results['backbone']:.2f} % "
        f"itself), for the same images. p: Welch's test of CL-extrapolate against the other."
    )
    return f"{caption}\n\n{as_markdown(Sheet('features', caption, tuple(heads), tuple(rows)))}\n"


def accuracy_cells(cells: dict[str, Any], others: list[str]) -> list[Cell]:
    """One cell per activation, then the p-values against the others."""
    found = []
    for cell in cells.values():
        summary = summarize([None if value is None else 100 * value for value in cell["accuracy"]])
        lost = f", {summary.nan}/{summary.seeds} NaN" if summary.nan else ""
        found.append(Cell(("-" if summary.mean is None else plus_minus(summary.mean, summary.std, 2)) + lost))
    kept = {name: [value for value in cell["accuracy"] if value is not None] for name, cell in cells.items()}
    chances = [welch(kept[SUBJECT], kept[name]) for name in others]
    return [*found, *(Cell("-" if p is None else f"{p:.2g}") for p in chances)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "image-features", help="of the trained network")
    parser.add_argument("--data", type=Path, help="folder of the image sets, as for `chebact run images`")
    parser.add_argument("--table", action="store_true", help="only write the table")
    asked = parser.parse_args()
    if not asked.table and not holds(RECORD, as_plain(SPEC)):
        created, start = now(), time.perf_counter()
        results = measure(SPEC, asked.folder, asked.data)
        run = {"host": host(), "created": created, "seconds": round(time.perf_counter() - start, 1)}
        write_record(RECORD, Record("image-features", as_plain(SPEC), results, environment(), run))
    update_document(PAGE, {"image-features": describe(read_record(RECORD))})


if __name__ == "__main__":
    main()
