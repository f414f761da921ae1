"""What a measurement of time depends on beside the code: processor, cores, threads, versions."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from chebact.lab.environment import environment
from chebact.lab.forms import between
from chebact.lab.spec import added
from chebact.lab.workers import cores

__all__ = ["Machine", "describe_this_machine"]

QUIET = 0.5  # load per core: beyond that, threads wait for each other and ratios mean little
PROCESSORS = Path("/proc/cpuinfo")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The record of the machine, which lies beside the rows. `rows_sha256` is the checksum of their file."""

    processor: str
    cores: int
    load: Annotated[float, between(0, 1e12)] | None
    system: str
    versions: Mapping[str, str | None]
    commit: str | None = added(None)
    machine: str
    cpu: str
    threads: int
    kernel: str
    rows_sha256: str = ""

    def __str__(self) -> str:
        """The record in one line."""
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items() if version)
        return (
            f"{self.processor} ({self.system} {self.machine}, {self.cpu}), {self.cores} cores, "
            f"{self.threads} threads; {versions}; kernel {self.kernel}"
        )

    def load_warning(self) -> str | None:
        """A sentence if other processes use so much of the machine that times mean little, or None."""
        if self.load is None or self.load <= QUIET * self.cores:
            return None
        return f"this machine is busy (load {self.load:g} on {self.cores} cores): these times mean little"


def describe_this_machine(more_versions: Mapping[str, str | None] | None = None) -> Machine:
    """The record of this machine; `more_versions` are those of other libraries that are timed."""
    about = environment()
    about["versions"] = {**about["versions"], **(more_versions or {})}
    return Machine(processor=processor_name(), cores=cores(), load=load(), system=platform.system(), **about)


def processor_name() -> str:
    """The name of the processor as its maker gives it, else its architecture."""
    try:
        lines = PROCESSORS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # only Linux has this file
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def load() -> float | None:
    """How many processes waited for a core in the last minute; None if the system does not say."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None
