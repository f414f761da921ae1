"""One run of a model on an example, watched: which activation is called from which line of code, on what."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, MethodType, ModuleType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from chebact.recording import refused_example
from chebact.surgery.axes import Twins
from chebact.surgery.comparing import tensors_in
from chebact.surgery.kinds import CONVOLUTIONS, Layout, kind_of, produced_by
from chebact.surgery.sources import Home, call_at, definition_of, find_home, home_of_value, nested_codes, stays
from chebact.surgery.trials import run_alike
from chebact.torch_modes import transforms_active, without_functions

__all__ = ["Call", "Observation", "Place", "names_function", "observe", "value_of"]

Kinds = tuple[type[nn.Module], ...]
SAMPLE = 4096  # inputs of a call that are kept
TORCH, OURS = str(Path(torch.__file__).parent), str(Path(__file__).parent)
MODULE = nn.Module._call_impl.__code__.co_filename
PASSED = tuple(f"{TORCH}/{name}.py" for name in ("nn/functional", "overrides", "_tensor", "_jit_internal"))


class Place(NamedTuple):
    """A call in a function: where the function lives, or None where nobody knows; its code; where the call ends.

    `is_direct`: the call above it calls this function, and not another that does.
    """

    home: Home | None
    code: CodeType
    end: tuple[int, int]
    is_direct: bool = True

    @property
    def definition(self) -> Any:
        """The node of the function, or None."""
        return definition_of(self.code)

    @property
    def node(self) -> ast.Call | None:
        """The node of the call, or None."""
        return None if self.definition is None else call_at(self.definition, self.end)


@dataclass
class Call:
    """One call of an activation. `callee` is the module or the function, `attribute` the name of the module.

    `places` lead from a method of `owner` to the call; without them torch's own code calls it. `visit` is the number
    of the pass of the innermost module. `dtype` and `device` are those of the input, where it is a floating type that
    autocast did not choose; `inputs` are some of its numbers, `channels` the channel of each.
    `is_direct`: the function stands there under a name, which is that of a module of Python if `is_static`.
    """

    callee: Any
    layout: Layout | str
    owner: str | None
    places: tuple[Place, ...]
    caller: str
    attribute: str = ""
    visit: int = 0
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] | None = None
    shape: tuple[int, ...] = ()
    inputs: Tensor | None = None
    channels: Tensor | None = None
    dtype: torch.dtype | None = None
    device: torch.device | None = None
    is_direct: bool = True
    is_static: bool = True


@dataclass
class Observation:
    """The calls of activations in one run, in order, and what came out; `model` is the copy that ran."""

    model: nn.Module
    calls: list[Call]
    output: Any = None


def observe(
    make: Callable[[], nn.Module], example: Any, kinds: Kinds, functions: Collection[Any], channel_dim: int | None
) -> Observation:
    """Run a copy of a model on `example`, in evaluation mode and without derivatives, and write down what happened.

    `channel_dim` is the channel axis of those of which no layer tells it.
    """
    batch = next((tensor.shape[0] for tensor in tensors_in(example) if tensor.dim() > 0), None)
    watchers: list[_Watcher] = []

    @contextmanager
    def watch(model: nn.Module) -> Iterator[None]:
        watchers.append(watcher := _Watcher(model, kinds, functions, batch, channel_dim))
        with ExitStack() as stack:
            for part in model.modules():
                stack.callback(part.register_forward_pre_hook(watcher.enter, prepend=True, with_kwargs=True).remove)
                stack.callback(part.register_forward_hook(watcher.leave, with_kwargs=True, always_call=True).remove)
            stack.enter_context(watcher)
            yield

    try:
        output = run_alike(make, example, watch)
    except Exception as error:
        raise refused_example("example", example, error) from error
    if watchers[-1].unbatched:
        raise ValueError(
            f"example must have a batch axis, got an input of {watchers[-1].unbatched} without one; pass x.unsqueeze(0)"
        )
    return Observation(watchers[-1].model, watchers[-1].calls, output)


class _Watcher(TorchFunctionMode):
    """Is told of the modules that a model calls by hooks, and of the functions as a mode."""

    def __init__(
        self, model: nn.Module, kinds: Kinds, functions: Collection[Any], batch: int | None, channel_dim: int | None
    ) -> None:
        super().__init__()
        self.model, self.kinds, self.functions, self.batch, self.channel_dim = (
            model,
            kinds,
            functions,
            batch,
            channel_dim,
        )
        self.names = {id(part): name for name, part in model.named_modules()}
        self.twins, self.calls, self.unbatched = Twins(), list[Call](), ""
        self.stack: list[tuple[nn.Module, int, Call | None]] = []
        self.visits = 0

    def enter(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.twins.busy:
            return
        call = None
        if kind_of(module, self.kinds) and self.stack and self.stack[-1][2] is None:
            x = args[0] if args else next(iter(kwargs.values()), None)
            if isinstance(x, Tensor):
                with self.twins.alone():
                    call = self._write(module, x, (), {})
        self.visits += 1
        self.stack.append((module, self.visits, call))
        self.twins.quiet += call is not None or _is_layer(module)

    def leave(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if self.twins.busy or not self.stack or self.stack[-1][0] is not module:  # its entry failed
            return
        _, _, call = self.stack.pop()
        self.twins.quiet -= call is not None or _is_layer(module)
        if transforms_active() or self.twins.quiet:
            return
        with without_functions():
            if call is not None:
                self._follow(call, output)
                return
            if isinstance(module, CONVOLUTIONS) and isinstance(output, Tensor) and output.dim() < module.weight.dim():
                self.unbatched = self.unbatched or type(module).__name__
            self.twins.note(module, output)

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if self.twins.busy or transforms_active():
            return function(*args, **kwargs)
        x = args[0] if args else kwargs.get("input")
        if (
            function not in self.functions
            or not self.stack
            or self.stack[-1][2] is not None
            or not isinstance(x, Tensor)
        ):
            return self.twins.call(function, args, kwargs)
        named = {name: each for name, each in kwargs.items() if name != "input"}
        with self.twins.alone():
            call = self._write(function, x, args[1:], named)
        result = function(*args, **kwargs)
        self._follow(call, result)
        return result

    def _follow(self, call: Call, output: Any) -> None:
        if isinstance(call.layout, Layout) and isinstance(output, Tensor) and output.dim() > 1:
            self.twins.start(output, call.layout.channel_dim, call.layout.evidence.rpartition(" ")[2])

    def _write(self, callee: Any, x: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        parent, visit, _ = self.stack[-1]
        layout = self._layout(x, parent)
        own = isinstance(callee, nn.Module)
        caller = self.names[id(parent)]
        owner: str | None = None
        places: tuple[Place, ...] = ()
        frame = _caller(own)
        told = True, True
        if frame is not None:
            owner, places = _trace_back(frame, self.names)
            told = _is_told(frame, places[-1], callee) if places and not own else told
        plain = x.is_floating_point() and not _is_autocast(x.device.type)
        call = Call(callee, layout, owner, places, caller, "", visit, args, kwargs, tuple(x.shape))
        call.is_direct, call.is_static = told
        call.inputs, call.channels = _some(x, layout)
        call.dtype, call.device = (x.dtype, x.device) if plain else (None, None)
        if own:
            call.attribute = self._attribute(callee, parent, visit)
        self.calls.append(call)
        return call

    def _attribute(self, module: nn.Module, parent: nn.Module, visit: int) -> str:
        """The full name of a module; of one that its parent has twice, those by turns."""
        names = [name for name, part in parent.named_modules(remove_duplicate=False) if part is module]
        if not names:
            return str(self.names[id(module)])
        before = sum(call.callee is module and call.visit == visit for call in self.calls)
        names = [name for name in names if name.count(".") == min(each.count(".") for each in names)]
        name, path = names[before % len(names)], self.names[id(parent)]
        return f"{path}.{name}" if path else name

    def _layout(self, x: Tensor, caller: nn.Module) -> Layout | str:
        """The layer that calls it tells, else the twin of its input, else the axis that the caller of surgery names."""
        shape = tuple(x.shape)
        if isinstance(x, nn.Parameter):
            return "it is applied to weights, not to what the module is given"
        known = None if isinstance(caller, nn.Sequential) else produced_by(caller)
        if known is not None and (len(shape) < 2 or shape[known.channel_dim :][:1] != (known.channels,)):
            known = None
        found = self.twins.find(x)
        if isinstance(found, Layout):
            same = known is not None and known.channel_dim % len(shape) == found.channel_dim % len(shape)
            return known._replace(evidence=f"in {known.evidence}") if known is not None and same else found
        if known is not None:
            return known._replace(evidence=f"in {known.evidence}")
        if self.channel_dim is not None:
            if not -len(shape) <= self.channel_dim < len(shape):
                return f"channel_dim must be an axis of its input, got {self.channel_dim} for shape {shape}"
            return Layout(shape[self.channel_dim], self.channel_dim, "channel_dim")
        if found is None and len(shape) == 2 and shape[0] == self.batch:
            return Layout(shape[1], 1, "by convention")
        return found or f"no layer before it tells which axis of {shape} holds the channels; pass channel_dim"


def _is_layer(module: nn.Module) -> bool:
    return produced_by(module) is not None and not module._modules


def _caller(of_module: bool) -> FrameType | None:
    """The frame of the code that calls the activation, if that is not torch's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OURS):
        frame = frame.f_back
    while frame is not None and frame.f_code.co_filename in ((MODULE,) if of_module else PASSED):
        frame = frame.f_back
    return None if frame is None or frame.f_code.co_filename.startswith(TORCH) else frame


def _trace_back(frame: FrameType, names: dict[int, str]) -> tuple[str | None, tuple[Place, ...]]:
    """The name of the module whose method leads to a frame, and the calls on the way; none where no method does."""
    frames, at = list[FrameType](), frame
    while at is not None and at.f_code.co_filename != MODULE:
        if not at.f_code.co_filename.startswith((TORCH, OURS)):
            frames.append(at)
        at = at.f_back  # type: ignore[assignment]
    places, owner, k = list[tuple[FrameType, tuple[int, int]]](), None, 0
    while k < len(frames):
        end = _end(frames[k])
        k = max([k, *(j for j in range(k + 1, len(frames)) if _is_in(frames[k].f_code, frames[j].f_code))])
        own = _first_argument(frames[k])
        if isinstance(own, nn.Module) and id(own) in names and find_home(own, frames[k].f_code) is not None:
            if owner is not None and own is not owner:
                break
            owner = own
        places.append((frames[k], end))
        k += 1
    while places and _first_argument(places[-1][0]) is not owner:
        places.pop()
    if owner is None or not places:
        return None, ()
    made = list[Place]()
    for (each, end), above in zip(places, [*places[1:], None], strict=True):
        own = _first_argument(each) is owner
        home = find_home(owner, each.f_code) if own else None
        called = None if above is None else _called_home(each.f_code, *above)
        if called is not None and not called.name:  # by the name of the function, not as a method
            home = called
        made.append(Place(home or called, each.f_code, end, above is None or called is not None))
    return names[id(owner)], tuple(reversed(made))


def _is_in(code: CodeType, outer: CodeType) -> bool:
    return code.co_filename == outer.co_filename and any(each is code for each in nested_codes(outer))


def _end(frame: FrameType) -> tuple[int, int]:
    """Where the call ends at which a frame is."""
    _, line, _, column = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return line or 0, column or 0


def _first_argument(frame: FrameType) -> Any:
    code = frame.f_code
    return frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None


def _called_home(code: CodeType, frame: FrameType, end: tuple[int, int]) -> Home | None:
    """The home of the function with that code, where a call calls it under a name."""
    place = Place(None, frame.f_code, end)
    node = place.node
    if node is not None and not stays(node.func, place.definition):
        return None
    value: Any = None if node is None else value_of(node.func, frame.f_locals, frame.f_globals)
    home = home_of_value(value, code)
    is_method = isinstance(value, MethodType) and isinstance(value.__self__, nn.Module)
    return find_home(value.__self__, code) if home is not None and is_method else home


def _is_told(frame: FrameType, place: Place, function: Any) -> tuple[bool, bool]:
    """Whether a call names its function, and whether as one of a module, which nobody sets."""
    node = place.node
    if node is None:
        return True, True
    named = names_function(node.func, function, frame.f_locals, frame.f_globals)
    value = value_of(node.func, frame.f_locals, frame.f_globals)
    if isinstance(value, partial) and not stays(node.func, place.definition):  # which no call can be asked for
        return False, False
    return named


def names_function(node: Any, function: Any, names: Any, more: Any) -> tuple[bool, bool]:
    """Whether an expression names a function, or it with arguments, and whether below a module of Python."""
    name = getattr(function, "__name__", "")
    if isinstance(node, ast.Attribute) and node.attr == name and function is getattr(Tensor, name, None):
        return True, True
    value = value_of(node, names, more)
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    of_module = isinstance(root, ast.Name) and isinstance(value_of(root, names, more), ModuleType)
    is_partial = getattr(value, "func", None) is function
    return value is function or is_partial, is_partial or (of_module and value is function)


def value_of(node: Any, names: Any, more: Any) -> Any:
    """The value of a name, of attributes and of items of it, or None."""
    simple = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.expr_context)
    if not all(isinstance(each, simple) for each in ast.walk(node)):
        return None
    try:
        return eval(compile(ast.Expression(node), "", "eval"), dict(more), names)
    except Exception:
        return None


def _is_autocast(device: str) -> bool:
    return torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)


def _some(x: Tensor, layout: Layout | str) -> tuple[Tensor, Tensor]:
    """Some numbers of all channels, and the channel of each: drawn, since every k-th may be of the same channel."""
    if x.is_meta:
        return torch.empty(0, dtype=torch.float64, device="cpu"), torch.empty(0, dtype=torch.int64, device="cpu")
    flat = x.detach().reshape(-1)
    places = torch.arange(flat.numel(), device="cpu")
    if flat.numel() > SAMPLE:
        generator = torch.Generator("cpu").manual_seed(0)
        places = torch.randint(flat.numel(), (SAMPLE,), generator=generator, device="cpu")
        flat = flat[places.to(flat.device)]
    inner = 1 if isinstance(layout, str) else math.prod(x.shape[layout.channel_dim % x.dim() + 1 :])
    count = 1 if isinstance(layout, str) else layout.channels
    return flat.double().cpu(), places // max(1, inner) % max(1, count)
