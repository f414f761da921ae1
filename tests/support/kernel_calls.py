"""Tensors for a call of a kernel, and scripts that make one in a Python of their own."""

import os
import subprocess
import sys
import textwrap

import pytest
import torch

from chebact import kernels

CPU = torch.device("cpu")
NO_CPU_KERNEL = kernels.why_not("cpu", CPU)
needs_cpu_kernel = pytest.mark.skipif(NO_CPU_KERNEL is not None, reason=f"no CPU kernel here: {NO_CPU_KERNEL}")


def tensors(*shape, degree=3):
    generator = torch.Generator().manual_seed(1)
    channels = shape[1] if len(shape) > 1 else 1
    return torch.randn(shape, generator=generator), torch.randn(channels, degree + 1, generator=generator)


def python(script, timeout=120, **environment):
    """Run a script in a Python of its own; its output, or an AssertionError with what it said."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
