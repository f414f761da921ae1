"""The training of the synthetic experiment: several specs of one network as one batched network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from chebact.lab.functions import DATASETS, plotted_slice
from chebact.lab.starts import HE_UNIFORM, activation_factory, draw_he_uniform_
from chebact.lab.synthetic.shapes import copy_values, keep_inputs, shapes_of
from chebact.lab.synthetic.spec import LOSSES, SyntheticSpec
from chebact.networks.residual_mlp import ResidualMLP
from chebact.training.fused import why_not_here
from chebact.training.optimizers import OptimizerFactory, Sgd
from chebact.training.replicas import ReplicaRun, paper_sgd, predict_replicas, train_replicas_

__all__ = ["train_together"]

SLICE_POINTS = 101
CURVE_POINTS = 30
DEGREE = 3  # of the paper's networks


def train_together(specs: Sequence[SyntheticSpec]) -> list[dict[str, Any]]:
    """Train specs of one network as one batch; the results part of each spec's record, in the same order."""
    replicas = [spec for spec in specs for _ in range(spec.seeds)]
    spare = 0 if why_not_here() is None else padded_count(len(replicas)) - len(replicas)
    everyone = [*specs, *([replace(specs[0], seeds=spare)] if spare else [])]
    network, start, run = train(everyone)
    tested = stack_specs(everyone, [spec.data("test")[0] for spec in everyone])
    with keep_inputs(network) as inputs:
        predicted = predict_replicas(network, tested, len(run.failed))
    slices = [plotted_slice(spec.dataset, SLICE_POINTS, spec.recipes)[0] for spec in everyone]
    drawn = predict_replicas(network, stack_specs(everyone, slices), len(run.failed))
    results, first = [], 0
    for spec in specs:
        own = slice(first, first + spec.seeds)
        own_run = ReplicaRun(run.losses[:, own], run.failed[own], run.trainer)
        result = results_of(spec, own_run, predicted[own], drawn[first])
        if spec.recipes == "recommended" and spec.column_order == "fixed":  # all seeds learn one function
            result["ensemble"] = ensemble_error(spec, own_run, predicted[own])
        if start:
            failed = result["seeds"][0]["nan"]
            result["activations"] = None if failed else shapes_of(network, start, inputs, first)
        results.append(result)
        first += spec.seeds
    return results


def padded_count(replicas: int) -> int:
    """Round up to whole vector registers where torch trains, so that no replica's result depends on its companions.

    The fused trainer needs none of it. torch computes what is left over after the last whole pair of registers by other
    instructions, which round differently. With a multiple of 16 floats (32 with AVX-512) in every tensor nothing is
    left over. A test holds us to it.
    """
    lanes = 32 if "AVX512" in torch.backends.cpu.get_cpu_capability() else 16
    return -(-replicas // lanes) * lanes


def train(specs: Sequence[SyntheticSpec]) -> tuple[ResidualMLP, dict[str, Tensor], ReplicaRun]:
    """The trained network, the values that its learned activations started from, and how the training went."""
    settings = specs[0]
    data = [spec.data("train") for spec in specs]
    network = ResidualMLP.from_table(
        settings.model,
        settings.columns,
        sum(spec.seeds for spec in specs),
        activation=activation_factory(settings.activation, settings.init),
        form=settings.form,
        degree=None if settings.degree == DEGREE else settings.degree,
        used_features=[DATASETS[spec.dataset].features for spec in specs for _ in range(spec.seeds)],
        generator=[generator for spec in specs for generator in spec.generators("start")],
    )
    if settings.start == HE_UNIFORM:
        draw_he_uniform_(network)
    start = copy_values(network)
    run = train_replicas_(
        network,
        stack_specs(specs, [x for x, _ in data]),
        stack_specs(specs, [y for _, y in data], columns=1),
        order=[generator for spec in specs for generator in spec.generators("order")],
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        loss=LOSSES[settings.loss],
        optimizer=optimizer_of(settings),
        curvature=settings.curvature,
    )
    return network, start, run


def optimizer_of(spec: SyntheticSpec) -> OptimizerFactory | Sgd:
    """The paper's optimizer, or where a spec asks for more the same with it."""
    lr, momentum, decay = spec.learning_rate, spec.momentum, spec.weight_decay
    if not spec.nesterov and spec.heights_decay is None:
        return partial(paper_sgd, lr=lr, momentum=momentum, weight_decay=decay)
    return Sgd(lr, momentum, spec.nesterov, decay, heights_weight_decay=spec.heights_decay)


def stack_specs(specs: Sequence[SyntheticSpec], tensors: Sequence[Tensor], columns: int | None = None) -> Tensor:
    """Each spec's (points, features) once per seed, with zero columns up to `columns`: (replica, points, columns).

    What has a row of its own per seed, (seed, points, features), keeps it.
    """
    columns = specs[0].columns if columns is None else columns
    wide = [torch.nn.functional.pad(tensor, (0, columns - tensor.shape[-1])) for tensor in tensors]
    return torch.cat([x.expand(spec.seeds, *x.shape[-2:]) for spec, x in zip(specs, wide, strict=True)])


def results_of(spec: SyntheticSpec, run: ReplicaRun, predicted: Tensor, drawn: Tensor) -> dict[str, Any]:
    """One spec's results: RMSE and last training loss per seed, the mean loss curve, seed 0 on the plotted slice."""
    rmse = (predicted.double() - spec.data("test")[1].double()).square().mean(dim=(1, 2)).sqrt()
    failed = run.failed | ~rmse.isfinite()
    return {
        "seeds": [
            {
                "seed": seed,
                "rmse": round_or_none(rmse[seed], failed[seed]),
                "nan": bool(failed[seed]),
                "loss": round_or_none(loss, failed[seed]),
            }
            for seed, loss in enumerate(run.losses[-1])
        ],
        "curve": curve(run, failed),
        "slice": [round_or_none(value, failed[0], digits=5) for value in drawn.flatten()],
        "trainer": run.trainer,
    }


def ensemble_error(spec: SyntheticSpec, run: ReplicaRun, predicted: Tensor) -> float | None:
    """The RMSE of the mean prediction of the seeds that stayed finite."""
    mean = predicted[~run.failed].double().mean(dim=0)
    return round_or_none((mean - spec.data("test")[1][0].double()).square().mean().sqrt(), run.failed.all())


def curve(run: ReplicaRun, failed: Tensor) -> dict[str, list[Any]]:
    """The training loss at up to 30 epochs, the mean over the seeds that stayed finite."""
    epochs = len(run.losses)
    shown = sorted({round((step + 1) * epochs / CURVE_POINTS) for step in range(CURVE_POINTS)} - {0})
    survivors = run.losses[:, ~failed].double().mean(dim=1)
    return {"epoch": shown, "loss": [round_or_none(survivors[epoch - 1], failed.all(), digits=5) for epoch in shown]}


def round_or_none(value: Tensor, failed: Tensor, digits: int = 9) -> float | None:
    """A plain number of so many digits, or None for a training that failed."""
    return None if failed else float(f"{value.item():.{digits}g}")
