"""Methods whose calls go to children: a copy of each function in which some call expressions are others."""

from __future__ import annotations

import ast
from abc import ABCMeta
from copy import deepcopy
from functools import lru_cache
from types import FunctionType
from typing import Any, NamedTuple

from torch import Tensor, nn

from chebact.surgery.kinds import FUNCTIONS
from chebact.surgery.sources import (
    Home,
    as_statement,
    calls_in,
    compile_function,
    copy_function,
    definition_of,
    function_at,
    remember,
    with_function,
)

__all__ = ["Change", "Plan", "Rewritten", "Target", "keep_children_", "rewrite_"]

CALLS, OWNER = "_learned_calls", "_learned_owner"


class Target(NamedTuple):
    """What a call becomes: children by the number of the call in the pass, or the helper of that name.

    `function` is the number in `FUNCTIONS` of what is called there, if that must be asked (`guarded`) or is called
    beyond the last child; `writes`: the result goes into the input. `plain` is a call of one child and nothing else.
    """

    children: tuple[str, ...] = ()
    helper: str = ""
    function: int = -1
    guarded: bool = False
    writes: bool = False
    counted: bool = False

    @property
    def plain(self) -> bool:
        """Whether one child is called, whatever the pass."""
        return not (self.helper or self.guarded or self.writes or self.counted)


class Change(NamedTuple):
    """The function of a home with other calls: each by its number in the tree and its text. With a `helper` name it is
    a method of that name beside the function itself, which stays.
    """

    home: Home
    calls: tuple[tuple[int, str, Target], ...]
    helper: str = ""


Plan = tuple[Change, ...]
"""The changes of one class; a class of a home is its number among the classes that a module inherits from."""


class _Unheard(nn.Module):
    """First of the bases, so that `__init_subclass__` of the others does not run: registries keep what they hold."""

    def __init_subclass__(cls, **_: Any) -> None:
        pass


class Rewritten(_Unheard):
    """First of the bases of a class with changed calls: how it is copied and pickled, and the calls that may differ."""

    _learned_from: tuple[Any, tuple[Plan, ...]]
    _learned_targets: tuple[Target, ...] = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        made: Any = super().__reduce_ex__(protocol)
        return (_make_again, self._learned_from, *made[2:])

    def __setstate__(self, state: Any) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        for name in self._modules:  # torch's decoder layer sets F.relu beside its child when it is copied
            vars(self).pop(name, None)

    def __prepare_scriptable__(self) -> Any:
        """What torch.jit.script asks for first: it would compile the file, where the old calls are."""
        if any(self._learned_from[1]):
            raise TypeError(
                f"model must not be scripted with changed calls, got {type(self).__name__}, of which torch.jit.script "
                "would compile the source with the old activations; use torch.compile or torch.export"
            )
        return self

    def _call_learned(self, number: int, calls: Any, function: Any, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Call the child of a target; the function itself where it is another than it was, or called more often."""
        target = self._learned_targets[number]
        place = 0
        if target.counted:
            place = calls.get(number, 0)
            calls[number] = place + 1
        name = target.children[place] if place < len(target.children) else ""
        if not name or (target.guarded and function is not _FUNCTIONS[target.function]):
            return (function or _FUNCTIONS[target.function])(x, *args, **kwargs)
        child = self.get_submodule(name) if "." in name else getattr(self, name)
        return x.copy_(child(x.clone())) if target.writes else child(x)


_FUNCTIONS: tuple[Any, ...] = tuple(FUNCTIONS)


def rewrite_(module: nn.Module, plan: Plan) -> None:
    """Give a module the class with the changes of a plan."""
    kind: Any = type(module)
    origin, plans = getattr(kind, "_learned_from", (kind, ()))
    module.__class__ = _class_of(origin, (*plans, plan), _functions_of(origin))


def _make_again(origin: Any, plans: tuple[Plan, ...]) -> Any:
    made = _class_of(origin, plans, _functions_of(origin))
    return made.__new__(made)


def keep_children_(module: nn.Module) -> None:
    """Let copies and pickles keep the children of a module that sets attributes of their names when it is copied."""
    if not isinstance(module, Rewritten):
        rewrite_(module, ())


def _functions_of(origin: Any) -> tuple[FunctionType, ...]:
    kinds = [kind for kind in origin.__mro__ if not kind.__module__.startswith("torch.")]
    return tuple(each for kind in kinds for each in vars(kind).values() if isinstance(each, FunctionType))


def _subclass(name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
    """A subclass, of which only `type` and `ABCMeta` hear: classes of classes may write new ones into a registry."""
    kind: Any = max(map(type, bases), key=lambda each: len(each.__mro__))
    return kind(name, bases, members) if kind in (type, ABCMeta) else type.__new__(kind, name, bases, members)


@lru_cache(maxsize=4096)
def _class_of(origin: Any, plans: tuple[Plan, ...], functions: tuple[FunctionType, ...]) -> Any:
    """A class of that name: a subclass of each class that has changed methods, in the order of inheritance, so that
    `super()` finds them. `functions` are the methods that it is made of, which may be set anew.
    """
    base = _class_of(origin, plans[:-1], functions) if plans[:-1] else origin
    targets = list(getattr(base, "_learned_targets", ()))
    members = dict[int, dict[str, Any]]()
    for change in plans[-1]:
        home = change.home
        place = 0 if change.helper or not isinstance(home.holder, int) else home.holder
        if isinstance(home.holder, int):
            home = home._replace(holder=base.__mro__[home.holder])
        new = _rewritten(change._replace(home=home), targets)
        old = None if change.helper or not home.name else vars(home.holder)[home.name]
        names = [name for name, each in vars(home.holder).items() if each is old] if old is not None else []
        members.setdefault(place, {}).update(dict.fromkeys(names or [change.helper or home.name], new))
    bases = [base] if issubclass(base, Rewritten) else [Rewritten, base]
    for place in sorted(members.keys() - {0}):
        held = base.__mro__[place]
        own = {"__module__": held.__module__, **members[place]}
        inherited: Any = type.__new__(type(held), held.__name__, (_Unheard,), own)
        inherited.__bases__ = (held,)
        bases.append(inherited)
    own = {"__module__": origin.__module__, "__qualname__": origin.__qualname__, "__doc__": origin.__doc__}
    own |= members.get(0, {})
    made = _subclass(origin.__name__, tuple(bases), own)
    made._learned_from, made._learned_targets = (origin, plans), tuple(targets)
    return made


def _rewritten(change: Change, targets: list[Target]) -> FunctionType:
    function = function_at(change.home)
    found = definition_of(function.__code__)
    if found is None:
        raise ValueError(f"the source of {function.__qualname__} must be there as it was, got none that fits")
    asked = {index: (text, target) for index, text, target in change.calls}
    node = deepcopy(found)
    parameters: Any = node.args.posonlyargs or node.args.args
    is_own = bool(change.home.name)  # a method of the module
    owner = parameters[0].arg if is_own else OWNER
    for index, call in enumerate(calls_in(node)):
        if index in asked:
            text, target = asked[index]
            if ast.unparse(call.func) != text:
                raise ValueError(
                    f"the source of {function.__qualname__} must be as it was when the activations were replaced, got "
                    f"{ast.unparse(call.func)} in place of {text}; replace the activations of a new model"
                )
            if not target.plain and not target.helper:
                targets.append(target)
            _change(call, target, len(targets) - 1, owner)
    made = as_statement(node)
    counts = any(target.counted or target.helper for _, _, target in change.calls)
    if change.helper:
        parameters[:] = [
            *parameters[:is_own],
            *([] if is_own else [ast.arg(OWNER)]),
            ast.arg(CALLS),
            *parameters[is_own:],
        ]
    elif counts:
        start = ast.parse(f"{CALLS} = {{}}").body[0]
        made.body.insert(1 if ast.get_docstring(made) is not None else 0, ast.copy_location(start, made.body[0]))
    code = compile_function(ast.fix_missing_locations(made), function.__code__)
    remember(code, made)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    new = copy_function(function, code, tuple(cells[name] for name in code.co_freevars))
    return new if change.helper else with_function(change.home, new)


def _change(call: ast.Call, target: Target, number: int, owner: str) -> None:
    """Make a call another one, in its place."""
    me = ast.Name(owner, ast.Load())
    if target.helper:
        call.func = ast.Attribute(me, target.helper, ast.Load())
        call.args = [ast.Name(CALLS, ast.Load()), *call.args]
        return
    is_method = target.function >= 0 and _is_method(target.function, call.func)
    named = next((each.value for each in call.keywords if each.arg == "input"), None)
    x: Any = call.func.value if is_method else call.args[0] if call.args else named  # type: ignore[attr-defined]
    rest = call.args if is_method else call.args[1:]
    if target.plain:
        call.func, call.args, call.keywords = ast.Attribute(me, target.children[0], ast.Load()), [x], []
        return
    function: Any = ast.Constant(None) if is_method else call.func
    calls: Any = ast.Name(CALLS, ast.Load()) if target.counted else ast.Constant(None)
    call.func = ast.Attribute(me, "_call_learned", ast.Load())
    call.args = [ast.Constant(number), calls, function, x, *rest]
    call.keywords = [each for each in call.keywords if each.arg != "input"]


def _is_method(function: int, node: ast.expr) -> bool:
    name = _FUNCTIONS[function].__name__
    is_named = isinstance(node, ast.Attribute) and node.attr == name
    return is_named and _FUNCTIONS[function] is getattr(Tensor, name, None)
