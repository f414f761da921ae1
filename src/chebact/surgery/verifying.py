"""A trial of the operated model with the old functions in the new places: its output must be that of the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from chebact.recording import run_once
from chebact.surgery.places.finder import Site
from chebact.surgery.trials.comparing import difference_between, is_same
from chebact.surgery.trials.kept_state import state_kept
from chebact.surgery.trials.random_states import seeded

__all__ = ["StandIn", "put", "verify"]


class StandIn(nn.Module):
    """The function that an activation replaces, on a copy of its input; with `writes` the input changes as before.

    It tells `note` its name when it is called.
    """

    def __init__(self, name: str, function: Callable[[Tensor], Tensor], note: Callable[[str], None]) -> None:
        super().__init__()
        self.name, self.function, self.note, self.writes = name, function, note, False

    def forward(self, x: Tensor) -> Tensor:
        """The old function of x."""
        self.note(self.name)
        result = self.function(x.clone())
        return x.copy_(result) if self.writes else result


def put(site: Site, module: nn.Module) -> None:
    """Make a module the child of that name."""
    above, _, name = site.attribute.rpartition(".")
    setattr(site.parent.get_submodule(above), name, module)


def run_original(model: nn.Module, example: Any) -> Any:
    """What a copy of the model that was given gives, in the way of the trials."""
    return _run(model, example)


def verify(model: nn.Module, sites: Sequence[Site], example: Any, wanted: Any) -> None:
    """An error with names where the operated model, with the old functions, does not give `wanted` on the example."""
    called = set[str]()
    trials = {site.name: StandIn(site.name, site.original, called.add) for site in sites}
    for site in sites:
        put(site, trials[site.name])
    try:
        got = _run(model, example)
    except Exception as error:
        raise ValueError(
            f"model must run with rewritten forward methods, got {type(error).__name__}: {error}; leave out what the "
            "example calls in two ways with where or functional=False"
        ) from error
    if unused := [name for name in trials if name not in called]:
        raise ValueError(
            f"model must call its new activations, got {', '.join(unused)}, which the model does not call on the "
            "example; leave them out with where"
        )
    if is_same(got, wanted):
        return
    difference = difference_between(got, wanted)
    apart = "has another form" if difference is None else f"differs by {difference:.3g}"
    guilty = _reads_what_was_written(model, {s.name: trials[s.name] for s in sites if s.writes}, example, wanted)
    if guilty:
        raise ValueError(
            "model must not read what an activation wrote into its input, got inplace=True at "
            f"{', '.join(guilty)} and an output that {apart} without; set inplace=False, "
            "which changes the model, or let where leave out those whose input is used again"
        )
    names = sorted({site.name for site in sites if site.traced is not None} or {site.name for site in sites})
    raise ValueError(
        f"model must compute the same with rewritten forward methods, got an output that {apart} with "
        f"{', '.join(names)}; leave them out with where or functional=False"
    )


def _run(model: nn.Module, example: Any) -> Any:
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)  # torch's fast transformer layers call no activation of their own
    try:
        with state_kept(model), seeded():
            return run_once(model, example)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def _reads_what_was_written(model: nn.Module, writing: dict[str, StandIn], example: Any, wanted: Any) -> list[str]:
    """Those without whose writing the output is another one, if with the writing of all it is the same."""
    for trial in writing.values():
        trial.writes = True
    if not writing or not is_same(_run(model, example), wanted):
        return []
    guilty = []
    for name, trial in writing.items():
        trial.writes = False
        if not is_same(_run(model, example), wanted):
            guilty.append(name)
        trial.writes = True
    return guilty or list(writing)
