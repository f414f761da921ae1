"""Where a record was made: versions, commit, machine, threads and kernel."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from chebact.lab import LabError

__all__ = ["environment", "host"]


def environment(*packages: str) -> dict[str, Any]:
    """What a result may depend on beside its spec, as plain values; `packages` are more of which the version counts."""
    return {
        "versions": versions() | {name: installed(name) for name in packages},
        "commit": commit(),
        "machine": platform.machine(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "kernel": kernel(),
    }


def host() -> str:
    """The name of this machine in its network."""
    return platform.node()


@cache
def versions() -> dict[str, str | None]:
    return {"python": platform.python_version(), **{name: installed(name) for name in ("chebact", "torch", "numba")}}


def installed(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


@cache
def commit() -> str | None:
    """The commit of the checkout that this package lies in, or None where it lies in none."""
    folder = Path(__file__).parent
    if git(folder, "ls-files", "--error-unmatch", "environment.py") is None:
        return None
    return git(folder, "rev-parse", "--verify", "HEAD")


def git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def kernel() -> str:
    """The kernel that serves the activations on this machine."""
    from chebact import kernels
    from chebact.basis import Basis

    try:
        return kernels.choose(torch.device("cpu"), Basis(3, "extrapolate")).name
    except (ValueError, kernels.KernelUnavailableError) as error:  # what CHEBACT_KERNEL asks for is not to be had
        raise LabError(f"{error}; CHEBACT_KERNEL names the kernel, and without it the choice is automatic") from error
