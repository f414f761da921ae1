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
    """What a result may depend on besides its spec, as plain values; `packages` are further packages to record."""
    return {
        "versions": versions() | {name: installed_version(name) for name in packages},
        "commit": commit(),
        "machine": platform.machine(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "kernel": kernel_name(),
    }


def host() -> str:
    """The name of this machine in its network."""
    return platform.node()


@cache
def versions() -> dict[str, str | None]:
    return {
        "python": platform.python_version(),
        "chebact": installed_version("chebact"),
        "torch": str(torch.__version__),  # with its build, which a package's own version may leave out
        "numba": installed_version("numba"),
    }


def installed_version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


@cache
def commit() -> str | None:
    """The commit of the checkout that contains this package, or None."""
    folder = Path(__file__).parent
    if run_git(folder, "ls-files", "--error-unmatch", "environment.py") is None:
        return None
    return run_git(folder, "rev-parse", "--verify", "HEAD")


def run_git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def kernel_name() -> str:
    """The kernel that serves the activations on this machine."""
    from chebact import kernels
    from chebact.basis import Basis

    try:
        return kernels.choose(torch.device("cpu"), Basis(3, "extrapolate")).name
    except (ValueError, kernels.KernelUnavailableError) as error:  # CHEBACT_KERNEL asks for a kernel that cannot run
        raise LabError(f"{error}; CHEBACT_KERNEL names the kernel, and without it the choice is automatic") from error
