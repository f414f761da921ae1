"""The activations of a model: those that a run called or its code names, and what is left and why."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from torch import nn

from chebact.surgery.checking import is_hidden
from chebact.surgery.kinds import kind_of
from chebact.surgery.methods import kinds_asked, unreached, untold
from chebact.surgery.observing import Observation
from chebact.surgery.reading import beside, read_calls
from chebact.surgery.report import Left
from chebact.surgery.sites import Site, find_sites, reads_again

__all__ = ["Found", "find_activations"]

HIDDEN = "it is compiled, or a script, whose calls cannot be changed; replace its activations before that"
SHARED = "it writes into its input, which others may read; pass example"


@dataclass
class Found:
    """The sites, in the order of their calls, and what is left."""

    sites: list[Site]
    left: list[Left]


def find_activations(
    model: nn.Module,
    kinds: tuple[type[nn.Module], ...],
    functions: Collection[Any],
    wanted: Callable[[Any], bool],
    seen: Observation | None,
) -> Found:
    """The activations of a model, by a run of it or by its code."""
    parts = dict(model.named_modules(remove_duplicate=False))

    def known(name: str) -> Any:
        above, _, last = name.rpartition(".")
        return beside(parts[above], last)

    hidden = tuple(name for name, part in parts.items() if is_hidden(part))
    calls = read_calls(model, wanted) if seen is None else seen.calls
    calls = [call for call in calls if not _is_below(call.attribute or call.owner or call.caller, hidden)]
    sites, left = find_sites(model, calls, kinds, known)
    left += [Left(name, type(parts[name]).__name__, HIDDEN) for name in hidden if not _is_below(name, hidden, 1)]
    names = {site.name for site in sites} | {each.name for each in left}
    held = {id(site.callee): site for site in reversed(sites) if isinstance(site.callee, nn.Module)}
    for name, part in parts.items():
        if wanted(part) and name and name not in names and not _is_below(name, hidden):
            if id(part) in held:
                held[id(part)].twins.append(name)
            else:
                reason = (
                    "the example does not reach it"
                    if seen is not None
                    else "its forward does not call it; pass example"
                )
                left.append(Left(name, kind_of(part, kinds) or "", reason))
    if seen is not None:
        left += unreached(
            model, wanted, {(place.code.co_filename, place.end) for call in calls for place in call.places}
        )
    else:
        left += untold(model, functions)
    asked = kinds_asked(model)
    kept = list[Site]()
    for site in sites:
        question = next((text for kind, text in asked.items() if isinstance(site.callee, kind)), None)
        if question is not None:
            left.append(Left(site.name, site.kind, f"the model asks {question}, which no learned activation is"))
        elif seen is None and site.in_place and (reason := _shared(site)):
            left.append(Left(site.name, site.kind, reason))
        else:
            kept.append(site)
    return Found(kept, left)


def _is_below(name: str, hidden: tuple[str, ...], least: int = 0) -> bool:
    """Whether a module is one of those that hide what they call, or inside of one."""
    return any((name == each and not least) or name.startswith(f"{each}.") for each in hidden)


def _shared(site: Site) -> str:
    """Without a run: calls in place write, unless nobody reads that; in torch's Sequential the first may matter."""
    if site.seen[0].places:
        site.writes = reads_again(site.seen[0])
        return ""
    return "" if site.layout.evidence.startswith("after") else SHARED
