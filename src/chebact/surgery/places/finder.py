"""Every place of a model where an activation is applied, with the channels of its input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch import Tensor, fx, nn

from chebact.initial import Function
from chebact.surgery.graphs.aliases import SHARED, may_be_shared, writes
from chebact.surgery.graphs.rewriting import forward_of
from chebact.surgery.graphs.tracing import Traced, TracingError, callee_of, find_layout, functions_in_code, trace
from chebact.surgery.kinds import (
    FUNCTIONS,
    function_of_call,
    function_of_module,
    is_activation,
    is_pointwise,
    kind_of,
)
from chebact.surgery.layouts import PASSING, Layout, consumed_by, produced_by
from chebact.surgery.places.observing import Call, Observation, Visit
from chebact.surgery.report import Left
from chebact.surgery.trials.comparing import is_same
from chebact.surgery.trials.kept_state import state_kept
from chebact.surgery.trials.random_states import seeded

__all__ = ["Finder", "Site"]


TORCH_FORWARDS = (nn.TransformerEncoderLayer.forward, nn.TransformerDecoderLayer.forward)


@dataclass
class Site:
    """A place where an activation is applied: an attribute of `parent`, or the node `index` of its graph.

    `function` is that of points, for heights; `original` is the call as it was, of any input, and `writes` says whether
    that wrote into it. `seen` are its calls on the example.
    """

    name: str
    kind: str
    parent: nn.Module
    attribute: str
    function: Function
    original: Callable[[Tensor], Tensor]
    layout: Layout
    seen: list[Call]
    writes: bool
    traced: Traced | None
    index: int

    @property
    def channels(self) -> int:
        """How many channels it has."""
        return self.layout.channels

    @property
    def first(self) -> Call | None:
        """Its first call on the example."""
        return self.seen[0] if self.seen else None

    @property
    def inputs(self) -> Tensor | None:
        """Some of the numbers that the example gave it."""
        return torch.cat([call.inputs for call in self.seen]) if self.seen else None

    @property
    def input_channels(self) -> Tensor | None:
        """The channels of `inputs`."""
        return torch.cat([call.channels for call in self.seen]) if self.seen else None


class Finder:
    """Looks through a model, module by module; `sites`, in the order of calls, and `left` hold what it found."""

    def __init__(
        self, model: nn.Module, kinds: tuple[type[nn.Module], ...], functional: bool, observation: Observation | None
    ) -> None:
        self.kinds, self.observation = kinds, observation
        self.is_activation = partial(is_activation, kinds=kinds, functional=functional)
        self.sites: list[Site] = []
        self.left: list[Left] = []
        self.children: dict[int, dict[str, nn.Module]] = {}
        parts = dict(model.named_modules(remove_duplicate=False))
        for path, part in parts.items():
            above, _, name = path.rpartition(".")
            while above and isinstance(parts[above], (nn.ModuleList, nn.ModuleDict)):  # which call nothing themselves
                above, _, more = above.rpartition(".")
                name = f"{more}.{name}"
            if path and self.is_activation(part):
                self.children.setdefault(id(parts[above]), {})[name] = part
        for path, part in model.named_modules():
            if not self.is_activation(part):
                self._look_into(path, part)
        self.sites.sort(key=lambda site: site.first.number if site.first else 0)  # without calls the order stays

    def _look_into(self, path: str, parent: nn.Module) -> None:
        children = self.children.get(id(parent), {})
        visits = self.observation.visits.get(path, []) if self.observation else []
        attributes = {name: value for name, value in vars(parent).items() if self.is_activation(value)}
        if type(parent).forward is nn.Sequential.forward:
            for name in children:
                self._look_at_child(path, parent, name, visits, lambda name: _beside(parent, name))
        elif type(parent).forward in TORCH_FORWARDS:
            for name in [*children, *attributes]:
                self._look_at_child(path, parent, name, visits, lambda name: _in_feed_forward(parent, name))
        else:
            self._look_at_code(path, parent, [*children, *attributes], visits)

    def _look_at_child(
        self,
        path: str,
        parent: nn.Module,
        name: str,
        visits: list[Visit],
        known: Callable[[str], Layout | str],
        untraced: str = "",
    ) -> None:
        """An attribute that is called once per pass, or so often that all calls share one shape; `untraced` says why
        there is no graph, which would tell the calls apart.
        """
        value = self._value(parent, name)
        seen = [call for visit in visits for call in visit.calls if call.callee == name or call.callee is value]
        seen = seen or self._calls_elsewhere(value)
        if self.observation is None:
            layout = known(name)
        elif not seen:
            layout = "the example does not reach it"
        else:
            layout = _or_by_neighbours(_one_layout(seen), known(name), seen)
            if isinstance(layout, str) and untraced and len({call.layout for call in seen}) > 1:
                layout = f"{layout}, and {untraced}"
        self._add(path, parent, name, value, layout, seen)

    def _value(self, parent: nn.Module, name: str) -> Any:
        """The activation of that name: a child, one in a list of modules, or a function that is an attribute."""
        found = self.children.get(id(parent), {}).get(name)
        return getattr(parent, name) if found is None else found

    def _calls_elsewhere(self, module: Any) -> list[Call]:
        """The calls of a child by others than its parent."""
        visits = [each for some in self.observation.visits.values() for each in some] if self.observation else []
        return [call for visit in visits for call in visit.calls if call.module is module and call.module is not None]

    def _add(
        self,
        path: str,
        parent: nn.Module,
        attribute: str,
        callee: Any,
        layout: Layout | str,
        seen: list[Call],
        traced: Traced | None = None,
        index: int = 0,
        function: Function | None = None,
        in_place: bool = False,
    ) -> None:
        name = f"{path}.{attribute}" if path else attribute
        is_module = isinstance(callee, nn.Module)
        kind = (kind_of(callee, self.kinds) if is_module else FUNCTIONS[callee].name) or ""
        if any(site.name == name for site in self.sites):  # in the graph of a module further up
            return
        if isinstance(layout, str):
            self.left.append(Left(name, kind, layout))
            return
        self.left = [each for each in self.left if each.name != name]
        original = callee if is_module else function or function_of_call(callee, (), {})
        function = function_of_module(callee) if is_module else original
        in_place = in_place or getattr(callee, "inplace", False) is True
        on_meta = is_module and any(p.is_meta for p in callee.parameters())
        if on_meta or not is_pointwise(function, callee):
            reason = "its numbers are on the meta device" if on_meta else "it is no function of each number alone"
            self.left.append(Left(name, kind, reason))
            return
        place = (name, kind, parent, attribute, function, original, layout)
        self.sites.append(Site(*place, seen, in_place, traced, index))

    def _look_at_code(self, path: str, parent: nn.Module, names: list[str], visits: list[Visit]) -> None:
        """A module with a forward of its own: its graph is needed for functions, for calls of one child at several
        places, and where no example tells the channels.
        """
        values = [self._value(parent, name) for name in names]
        if self.observation is not None:
            calls = visits[0].calls if visits else []
            free = [call for call in calls if self._is_function(call) and call.callee not in values]
            often = Counter(call.callee for call in calls if isinstance(call.callee, str) or self._is_function(call))
            needed = bool(free) or any(often[each] > 1 for each in [*names, *map(_hashable, values)])
        else:
            words, code = (
                {getattr(f, "__name__", "") for f in FUNCTIONS if self.is_activation(f)},
                functions_in_code(parent),
            )
            needed = bool(names or words & code)
        if not needed:
            for name in names:
                self._look_at_child(path, parent, name, visits, lambda name: _in_feed_forward(parent, name))
            return
        try:
            traced = self._trace(parent, visits)
        except TracingError as error:
            self._leave_or_share(path, parent, names, visits, str(error))
            return
        self._add_nodes(path, parent, names, visits, traced)

    def _is_function(self, call: Call) -> bool:
        return not isinstance(call.callee, str) and self.is_activation(call.callee)

    def _trace(self, parent: nn.Module, visits: list[Visit]) -> Traced:
        first = visits[0] if visits else Visit((), {})
        traced = trace(parent, self.is_activation, first.args, first.kwargs)
        if visits:
            seen = [call for call in first.calls if isinstance(call.callee, str) or self._is_function(call)]
            if len(seen) != len(traced.nodes[False]):
                raise TracingError(
                    f"its graph has {len(traced.nodes[False])} activations and the example called {len(seen)}"
                )
            for visit in visits:
                _check_graph(traced, visit)
        elif asked := {"isinstance", "is_tensor"} & functions_in_code(parent):
            raise TracingError(f"its forward asks {asked.pop()}, which sees no tensor in a graph; pass example")
        return traced

    def _add_nodes(self, path: str, parent: nn.Module, names: list[str], visits: list[Visit], traced: Traced) -> None:
        """One site per node of the graph; a child that is called once stays an attribute."""
        nodes = traced.nodes[False]
        callees = [callee_of(node, parent) for node in nodes]
        often = Counter(id(callee) for callee in callees if isinstance(callee, nn.Module))
        taken: set[str] = set()
        for index, (node, callee) in enumerate(zip(nodes, callees, strict=True)):
            seen = [visit.calls[index] for visit in visits if len(visit.calls) == len(nodes)]
            layout = find_layout(node, parent, self.is_activation)
            layout = _or_by_neighbours(_one_layout(seen), layout, seen) if seen else layout
            if isinstance(layout, str) and (whole := produced_by(parent)):  # a layer that ends in its activation
                layout = whole._replace(evidence=f"in {whole.evidence}")
            in_place = writes(node, parent)
            if in_place and not seen and may_be_shared(node, parent, self.is_activation):
                layout = SHARED
            if len(node.all_input_nodes) > 1:
                layout = "forward computes an argument of it beside x"
            if not _depends_on_input(node):
                layout = "it is applied to weights, not to what the module is given"
            if isinstance(callee, nn.Module) and often[id(callee)] == 1:
                graph = (traced, index, None, True) if in_place and _is_read_again(node) else ()
                self._add(path, parent, str(node.target), callee, layout, seen, *graph)
                continue
            held = next((name for name in names if self._value(parent, name) is callee), None)
            word = str(node.target) if isinstance(callee, nn.Module) else held or FUNCTIONS[callee].name.lower()
            attribute = _free_name(parent, word, taken, is_held=isinstance(callee, nn.Module) or held is not None)
            function = None
            if not isinstance(callee, nn.Module):
                function = function_of_call(callee, tuple(node.args[1:]), dict(node.kwargs))
            self._add(path, parent, attribute, callee, layout, seen, traced, index, function, in_place)
        reached = {id(callee) for callee in callees}
        for name in names:
            value = self._value(parent, name)
            if id(value) not in reached:
                self._add(path, parent, name, value, "its forward does not call it", [])

    def _leave_or_share(self, path: str, parent: nn.Module, names: list[str], visits: list[Visit], reason: str) -> None:
        """Without a graph: children that were seen are replaced, one for all its calls; functions stay."""
        for name in names:
            self._look_at_child(path, parent, name, visits, lambda name: _in_feed_forward(parent, name, reason), reason)
        values = [self._value(parent, name) for name in names]
        calls = [call for call in (visits[0].calls if visits else []) if self._is_function(call)]
        free = [call.callee for call in calls if call.callee not in values]
        if self.observation is None and not names:
            words = {getattr(f, "__name__", ""): f for f in FUNCTIONS if self.is_activation(f)}
            free = [words[word] for word in sorted(words.keys() & functions_in_code(parent))]
        do = "; make it a module of its own, such as self.act = nn.ReLU(), which needs no graph"
        for callee, count in Counter(free).items():
            times = f" ({count} calls)" if count > 1 else ""
            self._add(path, parent, f"{FUNCTIONS[callee].name.lower()}()", callee, f"{reason}{times}{do}", [])


def _in_feed_forward(parent: nn.Module, name: str, reason: str = "no layer tells its channels") -> Layout | str:
    """The channels of `activation` in torch's transformer layers, or the reason why no others are known."""
    if isinstance(parent, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)) and name == "activation":
        return Layout(parent.linear1.out_features, -1, "after Linear")
    return f"{reason}; pass example"


def _hashable(value: Any) -> Any:
    """What stands for a value in a count of calls: a function itself; a module is counted by its name."""
    return None if isinstance(value, nn.Module) else value


def _is_read_again(node: fx.Node) -> bool:
    """Whether the input of a node is read after it, which finds what the node wrote into it."""
    nodes = list(node.graph.nodes)
    source = node.args[0] if node.args else node.kwargs.get("input")
    return isinstance(source, fx.Node) and any(nodes.index(user) > nodes.index(node) for user in source.users)


def _depends_on_input(node: fx.Node) -> bool:
    """Whether a node computes with an argument of forward, at some remove."""
    todo, seen = [node], {node}
    while todo:
        for source in todo.pop().all_input_nodes:
            if source.op == "placeholder":
                return True
            if source not in seen:
                seen.add(source)
                todo.append(source)
    return False


def _one_layout(calls: list[Call]) -> Layout | str:
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


def _or_by_neighbours(layout: Layout | str, other: Layout | str, calls: list[Call]) -> Layout | str:
    """What the run tells where it followed the channels; else what the layers beside tell, if the shapes that were seen
    agree.
    """
    if isinstance(other, str) or all(call.followed for call in calls):
        return layout
    fits = (call.shape[other.channel_dim :][:1] == (other.channels,) for call in calls)
    return other if all(fits) else layout


def _beside(parent: nn.Module, name: str) -> Layout | str:
    """The layout of a child of nn.Sequential, by the layers before and after it."""
    parts = dict(parent.named_modules(remove_duplicate=False))
    names = [each for each in parts if each and "." not in each]
    place = names.index(name)
    if getattr(parts[name], "inplace", False) is True and all(
        isinstance(parts[each], PASSING) for each in names[:place]
    ):
        return SHARED
    for before in reversed(names[:place]):
        found = produced_by(parts[before])
        if found is not None:
            return found._replace(evidence=f"after {found.evidence}")
        if not isinstance(parts[before], PASSING):
            break
    for after in names[place + 1 :]:
        found = consumed_by(parts[after])
        if found is not None:
            return found._replace(evidence=f"before {found.evidence}")
        if not isinstance(parts[after], PASSING):
            break
    return "no layer beside it tells its channels; pass example"


def _free_name(parent: nn.Module, word: str, taken: set[str], is_held: bool) -> str:
    """A name for a new child: the word itself where what goes is held under it, else with a number."""
    name, number = word, 2
    tensors = chain(parent.named_parameters(recurse=False), parent.named_buffers(recurse=False))
    own = {*vars(parent), *dir(type(parent)), *(name for name, _ in chain(parent.named_children(), tensors))}
    while name in taken or (name in own and not (is_held and name == word)):
        name, number = f"{word.replace('.', '_')}_{number}", number + 1
    taken.add(name)
    return name


@torch.no_grad()
def _check_graph(traced: Traced, visit: Visit) -> None:
    """The graphs compute what the module does, on what the module was given; in training as far as it trains there."""
    module, forward = traced.module, forward_of(traced)
    modes = [(part, part.training) for part in module.modules()]
    try:
        for training in (False, True):
            module.train(training)
            wanted = visit.output if not training else _try(module.forward, module, visit)
            if isinstance(wanted, Exception):  # such as batch norm of a single row
                return
            got = _try(partial(forward, module), module, visit)
            if isinstance(got, Exception):
                raise TracingError(f"its graph does not run ({type(got).__name__}: {got})") from got
            if not is_same(got, wanted):
                raise TracingError("its graph computes something else: its forward depends on more than its inputs")
    finally:
        for part, mode in modes:
            part.training = mode


def _try(forward: Callable[..., Any], module: nn.Module, visit: Visit) -> Any:
    """What a forward gives on the arguments of a visit, or its error."""
    try:
        with seeded(), state_kept(module):
            return forward(*visit.args, **visit.kwargs)
    except Exception as error:
        return error
