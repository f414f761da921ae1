"""A trial of the operated model with the old functions in the new places: its output must be that of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from chebact.surgery.places.finder import Site
from chebact.surgery.places.observing import Visit
from chebact.surgery.trials.comparing import difference_between, is_same
from chebact.surgery.trials.inner_inputs import Arguments, InnerInputs, layers_that_compute
from chebact.surgery.trials.running import run_trial

__all__ = ["Original", "StandIn", "put", "run_original", "verify"]


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


@dataclass(frozen=True)
class Original:
    """What the model that was given gives, and what its layers are given on the way: arguments by name and call."""

    output: Any
    inner: Mapping[str, Sequence[Arguments]] = field(default_factory=dict)


def run_original(model: nn.Module, example: Any, visits: Mapping[str, Sequence[Visit]]) -> Original:
    """A run of a copy of the model that was given, in the way of the trials.

    Of the layers those count that are given the same as in the observed run: where two runs of one model differ, a
    third tells nothing.
    """
    names = layers_that_compute(model) & visits.keys()
    inner = InnerInputs(model, {name: [(v.given, v.given_by_name) for v in visits[name]] for name in names})
    output = run_trial(model, example, inner.watch)
    return Original(output, inner.agreeing())


def verify(model: nn.Module, sites: Sequence[Site], example: Any, original: Original) -> None:
    """An error with names where the operated model, with the old functions, does not compute what `original` did."""
    called = set[str]()
    trials = {site.name: StandIn(site.name, site.original, called.add) for site in sites}
    for site in sites:
        put(site, trials[site.name])
    try:
        apart = _compare(model, example, original)
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
    if apart is None:
        return
    guilty = _reads_what_was_written(model, {s.name: trials[s.name] for s in sites if s.writes}, example, original)
    if guilty:
        raise ValueError(
            "model must not read what an activation wrote into its input, got inplace=True at "
            f"{', '.join(guilty)} and {apart} without; set inplace=False, "
            "which changes the model, or let where leave out those whose input is used again"
        )
    names = sorted({site.name for site in sites if site.traced is not None} or {site.name for site in sites})
    raise ValueError(
        f"model must compute the same with rewritten forward methods, got {apart} with "
        f"{', '.join(names)}; leave them out with where or functional=False"
    )


def _compare(model: nn.Module, example: Any, original: Original) -> str | None:
    """What differs from the original: the output, or what a layer is given; None is nothing."""
    inner = InnerInputs(model, original.inner)
    output = run_trial(model, example, inner.watch)
    if not is_same(output, original.output):
        return f"an output that {_by(difference_between(output, original.output))}"
    return next((f"an input of {name} that {_by(apart)}" for name, apart in inner.differences().items()), None)


def _by(difference: float | None) -> str:
    return f"differs by {difference:.3g}" if difference else "has another form"


def _reads_what_was_written(
    model: nn.Module, writing: dict[str, StandIn], example: Any, original: Original
) -> list[str]:
    """Those without whose writing the model computes something else, if with the writing of all it does not."""
    for trial in writing.values():
        trial.writes = True
    if not writing or _compare(model, example, original) is not None:
        return []
    guilty = []
    for name, trial in writing.items():
        trial.writes = False
        if _compare(model, example, original) is not None:
            guilty.append(name)
        trial.writes = True
    return guilty or list(writing)
