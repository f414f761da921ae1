"""One cohort of the synthetic experiment: its spec, and the training of several cohorts as one batched network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from chebact.lab.spec import check_choice, check_count, check_noise, stream
from chebact.lab.synthetic.recipes import DATASETS, RECIPE_FORMS, RecipeForm, plotted_slice, published_split
from chebact.lab.synthetic.shapes import inputs_kept, shapes_of, values_kept
from chebact.networks.residual_mlp import ARCHITECTURES, ResidualMLP
from chebact.training.replicas import ReplicaRun, paper_sgd, predict_replicas, train_replicas_

__all__ = ["SyntheticCohort", "train_together"]

COLUMNS = max(recipe.features for recipe in DATASETS.values())
SLICE_POINTS = 101
CURVE_POINTS = 30


@dataclass(frozen=True)
class SyntheticCohort:
    """The spec of one record: a network, a data set, a noise level, all seeds. The settings are the paper's by
    default.
    """

    model: str
    dataset: str
    noise: float
    recipes: RecipeForm
    seeds: int = 10
    epochs: int = 300
    points: int = 1000
    batch_size: int = 32
    learning_rate: float = 0.01
    momentum: float = 0.99
    weight_decay: float = 1e-6
    form: Literal["paper", "released"] = "released"

    def __post_init__(self) -> None:
        check_choice("model", self.model, ARCHITECTURES)
        check_choice("data set", self.dataset, DATASETS)
        check_choice("form of the recipes", self.recipes, RECIPE_FORMS)
        check_choice("form of the network", self.form, ("paper", "released"))
        check_noise(self.noise)
        for what in ("seeds", "epochs", "points", "batch_size"):
            check_count(what, getattr(self, what))

    def path(self, results: Path) -> Path:
        """Where its record lies below the results folder."""
        short = f"{self.noise:g}"
        noise = short if float(short) == self.noise else repr(self.noise)  # two levels never share a folder
        return results / self.recipes / noise / f"{self.model}-{self.dataset}.json"

    def data(self, part: Literal["train", "test"]) -> tuple[Tensor, Tensor]:
        """x (points, features) and y (points, 1): one draw a data set, whatever the network, the noise and the seed.

        The test targets have no noise, so an RMSE below the noise level is right.
        """
        train, test = published_split(self.dataset, noise=self.noise, recipes=self.recipes, points=self.points)
        return train if part == "train" else test

    def generators(self, purpose: Literal["start", "order"]) -> list[torch.Generator]:
        """One generator a seed for the first weights or for the order of the data."""
        words = ("synthetic", purpose, self.model, self.dataset, self.noise, self.recipes)
        return [stream(*words, seed) for seed in range(self.seeds)]


def train_together(cohorts: Sequence[SyntheticCohort]) -> list[dict[str, Any]]:
    """Train cohorts of one network as one batch; the results part of each cohort's record, in the same order."""
    replicas = [cohort for cohort in cohorts for _ in range(cohort.seeds)]
    spare = padded_count(len(replicas)) - len(replicas)
    everyone = [*cohorts, *([with_seeds(cohorts[0], spare)] if spare else [])]
    network, start, run = train(everyone)
    tested = stacked(everyone, [cohort.data("test")[0] for cohort in everyone])
    with inputs_kept(network) as inputs:
        predicted = predict_replicas(network, tested, len(run.failed))
    slices = [plotted_slice(cohort.dataset, SLICE_POINTS, cohort.recipes)[0] for cohort in everyone]
    drawn = predict_replicas(network, stacked(everyone, slices), len(run.failed))
    results, first = [], 0
    for cohort in cohorts:
        own = slice(first, first + cohort.seeds)
        result = results_of(cohort, ReplicaRun(run.losses[:, own], run.failed[own]), predicted[own], drawn[first])
        if start:
            failed = result["seeds"][0]["nan"]
            result["activations"] = None if failed else shapes_of(network, start, inputs, first)
        results.append(result)
        first += cohort.seeds
    return results


def padded_count(replicas: int) -> int:
    """Round up to whole vector registers, so that no replica's result depends on its companions, to the last bit.

    torch computes what is left over after the last whole pair of registers by other instructions, which round
    differently. With a multiple of 16 floats (32 with AVX-512) in every tensor nothing is left over. A test holds us
    to it.
    """
    lanes = 32 if "AVX512" in torch.backends.cpu.get_cpu_capability() else 16
    return -(-replicas // lanes) * lanes


def with_seeds(cohort: SyntheticCohort, seeds: int) -> SyntheticCohort:
    """The same cohort with another number of seeds: it fills the batch up."""
    return SyntheticCohort(**{**cohort.__dict__, "seeds": seeds})


def train(cohorts: Sequence[SyntheticCohort]) -> tuple[ResidualMLP, dict[str, Tensor], ReplicaRun]:
    """The trained network, the values that its learned activations started from, and how the training went."""
    settings = cohorts[0]
    data = [cohort.data("train") for cohort in cohorts]
    network = ResidualMLP.from_table(
        settings.model,
        COLUMNS,
        sum(cohort.seeds for cohort in cohorts),
        form=settings.form,
        used_features=[DATASETS[cohort.dataset].features for cohort in cohorts for _ in range(cohort.seeds)],
        generator=[generator for cohort in cohorts for generator in cohort.generators("start")],
    )
    start = values_kept(network)
    lr, momentum, decay = settings.learning_rate, settings.momentum, settings.weight_decay
    run = train_replicas_(
        network,
        stacked(cohorts, [x for x, _ in data]),
        stacked(cohorts, [y for _, y in data], columns=1),
        order=[generator for cohort in cohorts for generator in cohort.generators("order")],
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        optimizer=partial(paper_sgd, lr=lr, momentum=momentum, weight_decay=decay),
    )
    return network, start, run


def stacked(cohorts: Sequence[SyntheticCohort], tensors: Sequence[Tensor], columns: int = COLUMNS) -> Tensor:
    """Each cohort's (points, features) once a seed, with zero columns up to `columns`: (replica, points, columns)."""
    wide = [torch.nn.functional.pad(tensor, (0, columns - tensor.shape[1])) for tensor in tensors]
    return torch.cat([x.expand(cohort.seeds, *x.shape) for cohort, x in zip(cohorts, wide, strict=True)])


def results_of(cohort: SyntheticCohort, run: ReplicaRun, predicted: Tensor, drawn: Tensor) -> dict[str, Any]:
    """One cohort's results: RMSE and last training loss a seed, the mean loss curve, seed 0 on the plotted slice."""
    rmse = (predicted.double() - cohort.data("test")[1].double()).square().mean(dim=(1, 2)).sqrt()
    failed = run.failed | ~rmse.isfinite()
    return {
        "seeds": [
            {
                "seed": seed,
                "rmse": number(rmse[seed], failed[seed]),
                "nan": bool(failed[seed]),
                "loss": number(loss, failed[seed]),
            }
            for seed, loss in enumerate(run.losses[-1])
        ],
        "curve": curve(run, failed),
        "slice": [number(value, failed[0], digits=5) for value in drawn.flatten()],
    }


def curve(run: ReplicaRun, failed: Tensor) -> dict[str, list[Any]]:
    """The training loss at up to 30 epochs, the mean over the seeds that stayed finite."""
    epochs = len(run.losses)
    shown = sorted({round((step + 1) * epochs / CURVE_POINTS) for step in range(CURVE_POINTS)} - {0})
    survivors = run.losses[:, ~failed].double().mean(dim=1)
    return {"epoch": shown, "loss": [number(survivors[epoch - 1], failed.all(), digits=5) for epoch in shown]}


def number(value: Tensor, failed: Tensor, digits: int = 9) -> float | None:
    """A plain number of so many digits, or None for a training that failed."""
    return None if failed else float(f"{value.item():.{digits}g}")
