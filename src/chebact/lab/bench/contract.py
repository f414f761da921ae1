"""The contract tests of the kernels, which come before every timing: a wrong kernel has no speed."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from chebact.lab import LabError

__all__ = ["CONTRACT", "run_contract_tests", "why_not_tested"]

CONTRACT = Path(__file__).parents[4] / "tests" / "kernels" / "test_contract.py"


def why_not_tested() -> str | None:
    """Why the contract tests cannot be run here, or None."""
    if not CONTRACT.is_file():
        return "this chebact was not installed from its source tree"
    return "pytest is not installed" if find_spec("pytest") is None else None


def run_contract_tests() -> None:
    """Run them in a process of their own; a LabError when they are not all green."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(CONTRACT)]
    if find_spec("xdist") is not None:
        command += ["-n", "2"]
    done = subprocess.run(command, cwd=CONTRACT.parents[2], capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        last = lines[-1].strip("= ") if lines else f"exit code {done.returncode}"
        raise LabError(
            f"the contract tests of the kernels are not green ({last}), so nothing was timed: "
            f"see `python3 dev.py test tests/kernels/{CONTRACT.name}`, or leave them out with --no-tests"
        )
