"""The commands that make synthetic records again."""

from __future__ import annotations

from collections.abc import Iterable

from chebact.lab.options import as_typed, options
from chebact.lab.spec import parts_of
from chebact.lab.synthetic.record import SyntheticRecord
from chebact.lab.synthetic.spec import Settings, SyntheticRequest

__all__ = ["synthetic_commands"]


def synthetic_commands(records: Iterable[SyntheticRecord]) -> list[str]:
    """One command per recipe, choices and number of seeds and epochs; it asks for all models and data sets."""
    usual, levels = SyntheticRequest(), dict[tuple[str, ...], set[float]]()
    for record in records:
        spec, form = record.spec, record.spec.recipes  # always named, though one of the two is the default
        default = next(
            SyntheticRequest((spec.model,), (spec.dataset,), recipes=form).groups_of(spec.model, (spec.dataset,))
        )
        words = options(parts_of(spec, Settings), default[0], Settings)
        levels.setdefault((f"chebact run synthetic --recipe {form}", *words), set()).add(spec.noise)
    return [
        " ".join(asked) + ("" if sorted(noise) == list(usual.noise) else f" --noise {as_typed(sorted(noise))}")
        for asked, noise in levels.items()
    ]
