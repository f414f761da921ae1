"""The commands that make clinical records again."""

from __future__ import annotations

from collections.abc import Iterable

from chebact.lab.clinical.spec import IN_FOLDS, ON_COHORT, ClinicalSettings, NetworkSpec, Trial
from chebact.lab.clinical.table import PRESETS
from chebact.lab.options import options
from chebact.lab.spec import as_plain

__all__ = ["clinical_commands"]


def clinical_commands(specs: Iterable[Trial]) -> list[str]:
    """One command per table; neither the file nor the meaning of its columns is in the records."""
    specs, usual = list(specs), ClinicalSettings()
    networks = [spec for spec in specs if isinstance(spec, NetworkSpec)] or specs  # a baseline says less
    lines = (
        " ".join(["chebact run clinical", *data_options(spec), *options(as_plain(spec), usual, ClinicalSettings)])
        for spec in networks
    )
    return list(dict.fromkeys(lines))


def data_options(spec: Trial) -> list[str]:
    """The options about the table and the choice of its features."""
    words = []
    if not spec.generated:
        known = spec.data in PRESETS
        words.append(f"--data FILE.csv --preset {spec.data}" if known else f"--data {spec.data}.csv ...")
    if spec.choice.startswith(IN_FOLDS):
        words.append("--select folds")
    elif spec.choice.startswith(ON_COHORT) and not spec.generated:
        words.append("--select OTHER.csv")
    elif spec.choice == "all" and spec.generated:
        words.append("--features all")
    return words
