"""The calls of activations in the code of a model that does not run: its methods are read, statement by statement."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from torch import Tensor, nn

from chebact.surgery.kinds import METHODS, PASSING, Layout, consumed_by, produced_by
from chebact.surgery.observing import Call, Place, names_function
from chebact.surgery.sources import Home, contents_of, definition_of, find_home

__all__ = ["UNKNOWN", "beside", "is_of_torch", "read_calls"]

UNKNOWN = "no layer beside it tells its channels; pass example"
KEEPING = {
    *("contiguous", "clone", "view_as", "detach", "float", "to", "dropout", "dropout2d", "max_pool2d", "avg_pool2d"),
    *("add", "mul", "sub", "add_"),
}
"""Functions and methods that leave the channels of their first argument as they are."""
DEEPEST = 6  # functions that call each other


@dataclass
class Value:
    """What an expression gives, as far as it is known: an object, or a tensor with the channels of a layer.

    `calls` are those of activations that made it, whose channels the layer that takes it may tell.
    """

    thing: Any = None
    layout: Layout | None = None
    calls: list[Call] = field(default_factory=list)


UNTOLD = Value()
LISTS = (nn.ModuleList, nn.ModuleDict)  # which call nothing themselves


def read_calls(model: nn.Module, is_activation: Callable[[Any], bool]) -> list[Call]:
    """The calls of activations, module by module: in torch's Sequential and transformer layers by their children, in
    other code by its text.
    """
    calls = list[Call]()
    for path, part in model.named_modules():
        if is_activation(part):
            continue
        if is_of_torch(type(part)):
            seen = {call.attribute for call in calls}
            for name, child in [] if isinstance(part, LISTS) else [*part._modules.items(), *vars(part).items()]:
                full = f"{path}.{name}" if path else name
                if is_activation(child) and full not in seen:
                    layout = beside(part, name)
                    calls.append(Call(child, layout or UNKNOWN, None, (), path, full, len(calls)))
            continue
        reader = _Reader(path, part, is_activation, calls)
        reader.read_methods()
    return calls


def is_of_torch(kind: type) -> bool:
    """Whether torch wrote the forward of a class."""
    forward: Any = kind.forward  # type: ignore[attr-defined]
    return str(getattr(forward, "__module__", "")).startswith("torch.")


def beside(parent: nn.Module, name: str) -> Layout | None:
    """The layout of a child of nn.Sequential by the layers before and after it, and in torch's transformer layers."""
    if isinstance(parent, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)) and name == "activation":
        return Layout(parent.linear1.out_features, -1, "after Linear")
    if type(parent).forward is not nn.Sequential.forward:
        return None
    names = list(parent._modules)
    for step, word, told in ((-1, "after", produced_by), (1, "before", consumed_by)):
        k = names.index(name) + step
        while 0 <= k < len(names):
            layer: Any = parent._modules[names[k]]
            if (found := told(layer)) is not None:
                return found._replace(evidence=f"{word} {found.evidence}")
            if not isinstance(layer, PASSING):
                break
            k += step
    return None


class _Reader:
    """Reads the methods of one module: forward first, then those that it does not reach."""

    def __init__(self, path: str, part: nn.Module, is_activation: Callable[[Any], bool], calls: list[Call]) -> None:
        self.path, self.part, self.is_activation, self.calls = path, part, is_activation, calls
        self.reached, self.attributes = dict[Any, int](), dict[str, Value]()
        self.names = {id(each): name for name, each in reversed(list(part.named_modules(remove_duplicate=False)))}
        self.visit = self.unknown = 0

    def read_methods(self) -> None:
        kind = type(self.part)
        own = (holder for holder in kind.__mro__ if not holder.__module__.startswith(("torch.", "builtins")))
        methods = [name for holder in own for name in vars(holder)]
        for name in dict.fromkeys(["forward", *methods]):
            value: Any = inspect.getattr_static(kind, name)
            function = inspect.unwrap(value) if isinstance(value, FunctionType) else None
            if isinstance(function, FunctionType) and function.__code__ not in self.reached:
                self.visit -= 1
                self.enter(function, [Value(self.part)], ())

    def enter(
        self, function: FunctionType, args: list[Value], places: tuple[Place, ...], by_name: bool = False
    ) -> Value:
        """Read a function that is called so."""
        code, definition = function.__code__, definition_of(function.__code__)
        if definition is None or len(places) > DEEPEST or any(place.code is code for place in places):
            return Value()
        home = None if by_name else find_home(self.part, code)
        if home is not None and self.reached.setdefault(code, self.visit) != self.visit:
            return Value()  # its calls are changed for all who call it
        home = home or (Home(function, "", ()) if places else None)
        parameters = [each.arg for each in (*definition.args.posonlyargs, *definition.args.args)]
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        more = {**function.__globals__, **{name: contents_of(cell) for name, cell in cells}}
        frame = _Frame(self, places, Place(home, code, (0, 0)), dict(zip(parameters, args, strict=False)), more)
        frame.locals |= {name: Value() for name in code.co_varnames if name not in frame.locals}
        if isinstance(definition, ast.Lambda):
            return frame.value(definition.body)
        frame.run(definition.body)
        return frame.returned


class _Frame:
    """A function that is read: its local names, and what it returns."""

    def __init__(
        self, reader: _Reader, above: tuple[Place, ...], place: Place, names: dict[str, Value], more: dict[str, Any]
    ) -> None:
        self.reader, self.above, self.place, self.locals, self.more = reader, above, place, names, more
        self.returned = Value()

    def run(self, body: list[Any]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: Any) -> None:
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self._bind(target, value)
        elif isinstance(node, ast.AugAssign):
            self.value(node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._bind(node.target, self.value(node.value))
        elif isinstance(node, ast.Return):
            if node.value is not None:
                self.returned = self.value(node.value)
        elif isinstance(node, ast.For):
            for each in self._items(node.iter):
                self._bind(node.target, each)
                self._repeat(lambda: self.run(node.body), each is UNTOLD)
            self.run(node.orelse)
        elif isinstance(node, ast.FunctionDef):
            self._repeat(lambda: self.run(node.body), True)
        elif not isinstance(node, ast.ClassDef):
            self.reader.unknown += isinstance(node, ast.While)
            for name, each in ast.iter_fields(node):
                if name in ("body", "orelse", "finalbody"):
                    self.run(each if isinstance(each, list) else [])
                elif isinstance(each, ast.expr):
                    self.value(each)
                elif name in ("handlers", "items"):
                    for part in each:
                        self._statement(part)
            self.reader.unknown -= isinstance(node, ast.While)

    def _repeat(self, run: Callable[[], Any], unknown: bool) -> None:
        """Read what may run any number of times if `unknown`."""
        self.reader.unknown += unknown
        run()
        self.reader.unknown -= unknown

    def _bind(self, target: Any, value: Value) -> None:
        if isinstance(target, ast.Name):
            self.locals[target.id] = value
        elif isinstance(target, ast.Attribute):
            self.reader.attributes[ast.unparse(target)] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value.thing if isinstance(value.thing, (tuple, list)) else ()
            for k, each in enumerate(target.elts):
                self._bind(each, Value(parts[k]) if k < len(parts) else Value(None, value.layout))

    def _items(self, node: Any) -> Iterator[Value]:
        """What a loop goes over, where that is of the model; else one unknown thing."""
        known = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        local = {name: each.thing for name, each in self.locals.items() if name in known}
        if isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)) and all(v is not None for v in local.values()):
            names = {"zip": zip, "enumerate": enumerate, "range": range, "reversed": reversed, "len": len}
            calls = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
            if all(isinstance(each, ast.Name) and each.id in names for each in calls):
                try:
                    text = compile(ast.Expression(node), "", "eval")
                    items = list(eval(text, {**self.more, **names, **local}))
                    yield from map(Value, items[:1000])
                    return
                except Exception:
                    pass
        self.value(node)
        yield UNTOLD

    def value(self, node: Any) -> Value:
        """Read an expression."""
        if isinstance(node, ast.Name):
            return self.locals.get(node.id) or Value(self.more.get(node.id))
        if isinstance(node, ast.Constant):
            return Value(node.value)
        if isinstance(node, ast.Attribute):
            base = self.value(node.value)
            return self.reader.attributes.get(ast.unparse(node)) or Value(_attribute(base.thing, node.attr))
        if isinstance(node, ast.Subscript):
            base, key = self.value(node.value), self.value(node.slice)
            return self._item(base, key)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.BinOp):
            sides = [self.value(node.left), self.value(node.right)]
            return next((each for each in sides if each.layout or each.calls), Value())
        if isinstance(node, ast.IfExp):
            self.value(node.test)
            both = [self.value(node.body), self.value(node.orelse)]
            return next((each for each in both if each.layout or each.thing is not None), Value())
        if isinstance(node, ast.NamedExpr):
            made = self.value(node.value)
            self._bind(node.target, made)
            return made
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            for each in self._items(node.generators[0].iter):
                self._bind(node.generators[0].target, each)
                self._repeat(lambda: self.value(node.elt), each is UNTOLD)
            return Value()
        if isinstance(node, ast.Lambda):
            self._repeat(lambda: self.value(node.body), True)
            return Value()
        if isinstance(node, ast.expr):
            for child in ast.iter_child_nodes(node):
                self.value(child)
        return Value()

    @staticmethod
    def _item(base: Value, key: Value) -> Value:
        if isinstance(base.thing, (list, tuple, dict, nn.ModuleList, nn.ModuleDict, nn.Sequential)):
            try:
                return Value(base.thing[key.thing])
            except (KeyError, IndexError, TypeError, AttributeError):
                return Value()
        return Value(None, base.layout)

    def _call(self, node: ast.Call) -> Value:
        base = self.value(node.func.value) if isinstance(node.func, ast.Attribute) else Value()
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if (known := self.reader.attributes.get(ast.unparse(node.func))) is not None:
            thing = known.thing
        else:
            thing = (
                _attribute(base.thing, name) if isinstance(node.func, ast.Attribute) else self.value(node.func).thing
            )
        args = [self.value(each) for each in node.args]
        named = {each.arg: self.value(each.value) for each in node.keywords}
        end = (node.end_lineno or 0, node.end_col_offset or 0)
        x = args[0] if args else named.get("input", Value())
        if thing is None and base.thing is None and name in METHODS:
            function = getattr(Tensor, name)
            return self._record(function, node, end, base, args, named) if self.reader.is_activation(function) else base
        function = thing.func if isinstance(thing, partial) else thing
        if function is not None and self.reader.is_activation(function):
            more = {key: Value(each) for key, each in thing.keywords.items()} if isinstance(thing, partial) else {}
            return self._record(function, node, end, x, args[1:], {**more, **named})
        if isinstance(thing, nn.Module):
            return self._layer(thing, x)
        places = (*self.above, self.place._replace(end=end))
        if isinstance(node.func, ast.Attribute) and (inherited := self._inherited(node.func)) is not None:
            return self.reader.enter(inherited, [Value(self.reader.part), *args], places)
        if isinstance(thing, (FunctionType, MethodType)) and not str(thing.__module__).startswith("torch"):
            inner = [Value(thing.__self__), *args] if isinstance(thing, MethodType) else args
            plain: Any = inspect.unwrap(thing.__func__ if isinstance(thing, MethodType) else thing)
            own = not isinstance(thing, MethodType) or thing.__self__ is self.reader.part
            by_name = not isinstance(thing, MethodType)
            if isinstance(plain, FunctionType) and own:
                return self.reader.enter(plain, inner, places, by_name=by_name)
            return Value()
        if name in KEEPING:
            return x if x.layout or x.calls else base
        return Value()

    def _inherited(self, node: ast.Attribute) -> FunctionType | None:
        """The method that `super()` finds."""
        inner: Any = node.value
        if not (isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == "super"):
            return None
        home, classes = self.place.home, type(self.reader.part).__mro__
        if home is None or home.holder not in classes:
            return None
        for kind in classes[classes.index(home.holder) + 1 :]:
            if isinstance(found := vars(kind).get(node.attr), FunctionType):
                return None if kind is nn.Module else found
        return None

    def _layer(self, layer: nn.Module, x: Value) -> Value:
        """A module is called: it tells the channels of what it is given, and of what it gives."""
        taken = consumed_by(layer)
        if taken is not None:
            for call in x.calls:
                if call.layout == UNKNOWN:
                    call.layout = taken._replace(evidence=f"before {taken.evidence}")
        if isinstance(layer, PASSING):
            return x
        return Value(None, produced_by(layer))

    def _record(
        self, function: Any, node: ast.Call, end: tuple[int, int], x: Value, args: list[Value], named: dict[Any, Value]
    ) -> Value:
        reader, layout = self.reader, x.layout
        found = layout._replace(evidence=f"after {layout.evidence}") if layout else UNKNOWN
        if isinstance(found, str) and (own := produced_by(reader.part)) is not None:
            found = own._replace(evidence=f"in {own.evidence}")
        if reader.unknown and not isinstance(function, nn.Module):
            found = "it is called in a loop, or in a function, that runs an unknown number of times; pass example"
        attribute = reader.names.get(id(function), "") if isinstance(function, nn.Module) else ""
        if isinstance(function, nn.Module) and not attribute:
            attribute = ast.unparse(node.func).replace(".", "_")
            found = "no child of a module holds it; put it into an nn.ModuleList or an nn.ModuleDict"
        full = f"{reader.path}.{attribute}" if reader.path and attribute else attribute
        names = {name: each.thing for name, each in self.locals.items()}
        told = (True, True) if full else names_function(node.func, function, names, self.more)
        places = (*self.above, self.place._replace(end=end))
        given = (
            tuple(each.thing for each in args),
            {name: each.thing for name, each in named.items() if name != "input"},
        )
        call = Call(function, found, reader.path, places, reader.path, full, reader.visit, *given)
        call.is_direct, call.is_static = told
        reader.calls.append(call)
        return Value(None, layout, [*x.calls, call])


def _attribute(base: Any, name: str) -> Any:
    """An attribute of an object, but for what is computed when it is read."""
    if base is None:
        return None
    if isinstance(inspect.getattr_static(type(base), name, None), property):
        return None
    try:
        return getattr(base, name, None)
    except Exception:
        return None
