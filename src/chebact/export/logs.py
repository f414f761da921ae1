"""`log_activations`: learned curves for TensorBoard, or for any object that takes figures."""

from __future__ import annotations

from typing import Any

from torch import nn

from chebact.checks import check_integer, check_module, must_be
from chebact.learned import LearnedActivation
from chebact.plotting import plot_activation
from chebact.recording import InputSample, record_inputs, refused_example, run_once

__all__ = ["log_activations"]


def log_activations(model: nn.Module, writer: Any, step: int, data: Any = None, *, channels: int = 4) -> int:
    """Give a writer one figure per learned activation: the curves of its first channels; returns how many.

    Args:
        model: with learned activations.
        writer: torch.utils.tensorboard.SummaryWriter, or any object with `add_figure(tag, figure, step)`. One that has
            `add_histogram(tag, values, step)` also gets the heights, and with `data` the inputs.
        step: the number of the training step.
        data: an input of the model, a tuple of them or a dict of them by name: then the figures show the inputs too.
            The model runs once on it, in evaluation mode and without derivatives.
        channels: how many curves a figure has at most.

    >>> class Writer:
    ...     def add_figure(self, tag, figure, step):
    ...         print(tag, step)
    >>> from chebact import ChebyshevLagrange
    >>> log_activations(nn.Sequential(nn.Linear(2, 3), ChebyshevLagrange(3)), Writer(), 100)
    activations/1 100
    1
    """
    if not callable(getattr(writer, "add_figure", None)):
        what = "an object with add_figure(tag, figure, step)"
        raise TypeError(must_be("writer", what, writer, "pass a torch.utils.tensorboard.SummaryWriter"))
    check_module("model", model)
    most, count = check_integer("channels", channels, least=1), 0
    check_integer("step", step, least=0)
    samples = _samples(model, data)
    for name, part in model.named_modules():
        if isinstance(part, LearnedActivation) and part.is_materialized:
            _log(part, f"activations/{name or 'model'}", writer, step, samples.get(name), most)
            count += 1
    if not count:
        what = "a learned activation whose channels are known"
        raise ValueError(f"model must have {what}, got none; call it once first, and log before fold_")
    return count


def _samples(model: nn.Module, data: Any) -> dict[str, InputSample]:
    if data is None:
        return {}
    with record_inputs(model) as samples:
        try:
            run_once(model, data)
        except Exception as error:
            raise refused_example("data", data, error) from error
    return {name: sample for name, sample in samples.items() if sample.calls}


def _log(part: LearnedActivation, tag: str, writer: Any, step: int, sample: InputSample | None, most: int) -> None:
    try:
        from matplotlib.figure import Figure  # no pyplot: nothing has to be closed
    except ImportError as error:
        raise ImportError(
            "matplotlib must be installed for log_activations, got none; install it with `pip install 'chebact[lab]'`"
        ) from error
    figure = Figure(figsize=(5, 3.5), layout="constrained")
    width = part.channels or part.learned.shape[-2]
    plot_activation(part, list(range(min(most, width))), sample, figure.subplots())
    writer.add_figure(tag, figure, step)
    if callable(getattr(writer, "add_histogram", None)):
        writer.add_histogram(f"{tag}/{part.parameter_name}", part.learned.detach(), step)
        if sample is not None:
            writer.add_histogram(f"{tag}/inputs", sample.points, step)
