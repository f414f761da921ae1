"""What surgery asks of its arguments, and the sentence where there is nothing to replace."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DataParallel, DistributedDataParallel
from torch.nn.parameter import is_lazy

from chebact.checks import check_axis, check_interval, check_module, must_be
from chebact.learned import LearnedActivation
from chebact.surgery.graphs.tracing import functions_in_code
from chebact.surgery.kinds import FUNCTIONS, KINDS, is_activation
from chebact.surgery.places.finder import Site
from chebact.surgery.report import Left

__all__ = ["check_arguments", "check_channel_dim", "say_nothing_found"]

WRAPPERS = ("DistributedDataParallel", "FullyShardedDataParallel")


def check_arguments(model: Any, kinds: Any, example: Any, interval: Any, channel_dim: Any, **switches: Any) -> None:
    """A TypeError or ValueError that says what to do; `switches` are those that are true or false."""
    check_module("model", model)
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise TypeError(must_be(name, "True or False", value))
    if channel_dim is not None:
        check_axis(channel_dim)
    _check_is_plain(model)
    if (
        not isinstance(kinds, tuple)
        or not kinds
        or not all(isinstance(kind, type) and issubclass(kind, nn.Module) for kind in kinds)
    ):
        raise TypeError(must_be("kinds", "a tuple of classes of modules", kinds, "pass kinds=(nn.ReLU,)"))
    if isinstance(interval, str) and interval != "fit":
        raise ValueError(must_be("interval", "a pair of numbers or 'fit'", interval))
    if not isinstance(interval, str):
        check_interval(interval)
    elif example is None:
        raise ValueError("interval='fit' must come with an example, got none; pass an input of the model as example")
    if channel_dim is not None and example is None:
        raise ValueError(must_be("channel_dim", "given with an example", channel_dim, "pass an input too"))
    if example is not None and not switches["copy"]:
        _check_has_weights(model)


def check_channel_dim(channel_dim: int | None, sites: Sequence[Site]) -> None:
    """A ValueError where the axis of every activation is known without it, and is another one."""
    if channel_dim is None or any(site.layout.evidence == "channel_dim" for site in sites):
        return
    if not all(_is_its_axis(channel_dim, site) for site in sites):
        raise ValueError(
            f"channel_dim must be left out where the layers tell the axis of every activation, got {channel_dim}; to "
            "set another axis, make the activations with with_=lambda channels: ..."
        )


def _is_its_axis(channel_dim: int, site: Site) -> bool:
    rank = len(site.first.shape) if site.first else 0
    return -rank <= channel_dim < rank and channel_dim % rank == site.layout.channel_dim % rank


def _check_is_plain(model: nn.Module) -> None:
    """Compiled modules hide what they call, a script has no Python code to rewrite, and DDP knows its weights."""
    for name, part in model.named_modules():
        kind, place = type(part).__name__, f" at {name}" if name else ""
        if kind == "OptimizedModule" or isinstance(part, torch.jit.ScriptModule):
            raise ValueError(
                f"model must be plain Python, got {kind}{place}; replace the activations of the model "
                "that was compiled or scripted (of torch.compile: model._orig_mod), then compile the new one"
            )
        if isinstance(part, DistributedDataParallel) or kind in WRAPPERS:
            raise ValueError(
                f"model must not be wrapped for several processes, got {kind}{place}, which would not average the "
                "gradients of the heights; replace the activations of model.module, then wrap the new one"
            )


def _holds_modules(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(each, nn.Module) for each in value)


def _check_has_weights(model: nn.Module) -> None:
    """The first call of a lazy layer in the copy would make its weights in the model too, which shares them."""
    named = chain(model.named_parameters(), model.named_buffers())
    lazy = next((name for name, tensor in named if is_lazy(tensor)), None)
    if lazy is not None:
        raise ValueError(
            f"model must have been called once, got {lazy} of a lazy layer, which has no shape yet; call the model on "
            "the example first, or pass copy=True"
        )


def say_nothing_found(model: nn.Module, left: Sequence[Left], kinds: tuple[type[nn.Module], ...]) -> str:
    """Why nothing can be replaced, and what to do."""
    wanted, name = ", ".join(kind.__name__ for kind in kinds), type(model).__name__
    if left:
        reasons = "; ".join(f"{each.name} ({each.kind}): {each.reason}" for each in left[:5])
        return f"model must have an activation that can be replaced, got {len(left)} that cannot: {reasons}"
    if is_activation(model, kinds, False):
        return f"model must have activations inside, got {name} itself; use ChebyshevLagrange instead"
    inner = model.module if isinstance(model, DataParallel) else model
    others = {kind.name for kind in KINDS if any(isinstance(part, kind.module) for part in inner.modules())}
    words = set[str]().union(
        *(functions_in_code(part) for part in inner.modules() if "torch" not in type(part).__module__)
    )
    others |= {kind.name for function, kind in FUNCTIONS.items() if getattr(function, "__name__", "") in words}
    others -= {kind.__name__ for kind in kinds}
    learned = sum(isinstance(part, LearnedActivation) for part in model.modules())
    if others:
        hint = f"it has {', '.join(sorted(others))}: name them in kinds"
    elif learned:
        hint = f"it has {learned} learned activations already"
    elif lists := [name for part in model.modules() for name, value in vars(part).items() if _holds_modules(value)]:
        hint = f"{lists[0]} is a list of modules, which torch does not see: make it an nn.ModuleList"
    else:
        hint = "if it has activations of other classes, name these in kinds"
    return f"model must have activations of the kinds {wanted}, got none in {name}; {hint}"
