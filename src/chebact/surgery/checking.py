"""What surgery asks of its arguments, which activations are chosen, and what to say where there are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from types import FunctionType, MethodType
from typing import Any, Protocol, TypeVar

import torch
from torch import nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

from chebact.checks import check_axis, check_interval, check_module, must_be
from chebact.learned import LearnedActivation
from chebact.surgery.kinds import FUNCTIONS, KINDS, is_activation
from chebact.surgery.reading import read_calls
from chebact.surgery.report import Left
from chebact.surgery.sites import Site
from chebact.surgery.sources import contents_of

__all__ = ["Where", "check_arguments", "check_channel_dim", "choose", "is_hidden", "say_nothing_found"]


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
    if not switches["inplace"]:
        _check_can_be_copied(model)
    if (
        not isinstance(kinds, tuple)
        or not kinds
        or [kind for kind in kinds if not (isinstance(kind, type) and issubclass(kind, nn.Module))]
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
    rank = len(site.seen[0].shape)
    return -rank <= channel_dim < rank and channel_dim % rank == site.layout.channel_dim % rank


def _check_is_plain(model: nn.Module) -> None:
    """A model that is compiled or scripted as a whole has no call that could be changed, and DDP knows its weights."""
    for name, part in model.named_modules():
        kind, place = type(part).__name__, f" at {name}" if name else ""
        if not name and is_hidden(part):
            raise ValueError(
                f"model must be plain Python, got {kind}; replace the activations of the model "
                "that was compiled or scripted (of torch.compile: model._orig_mod), then compile the new one"
            )
        if isinstance(part, DistributedDataParallel) or kind in WRAPPERS:
            raise ValueError(
                f"model must not be wrapped for several processes, got {kind}{place}, which would not average the "
                "gradients of the heights; replace the activations of model.module, then wrap the new one"
            )


def _check_can_be_copied(model: nn.Module) -> None:
    """A function in an attribute is the same one in a copy: what it holds of the model would be that of the old one."""
    for path, part in model.named_modules():
        for name, value in vars(part).items():
            some: Any = ()
            if isinstance(value, FunctionType):
                some = (value,)
            elif isinstance(value, (list, tuple, dict)) and value and name not in OWN:
                some = value.values() if isinstance(value, dict) else value
            for each in some:
                if isinstance(each, FunctionType) and not is_hidden(part) and _holds_part(each, model):
                    raise ValueError(
                        f"model must hold no function that holds a part of it, got {each.__qualname__} in {name} of "
                        f"{path or type(part).__name__}: a copy of the model would call the parts of the old one; make "
                        "it a method, or pass inplace=True"
                    )


OWN = ("_modules", "_parameters", "_buffers")


def _holds_part(function: FunctionType, model: nn.Module) -> bool:
    own = {id(each) for each in chain(model.modules(), model.parameters(), model.buffers())}
    return any(id(each) in own for each in _held_by(function))


def _held_by(value: Any, depth: int = 3) -> list[Any]:
    """What the cells and defaults of a function hold, and what functions, methods and containers among that do."""
    parts: list[Any] = []
    if isinstance(value, FunctionType):
        parts = [*map(contents_of, value.__closure__ or ()), *(value.__defaults__ or ())]
    elif isinstance(value, (MethodType, partial)):
        parts = [value.__self__] if isinstance(value, MethodType) else [value.func, *value.args]
    elif isinstance(value, (list, tuple, dict)):
        parts = [*value.values()] if isinstance(value, dict) else [*value]
    return parts + [each for part in parts if depth for each in _held_by(part, depth - 1)]


def is_hidden(part: nn.Module) -> bool:
    """Whether a module hides what it calls: compiled by torch, or a script."""
    return type(part).__name__ == "OptimizedModule" or isinstance(part, torch.jit.ScriptModule)


def _holds_modules(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(each, nn.Module) for each in value)


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
    calls = read_calls(inner, partial(is_activation, kinds=tuple(kind.module for kind in KINDS), functional=True))
    others |= {FUNCTIONS[call.callee].name for call in calls if not isinstance(call.callee, nn.Module)}
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


Where = str | Sequence[str] | slice | Callable[[Any], bool] | None


class Named(Protocol):
    """Something with a name."""

    @property
    def name(self) -> str:
        """Its name."""


T = TypeVar("T", bound=Named)


def choose(found: Sequence[T], where: Where, left: Sequence[Left] = ()) -> list[T]:
    """Those that `where` names: patterns such as "layer3.*", a slice of all in order, or a function of a row."""
    if where is None:
        return list(found)
    if isinstance(where, slice):
        chosen = list(found[where])
    elif callable(where):
        chosen = [each for each in found if _asks(where, each)]
    elif isinstance(where, (str, list, tuple, set, frozenset)):
        chosen = _by_patterns(found, [where] if isinstance(where, str) else list(where), left)
    else:
        raise TypeError(must_be("where", "a name, names, a slice or a function", where))
    if not chosen:
        raise ValueError(f"where must choose an activation, got {where!r}, which chooses none of {_names(found)}")
    return chosen


def _asks(where: Callable[[Any], bool], row: Any) -> bool:
    try:
        return bool(where(row))
    except (AttributeError, TypeError) as error:
        raise TypeError(
            "where must be a function of a row, which has a name, a kind and channels, got one that raised "
            f"{type(error).__name__}: {error}; write for example where=lambda row: row.name.startswith('layer4')"
        ) from error


def _by_patterns(found: Sequence[T], patterns: list[Any], left: Sequence[Left]) -> list[T]:
    names = [each.name for each in found]
    for pattern in patterns:
        if not isinstance(pattern, str):
            raise TypeError(must_be("where", "a name, names, a slice or a function", pattern))
        if not any(fnmatchcase(name, pattern) for name in names):
            close = get_close_matches(pattern, names, n=1)
            meant = f"did you mean {close[0]!r}?" if close else f"the names are {_names(found)}"
            why = next((each.reason for each in left if fnmatchcase(each.name, pattern)), None)
            meant = meant if why is None else f"that cannot be replaced: {why}"
            raise ValueError(f"where must name activations of the model, got {pattern!r}; {meant}")
    return [each for each in found if any(fnmatchcase(each.name, pattern) for pattern in patterns)]


def _names(found: Sequence[Named], most: int = 12) -> str:
    names = [each.name for each in found]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
