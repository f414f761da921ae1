"""The places of a model where an activation is applied, one per call of a pass: which child it gets, and how."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from chebact.initial import Function
from chebact.surgery.kinds import FUNCTIONS, Layout, function_of_call, function_of_module, is_pointwise, kind_of
from chebact.surgery.observing import Call, Place
from chebact.surgery.report import Left
from chebact.surgery.rewriting import Change, Plan, Target
from chebact.surgery.sources import Home, calls_in, function_at, homes_of, loops_around, stays
from chebact.torch_modes import has_forward_hooks

__all__ = ["Site", "find_sites", "plans_of", "reads_again"]


class Spot(NamedTuple):
    """A call expression of a module's code that is to become another: the way to it, and its number in the pass among
    those that come this way; `alone` says that it is called once, by any way.
    """

    owner: str
    places: tuple[Place, ...]
    number: int
    often: int
    alone: bool


@dataclass
class Site:
    """A place where an activation is applied. `attribute` is the name of its child below the module `parent`.

    `function` is that of points, for heights; `original` the call as it was, of any input. `writes`: it wrote into its
    input; `spot` is the call that must be changed, if any; `seen` are its calls. `twins` are other names of the child.
    """

    parent: str
    attribute: str
    kind: str
    callee: Any
    function: Function
    original: Callable[[Tensor], Tensor]
    layout: Layout
    seen: list[Call]
    spot: Spot | None
    in_place: bool
    writes: bool = False
    twins: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Its full name."""
        return f"{self.parent}.{self.attribute}" if self.parent else self.attribute

    @property
    def channels(self) -> int:
        """How many channels it has."""
        return self.layout.channels

    @property
    def inputs(self) -> Tensor | None:
        """Some of the numbers that the example gave it."""
        some = [call.inputs for call in self.seen if call.inputs is not None]
        return torch.cat(some) if some else None

    @property
    def input_channels(self) -> Tensor:
        """The channels of `inputs`."""
        return torch.cat([call.channels for call in self.seen if call.channels is not None])


def find_sites(
    model: nn.Module, calls: Sequence[Call], kinds: tuple[type[nn.Module], ...], known: Callable[[str], Any]
) -> tuple[list[Site], list[Left]]:
    """The sites of some calls, in their order, and what is left; `known` tells a layout by neighbours, where it can."""
    finder = _Finder(model, kinds, known, calls)
    groups = dict[Any, list[Call]]()
    for call in calls:
        groups.setdefault(_key(call), []).append(call)
    for some in groups.values():
        (finder.add_module if isinstance(some[0].callee, nn.Module) else finder.add_function)(some)
    order = {id(call): k for k, call in enumerate(calls)}
    finder.sites.sort(key=lambda site: order[id(site.seen[0])])
    return finder.sites, finder.left


def _key(call: Call) -> Any:
    if isinstance(call.callee, nn.Module):
        return call.attribute
    return (call.owner, call.places[-1][1:3], call.callee) if call.places else (call.caller, call.callee)


class _Finder:
    def __init__(self, model: nn.Module, kinds: tuple[type[nn.Module], ...], known: Any, calls: Sequence[Call]) -> None:
        self.parts = dict(model.named_modules(remove_duplicate=False))
        self.kinds, self.known = kinds, known
        self.sites: list[Site] = []
        self.left: list[Left] = []
        self.taken = set[str]()
        self.callees = dict[Any, set[int]]()
        for call in calls:
            if call.places:
                self.callees.setdefault((call.owner, call.places[-1][1:3]), set()).add(id(call.callee))

    def add_module(self, calls: list[Call]) -> None:
        """A module that is called: once, from several places or in a loop; where these cannot be told apart, one
        activation serves them all.
        """
        name = calls[0].attribute
        spots = dict[Any, list[Call]]()
        for call in calls:
            spots.setdefault((call.owner, call.places[-1][1:3] if call.places else None), []).append(call)
        often = max(Counter(call.visit for call in calls).values())
        groups = list(spots.values())
        if often > 1:
            once = len({call.visit for call in groups[0]}) == len(groups[0])
            if (once or self._is_told(groups[0])) and all(self._is_told(some) for some in groups[1:]):
                if once:
                    self._add(name, groups[0], None)
                for k, some in enumerate(groups[once:]):
                    self._add_calls(some, name, keeps=k == 0 and not once)
                return
        self._add(name, calls, None)

    def _is_told(self, calls: list[Call]) -> bool:
        """Whether the calls of a module at one place can be changed without another module being meant there."""
        alone = len(self.callees.get((calls[0].owner, calls[0].places[-1][1:3]), ())) == 1 if calls[0].places else False
        return alone and not isinstance(self._spots(calls), str)

    def add_function(self, calls: list[Call]) -> None:
        """A function that is called at one place."""
        first = calls[0]
        kind = FUNCTIONS[first.callee].name.lower()
        owner = first.caller if first.owner is None else first.owner
        held = next((name for name, each in vars(self.parts[owner]).items() if _is_held(each, first.callee)), None)
        full = f"{owner}.{held}" if held and owner else held
        once = max(Counter(call.visit for call in calls).values()) == 1 or not first.places
        if held is not None and full not in self.taken and _calls_attribute(first, held) and once:
            self._add(full or "", calls, None)
            return
        spots = self._spots(calls)
        if first.places and len(self.callees[first.owner, first.places[-1][1:3]]) > 1:
            spots = "what is called there is another function from call to call"
        if isinstance(spots, str):
            name = f"{owner}.{held or kind + '()'}" if owner else held or f"{kind}()"
            times = f" ({len(calls)} calls)" if len(calls) > 1 else ""
            self.left.append(Left(name, FUNCTIONS[first.callee].name, f"{spots}{times}{_line_to_type(first, held)}"))
            return
        self._add_calls(calls, f"{owner}.{held or kind}" if owner else held or kind, keeps=False)

    def _add_calls(self, calls: list[Call], name: str, keeps: bool) -> None:
        """One site per number of the call in the pass; the first keeps the name with `keeps`."""
        spots = self._spots(calls)
        assert not isinstance(spots, str)
        ways = [some[0].places for some in spots]
        for k, some in enumerate(spots):
            often, alone = ways.count(ways[k]), len(ways) == 1
            spot = Spot(calls[0].owner or "", ways[k], ways[:k].count(ways[k]), often, alone)
            if keeps and k == 0:
                self._add(name, some, None if alone else spot)
            else:
                self._add(self._free_name(calls[0], name), some, spot)

    def _spots(self, calls: list[Call]) -> list[list[Call]] | str:
        """The calls of one place by their number in the pass, or why they cannot be changed."""
        first = calls[0]
        start = first.places[0].home.name if first.places and first.places[0].home else "forward"
        if start in vars(self.parts[first.owner or first.caller]):
            return f"its {start} was set on the object, not in its class; replace the activations before that"
        if not first.places or first.owner is None:
            return "it is called by code of torch, or as a value, which no method of the model shows"
        reason = _why_not(first, isinstance(first.callee, nn.Module))
        if reason:
            return reason
        visits = dict[int, list[Call]]()
        for call in calls:
            visits.setdefault(call.visit, []).append(call)
        ways = {tuple(call.places for call in some) for some in visits.values()}
        last = first.places[-1].home
        if all(len(way) == 1 for way in ways) and (len(ways) == 1 or (last is not None and last.name)):
            return [calls]
        if len(ways) > 1 or len({len(way) for way in min(ways)}) > 1:
            return "the number of its calls in a pass is not fixed"
        (way,) = ways
        if not all(place.is_direct for places in way for place in places):
            return "it is called several times per pass, by a function that another one calls"
        if any(way.count(places) > 1 and not _is_fixed(places) for places in way):
            return "it is called several times per pass, in a loop whose length is not that of the model"
        return [list(some) for some in zip(*visits.values(), strict=True)]

    def _free_name(self, call: Call, name: str) -> str:
        """A name for a new child of the owner: the word itself where what goes is held under it, else with a number."""
        path = call.owner or ""
        owner = self.parts[path]
        word = name.removeprefix(f"{path}.") if path else name
        is_held = _is_held(vars(owner).get(word), call.callee)
        tensors = chain(owner.named_parameters(recurse=False), owner.named_buffers(recurse=False))
        own = {*vars(owner), *dir(type(owner)), *(each for each, _ in chain(owner.named_children(), tensors))}
        made, number = word.replace(".", "_"), 2
        while (full := f"{path}.{made}" if path else made) in self.taken or (
            made in own and not (is_held and made == word)
        ):
            made, number = f"{word.replace('.', '_')}_{number}", number + 1
        return full

    def _add(self, name: str, calls: list[Call], spot: Spot | None) -> None:
        first = calls[0]
        callee, is_module = first.callee, isinstance(first.callee, nn.Module)
        kind = (kind_of(callee, self.kinds) if is_module else FUNCTIONS[callee].name) or ""
        self.taken.add(name)
        layout = one_layout(calls)
        if isinstance(layout, str) or layout.evidence == "by convention":
            other = self.known(name)
            shape = first.shape
            if isinstance(other, Layout) and shape[other.channel_dim :][:1] in ((other.channels,), ()):
                layout = other
        if isinstance(layout, str):
            self.left.append(Left(name, kind, layout))
            return
        original = callee if is_module else function_of_call(callee, first.args, first.kwargs or {})
        function = function_of_module(callee) if is_module else original
        on_meta = is_module and any(p.is_meta for p in callee.parameters())
        if on_meta or not is_pointwise(function, callee):
            reason = "its numbers are on the meta device" if on_meta else "it is no function of each number alone"
            self.left.append(Left(name, kind, reason))
            return
        path, attribute = self._split(name)
        in_place = getattr(callee, "inplace", False) is True or (not is_module and writes_into_input(first))
        self.sites.append(Site(path, attribute, kind, callee, function, original, layout, calls, spot, in_place))

    def _split(self, name: str) -> tuple[str, str]:
        path, _, attribute = name.rpartition(".")
        while path and isinstance(
            self.parts.get(path), (nn.ModuleList, nn.ModuleDict)
        ):  # which call nothing themselves
            path, _, more = path.rpartition(".")
            attribute = f"{more}.{attribute}"
        return path, attribute


def _is_held(value: Any, callee: Any) -> bool:
    """Whether an attribute is a function, or that with some arguments."""
    return value is not None and (value is callee or getattr(value, "func", None) is callee)


def _calls_attribute(call: Call, name: str) -> bool:
    """Whether a call calls an attribute of its module by name; in code of torch no other way is known."""
    if not call.places:
        return True
    node = call.places[-1].node
    return node is not None and isinstance(node.func, ast.Attribute) and node.func.attr == name


def writes_into_input(call: Call) -> bool:
    """Whether the call of a function was one in place."""
    given = [*call.args, (call.kwargs or {}).get("inplace")]
    return str(getattr(call.callee, "__name__", "")).endswith("_") or any(each is True for each in given)


def _line_to_type(call: Call, held: str | None) -> str:
    """What to write in place of a call that cannot be changed."""
    kind = FUNCTIONS[call.callee].name
    word = held or kind.lower()
    if not call.places:
        return f"; make it a module of its own: self.{word} = nn.{kind}()"
    place = call.places[-1]
    x = ast.unparse(place.node.args[0]) if place.node is not None and place.node.args else "x"
    line = f"{Path(place.code.co_filename).name}:{place.end[0]}"
    return f"; {line}: write self.{word} = nn.{kind}() in __init__ and self.{word}({x}) here"


def _why_not(call: Call, is_module: bool) -> str:
    """Why a call expression cannot be changed; empty where it can."""
    node, last = call.places[-1].node, call.places[-1].home
    if last is not None and last.name and len({id(function_at(each)) for each in _shared_by(last, call)}) > 1:
        return "a function made several methods of the code that calls it"
    if any(each.definition is None for each in call.places):
        return "the function that calls it has no source, or another than what runs"
    if any(each.home is None for each in call.places):
        return "the function that calls it is called under no name that can be followed"
    if any(each.home is not None and each.home.path and not each.home.name for each in call.places):
        return "the function that calls it has a decorator"
    if node is None or not (stays(node.func, call.places[-1].definition) if is_module else _is_told(call, node)):
        return "what calls it is computed"
    given = bool(node.args) or any(each.arg == "input" for each in node.keywords) or _is_method(call, node)
    if not given or any(isinstance(each, ast.Starred) for each in node.args[:1]):
        return "its input cannot be told"
    if not is_module and _computes_argument(call, node):
        return "forward computes an argument of it beside x"
    return ""


def _shared_by(home: Home, call: Call) -> list[Home]:
    return homes_of(home.holder, call.places[-1].code)


def _is_method(call: Call, node: ast.Call) -> bool:
    name = getattr(call.callee, "__name__", "")
    return (
        isinstance(node.func, ast.Attribute) and node.func.attr == name and call.callee is getattr(Tensor, name, None)
    )


def _is_told(call: Call, node: ast.Call) -> bool:
    """Whether what is called stands there under a name: not in a call such as getattr, nor as an argument."""
    if _is_method(call, node):
        return True
    simple = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.expr_context)
    return all(isinstance(each, simple) for each in ast.walk(node.func)) and call.is_direct


def _computes_argument(call: Call, node: ast.Call) -> bool:
    """Whether another argument than the input has to do with local numbers or the mode, or is a tensor."""
    rest = node.args if _is_method(call, node) else node.args[1:]
    others = [*rest, *(each.value for each in node.keywords if each.arg != "input")]
    names = {each.id for other in others for each in ast.walk(other) if isinstance(each, ast.Name)}
    if any(getattr(each, "attr", "") == "training" for other in others for each in ast.walk(other)):
        return True
    code = call.places[-1].code
    local = {*code.co_varnames[1:], *code.co_cellvars} - {*code.co_varnames[:1]}
    return bool(names & local) or any(isinstance(each, Tensor) for each in (*call.args, *(call.kwargs or {}).values()))


def _is_fixed(places: tuple[Place, ...]) -> bool:
    """Whether all loops around a call go over what the model holds: its modules, or a number of its own."""
    for place in places:
        if place.definition is None or place.node is None:
            return False
        local = set(place.code.co_varnames[1:])
        for loop in loops_around(place.definition, place.node):
            if isinstance(loop, (ast.While, ast.FunctionDef, ast.Lambda)):
                return False
            parts: list[Any] = [loop] if isinstance(loop, ast.For) else loop.generators  # type: ignore[attr-defined]
            names = {each.id for part in parts for each in ast.walk(part.iter) if isinstance(each, ast.Name)}
            if names & local:
                return False
    return True


def one_layout(calls: list[Call]) -> Layout | str:
    """The layout that all calls share, or what stands against it."""
    layouts = [call.layout for call in calls]
    first = layouts[0]
    for other in layouts:
        if isinstance(other, str) or isinstance(first, str):
            return other if isinstance(other, str) else first
        if other[:2] != first[:2]:
            places = sorted({f"{each[0]} at axis {each[1]}" for each in layouts})
            return f"one module is called with different channels: {', '.join(map(str, places))}"
    return first


def plans_of(model: nn.Module, sites: Sequence[Site]) -> tuple[dict[str, Plan], tuple[str, ...]]:
    """The changes of each module's class, by its path, and notes: on the functions that stay beside them, and on what
    is not as before.
    """
    parts = dict(model.named_modules(remove_duplicate=False))
    groups = dict[tuple[str, tuple[Place, ...]], dict[int, Site]]()
    silent, numbered = list[str](), list[Site]()
    for site in sites:
        if site.in_place and not site.writes:
            silent.append(site.name)
        if site.spot is not None and site.spot.often > 1:
            numbered.append(site)
        if site.spot is not None:
            groups.setdefault((site.spot.owner, site.spot.places), {})[site.spot.number] = site
        elif site.writes and site.seen[0].places and site.seen[0].owner is not None:
            groups.setdefault((site.seen[0].owner, site.seen[0].places), {})[0] = site
    plans, notes = dict[str, Plan](), list[str]()
    for owner in dict.fromkeys(owner for owner, _ in groups):
        own = {places: some for (each, places), some in groups.items() if each == owner}
        plans[owner], kept = _plan(owner, type(parts[owner]), own)
        if kept:
            several = "computes" if len(kept) == 1 else "compute"
            path = owner or type(parts[owner]).__name__
            notes.append(f"{', '.join(kept)} of {path} {several} the old function when called other than by forward")
    notes += _note_hooks(parts, silent) if silent else []
    notes += _note_skipped(numbered) if numbered else []
    return plans, tuple(notes)


def _note_hooks(parts: dict[str, nn.Module], names: list[str]) -> list[str]:
    """Where forward hooks may keep what activations wrote into, and no longer do."""
    hooked = [path or type(part).__name__ for path, part in parts.items() if has_forward_hooks(part)]
    if not hooked:
        return []
    return [
        f"{', '.join(names)} wrote into the input, and now the input stays as it is: what forward hooks of "
        f"{', '.join(hooked)} keep has the numbers before the activation"
    ]


def _note_skipped(sites: list[Site]) -> list[str]:
    """Where a loop that tells calls apart by their number leaves out some of them in training, or by chance."""
    names = [site.name for site in sites if any(map(_skips, site.spot.places))]  # type: ignore[union-attr]
    if not names:
        return []
    return [
        f"{', '.join(names)} are told apart by the number of the call in a pass, and the code around it depends on the "
        "mode or on chance: where a pass leaves out a call, those after it go to the activations before theirs"
    ]


def _skips(place: Place) -> bool:
    """Whether a loop around a call has a condition, in a function that asks for the mode or for random numbers."""
    if place.definition is None or place.node is None:
        return False
    dropouts = [each for each in calls_in(place.definition) if "dropout" in ast.unparse(each.func)]
    within = {id(part) for each in dropouts for part in ast.walk(each)}
    names = {_word(each) for each in ast.walk(place.definition) if id(each) not in within}
    asks = any(name == "training" or "rand" in name for name in names)
    conditions = (ast.If, ast.IfExp, ast.Continue, ast.Break)
    loops = loops_around(place.definition, place.node) if asks else ()
    return any(isinstance(each, conditions) or getattr(each, "ifs", ()) for loop in loops for each in ast.walk(loop))


def _word(node: Any) -> str:
    """The last word of a name or of an attribute."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _plan(owner: str, kind: type, groups: dict[tuple[Place, ...], dict[int, Site]]) -> tuple[Plan, list[str]]:
    """The changes of one class, and the names of methods whose numbered calls only the method that calls them knows."""
    calls = dict[tuple[Home, str], dict[int, tuple[str, Target]]]()
    helpers, kept = dict[Any, str](), list[str]()

    def change(home: Home, helper: str, place: Place, target: Target) -> None:
        index = next(k for k, each in enumerate(calls_in(place.definition)) if each is place.node)
        calls.setdefault((home, helper), {})[index] = (ast.unparse(calls_in(place.definition)[index].func), target)

    for places, some in groups.items():
        spot = next(iter(some.values())).spot
        counted = spot is not None and spot.often > 1
        start = (
            0
            if spot is not None and not spot.alone
            else max(k for k, each in enumerate(places) if each.home is not None and each.home.name)
        )
        name = ""
        for k in range(start, len(places) - 1):
            home, inner = places[k].home, places[k + 1].home
            if home is None or inner is None:
                continue
            word = helpers.setdefault((places[: k + 1], places[k + 1].code), f"_learned_helper_{len(helpers) + 1}")
            if inner.name and inner.name not in kept:
                kept.append(inner.name)
            change(home, name, places[k], Target(helper=word))
            name = word
        last = places[-1].home
        assert last is not None
        change(last, name, places[-1], _target(owner, some, counted))
    changes = [
        Change(_numbered(kind, home), tuple((k, *each) for k, each in sorted(some.items())), helper)
        for (home, helper), some in calls.items()
    ]
    return tuple(changes), kept


def _target(owner: str, sites: dict[int, Site], counted: bool) -> Target:
    first = next(iter(sites.values()))
    often = first.spot.often if first.spot else 1
    names = tuple(_below(owner, sites[k]) if k in sites else "" for k in range(often))
    function = -1 if isinstance(first.callee, nn.Module) else list(FUNCTIONS).index(first.callee)
    guarded = function >= 0 and not first.seen[0].is_static
    return Target(names, "", function, guarded, any(site.writes for site in sites.values()), counted)


def _below(owner: str, site: Site) -> str:
    return site.name.removeprefix(f"{owner}.") if owner else site.name


def _numbered(kind: type, home: Home) -> Home:
    """A home that can be pickled: a class is its number among those that the module inherits from."""
    return home._replace(holder=kind.__mro__.index(home.holder)) if home.name else home


def reads_again(call: Call) -> bool:
    """Whether code may read what a call in place wrote into its input: all but a result of a layer or of a sum, under
    one name that is given to the result.
    """
    definition, node = call.places[-1].definition, call.places[-1].node
    if node is None:
        return True
    x: Any = node.args[0] if node.args else getattr(node.func, "value", None)
    if isinstance(x, (ast.Call, ast.BinOp)):
        return isinstance(x, ast.Call) and isinstance(x.func, ast.Attribute) and x.func.attr in VIEWS
    if not isinstance(x, ast.Name):
        return True
    statements = [each for each in ast.walk(definition) if isinstance(each, ast.Assign)]
    own = next((each for each in statements if each.value is node), None)
    if own is None and not any(isinstance(each, ast.Return) and each.value is node for each in ast.walk(definition)):
        return True
    made = [each for each in statements if any(getattr(target, "id", "") == x.id for target in each.targets)]
    fresh = bool(made) and all(isinstance(each.value, (ast.Call, ast.BinOp)) for each in made)
    views = any(getattr(getattr(each.value, "func", None), "attr", "") in VIEWS for each in made)
    said: list[Any] = [
        each for each in ast.walk(definition) if isinstance(each, ast.Expr) and each.lineno < node.lineno
    ]
    aliases = any(
        isinstance(part, ast.Name) and part.id == x.id and isinstance(part.ctx, ast.Load)
        for each in (*said, *statements)  # such as kept.append(x)
        if each in said or not isinstance(each.value, ast.Call) or getattr(each.value.func, "attr", "") in VIEWS
        for part in ast.walk(each.value)
    )
    same = own is None or any(getattr(target, "id", "") == x.id for target in own.targets)
    return not fresh or views or aliases or not same


VIEWS = {"view", "view_as", "reshape", "transpose", "permute", "flatten", "squeeze", "unsqueeze", "chunk", "split", "T"}
