"""What a measurement of time depends on beside what was timed: processor, cores, threads, versions."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chebact.lab.environment import environment

__all__ = ["busy", "machine_record", "told"]

QUIET = 0.5  # of the cores wanted by others: beyond that, threads wait for each other and ratios mean little
PROCESSORS = Path("/proc/cpuinfo")


def machine_record(more_versions: Mapping[str, str | None] | None = None) -> dict[str, Any]:
    """The record that goes with the rows of a benchmark; `more_versions` are those of other libraries timed."""
    record = environment()
    record["versions"] = {**record["versions"], **(more_versions or {})}
    return {"processor": processor(), "cores": cores(), "load": load(), "system": platform.system(), **record}


def told(record: Mapping[str, Any]) -> str:
    """The record in one line."""
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items() if version)
    return (
        f"{record['processor']} ({record['system']} {record['machine']}, {record['cpu']}), {record['cores']} cores, "
        f"{record['threads']} threads; {versions}; kernel {record['kernel']}"
    )


def busy(record: Mapping[str, Any]) -> str | None:
    """A sentence where others use the machine so much that times are not to be trusted, or None."""
    if record["load"] is None or record["load"] <= QUIET * record["cores"]:
        return None
    return (
        f"this machine is busy (load {record['load']:g} on {record['cores']} cores): these times are not to be trusted"
    )


def processor() -> str:
    """The processor's name as its maker gives it, else its architecture."""
    try:
        lines = PROCESSORS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # only Linux has this file
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def load() -> float | None:
    """How many processes wanted a core in the last minute; None where the system does not tell."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None
