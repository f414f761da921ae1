"""The library of machine code: finds it, checks it and loads it, for this processor.

`native/build.py` compiles one library for each level of a processor and writes beside them what it made: the digests of
the libraries, and that of the sources. Nothing is loaded before the first call needs it.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import logging
import platform
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

__all__ = ["level", "library", "why_not"]

FOLDER = Path(__file__).parent / "libraries"
BUILDER = Path(__file__).parents[2] / "native" / "build.py"  # there in a checkout alone
LEVELS = {"AVX512": "x86_64_v4", "AVX2": "x86_64_v3"}  # by what torch says, which obeys ATEN_CPU_CAPABILITY

_log = logging.getLogger("chebact")


class LibraryError(Exception):
    """The reason why no library can be loaded, as one sentence."""


def level() -> str:
    """The level of instructions that this processor has and that torch itself uses.

    >>> level().startswith(platform.machine().lower().replace("amd64", "x86_64")[:5])
    True
    """
    machine = platform.machine().lower().replace("amd64", "x86_64").replace("arm64", "aarch64")
    return LEVELS.get(torch.backends.cpu.get_cpu_capability(), "x86_64_v2") if machine == "x86_64" else machine


def library() -> ctypes.CDLL:
    """The library for this processor."""
    loaded = _load()
    if isinstance(loaded, str):
        raise LibraryError(loaded)
    return loaded


def why_not() -> str | None:
    """The reason why there is no library, or None."""
    loaded = _load()
    return loaded if isinstance(loaded, str) else None


@lru_cache(maxsize=1)
def _load() -> ctypes.CDLL | str:
    try:
        return ctypes.CDLL(str(_checked(_manifest())))
    except LibraryError as error:
        return str(error)
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"the compiled library cannot be loaded ({type(error).__name__}: {error}); install chebact again"


def _manifest() -> dict[str, Any]:
    """What was built; in a checkout whose sources are others than those it was built from, build it anew."""
    file = FOLDER / "manifest.json"
    made: dict[str, Any] = json.loads(file.read_bytes()) if file.exists() else {}
    if BUILDER.exists() and made.get("sources") != _digest(*sorted(BUILDER.parent.glob("*.[chp]*"))):
        made = _build()
    if "libraries" not in made:
        reason = made.get("reason", "this installation has no compiled library")
        raise LibraryError(f"{reason}; install chebact again where it can be compiled")
    return made


def _build() -> dict[str, Any]:
    _log.warning("compiling the sources in %s, which are new or have changed, for some 30 s", BUILDER.parent)
    done = subprocess.run([sys.executable, str(BUILDER)], check=False, capture_output=True, text=True)
    if done.returncode:
        raise LibraryError(f"the sources in {BUILDER.parent} could not be compiled: {done.stderr.strip()}")
    made: dict[str, Any] = json.loads((FOLDER / "manifest.json").read_bytes())
    return made


def _checked(made: dict[str, Any]) -> Path:
    """The file for this processor, if its bytes are those that were built: loading others could end the process."""
    name = level()
    entry = made["libraries"].get(name)
    if entry is None:
        raise LibraryError(f"this installation has libraries for {', '.join(made['libraries'])}, and none for {name}")
    file = FOLDER / str(entry["file"])
    if not file.exists() or _digest(file) != entry["sha256"]:
        raise LibraryError(
            f"the compiled library {file} is missing or not the one that was built; install chebact again"
        )
    return file


def _digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
