"""Copies of a model and runs of them: with the same random numbers, by torch's plain code, on copies of the example."""

from __future__ import annotations

import random
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy, deepcopy
from itertools import chain
from operator import itemgetter
from types import BuiltinMethodType
from typing import Any

import numpy
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.overrides import TorchFunctionMode

from chebact.copies import copy_tensors
from chebact.recording import evaluation_mode, run_once

__all__ = ["Trial", "copy_model", "is_lazy_layer", "run_alike", "run_in_training"]

AFFORDABLE = 2**28  # bytes of parameters that a copy for a trial does not share
CONTAINERS = (list, dict, set, deque)


class _Detaching(TorchFunctionMode):
    """Lets tensors with a history be copied, without it; counts them."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.__deepcopy__ and not args[0].is_leaf:
            self.count += 1
            return args[1].setdefault(id(args[0]), args[0].detach().clone())
        return func(*args, **(kwargs or {}))


def copy_model(model: nn.Module, shared: dict[int, Any] | None = None) -> tuple[nn.Module, int]:
    """An independent copy of a model but for what is `shared`, by id, and how many tensors lost their history."""
    memo, lost = dict(shared or {}), 0
    try:
        for part in model.modules():
            for value in vars(part).values():  # deepcopy would let a bound `append` write into the list of the model
                if isinstance(value, BuiltinMethodType) and isinstance(value.__self__, CONTAINERS):
                    memo[id(value)] = getattr(deepcopy(value.__self__, memo), value.__name__)
        try:
            new = deepcopy(model, dict(memo))
        except RuntimeError:  # a tensor with a history
            with _Detaching() as detaching:
                new = deepcopy(model, memo)
            lost = detaching.count
    except Exception as error:
        raise ValueError(
            f"model must be a module that copy.deepcopy can copy, got {type(model).__name__}, which raised "
            f"{type(error).__name__}: {error}; drop what cannot be copied from it (open files, locks)"
        ) from error
    for part in new.modules():
        for name in part._modules:  # torch's decoder layer sets F.relu beside its child when it is copied
            vars(part).pop(name, None)
    return new, lost


class Trial:
    """A copy of a model for one run. Parameters beyond `AFFORDABLE` bytes, the largest first, are the model's own."""

    def __init__(self, model: nn.Module) -> None:
        sizes = [(0 if is_lazy(each) else each.nbytes, name, each) for name, each in model.named_parameters()]
        left, self.shared = AFFORDABLE, dict[str, tuple[Tensor, int]]()
        for size, name, parameter in sorted(sizes, key=itemgetter(0)):
            left -= size
            if left < 0:
                self.shared[name] = parameter, 0 if parameter.is_inference() else parameter._version
        self.model, _ = copy_model(model, {id(each): each for each, _ in self.shared.values()})

    def close(self) -> None:
        """A warning where the run wrote into a parameter of the model itself."""
        written = [name for name, (each, version) in self.shared.items() if version not in (0, each._version)]
        if written:
            warnings.warn(
                f"model must not write parameters that are too large to be copied, got {', '.join(written)} written by "
                "its forward; load its state again, or pass a model whose parameters are not written in forward",
                stacklevel=4,
            )


def is_lazy_layer(part: nn.Module) -> bool:
    """Whether parameters or buffers of a layer have no shape yet."""
    return any(map(is_lazy, chain(part.parameters(recurse=False), part.buffers(recurse=False))))


@contextmanager
def _lists_kept(model: nn.Module) -> Iterator[None]:
    """The lists, sets and dicts of a model's classes and of their files hold afterwards what they did before."""
    kinds = {
        kind for part in model.modules() for kind in type(part).__mro__ if not kind.__module__.startswith("torch.")
    }
    files = {kind.__module__ for kind in kinds} - {"builtins"}
    owners: list[Any] = [*map(vars, kinds), *[vars(sys.modules[name]) for name in files if name in sys.modules]]
    kept = [(each, copy(each)) for names in owners for each in names.values() if type(each) in CONTAINERS]
    try:
        yield
    finally:
        for value, before in kept:
            if _parts(value) != _parts(before):
                value.clear()
                (value.extend if isinstance(value, (list, deque)) else value.update)(before)


def _parts(value: Any) -> list[int]:
    return [*map(id, value), *map(id, value.values() if isinstance(value, dict) else ())]


@contextmanager
def _alike(model: nn.Module) -> Iterator[None]:
    """The same random numbers in every such block, no fast path and no compiled code; all is put back afterwards."""
    states = torch.get_rng_state(), random.getstate(), numpy.random.get_state()  # noqa: NPY002
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # torch's fast transformer layers call no activation of their own
    compiles = "torch._dynamo" in sys.modules  # which takes a second to import
    eager = torch.compiler.set_stance("force_eager") if compiles else nullcontext()
    try:
        with torch.random.fork_rng(devices=range(torch.cuda.device_count())), eager, _lists_kept(model):
            torch.manual_seed(0)
            random.seed(0)
            numpy.random.seed(0)  # noqa: NPY002
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        numpy.random.set_state(states[2])  # noqa: NPY002


def run_alike(
    make: Callable[[], nn.Module],
    example: Any,
    watch: Callable[[nn.Module], AbstractContextManager[Any]] = lambda model: nullcontext(),
) -> Any:
    """A detached copy of what a model gives in evaluation. `make` makes a copy of it, and `watch` is entered, per pass.

    There is a second pass, with derivatives, where one without raised a RuntimeError: force fields call
    torch.autograd.grad in forward.
    """
    try:
        return _run(make(), example, watch, derivatives=False)
    except RuntimeError:
        return _run(make(), example, watch, derivatives=True)


def _run(model: nn.Module, example: Any, watch: Any, derivatives: bool) -> Any:
    with _alike(model), watch(model):
        return copy_tensors(run_once(model, example, derivatives=derivatives))


def run_in_training(model: nn.Module, example: Any) -> Any:
    """What a model gives in training, or None where it cannot be run so, as batch norm of a single row."""
    with _alike(model), evaluation_mode(model):
        model.train()
        inputs = copy_tensors(example)
        try:
            if isinstance(example, dict):
                return copy_tensors(model(**inputs))
            return copy_tensors(model(*inputs) if isinstance(example, tuple) else model(inputs))
        except Exception:
            return None
