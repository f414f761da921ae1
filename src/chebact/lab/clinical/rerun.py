"""The commands that make clinical records again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chebact.lab.clinical.spec import IN_FOLDS, ON_COHORT, ClinicalSettings
from chebact.lab.clinical.table import PRESETS
from chebact.lab.options import options

__all__ = ["clinical_commands"]


def clinical_commands(specs: Iterable[Mapping[str, Any]]) -> list[str]:
    """One command per table; neither the file nor the meaning of its columns is in the records."""
    specs, usual = list(specs), ClinicalSettings()
    shown = [spec for spec in specs if "epochs" in spec] or specs  # one without a network says less
    lines = (
        " ".join(["chebact run clinical", *data_options(spec), *options(spec, usual, ClinicalSettings)])
        for spec in shown
    )
    return list(dict.fromkeys(lines))


def data_options(spec: Mapping[str, Any]) -> list[str]:
    """The options about the table and the choice of its features."""
    words = []
    if not spec["generated"]:
        known = spec["data"] in PRESETS
        words.append(f"--data FILE.csv --preset {spec['data']}" if known else f"--data {spec['data']}.csv ...")
    if spec["choice"].startswith(IN_FOLDS):
        words.append("--select folds")
    elif spec["choice"].startswith(ON_COHORT) and not spec["generated"]:
        words.append("--select OTHER.csv")
    elif spec["choice"] == "all" and spec["generated"]:
        words.append("--features all")
    return words
