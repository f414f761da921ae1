"""The commands that make clinical records again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chebact.lab.clinical.table import PRESETS
from chebact.lab.page.rerun import options

__all__ = ["clinical_commands"]

DEFAULTS: dict[str, Any] = {"seeds": 30, "folds": 10, "labels": "true", "epochs": 300, "shortcut": "average"}


def clinical_commands(specs: Iterable[Mapping[str, Any]]) -> list[str]:
    """One command per table; which file it was and how its columns were named is not in the records."""
    specs = list(specs)
    shown = [spec for spec in specs if "epochs" in spec] or specs  # one without a network says less
    lines = (" ".join(["chebact run clinical", *data_options(spec), *options(spec, DEFAULTS)]) for spec in shown)
    return list(dict.fromkeys(lines))


def data_options(spec: Mapping[str, Any]) -> list[str]:
    """The options about the table and the choice of its features."""
    words = []
    if not spec["generated"]:
        known = spec["data"] in PRESETS
        words.append(f"--data FILE.csv --preset {spec['data']}" if known else f"--data {spec['data']}.csv ...")
    if spec["choice"].startswith("boruta in folds"):
        words.append("--select folds")
    elif spec["choice"].startswith("boruta on ") and not spec["generated"]:
        words.append("--select OTHER.csv")
    elif spec["choice"] == "all" and spec["generated"]:
        words.append("--features all")
    return words
