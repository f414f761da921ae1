"""The kernel compiled for aarch64 and run by qemu: the same bits as on this processor.

torch is not there, so calls are written to files, and a small C program makes them.
"""

import ctypes
import itertools
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support import kernel_digests as pinned

from chebact import native
from chebact.basis import Basis, basis_of
from chebact.kernels.cpu.call import BACKWARD, FINISH, FORWARD, TABLES, Pass
from chebact.kernels.layout import Sizes

ROOT = Path(__file__).resolve().parents[2]
QEMU = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
SIZES = (Sizes(1, 5, 3, 71), Sizes(1, 7, 37, 1), Sizes(3, 7, 16, 1), Sizes(2, 130, 5, 7), Sizes(1, 3, 1, 2000))
pytestmark = [
    pytest.mark.skipif(QEMU is None, reason="qemu-user is not installed"),
    pytest.mark.skipif(native.why_not() is not None, reason=f"no library here: {native.why_not()}"),
]


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """The program with the kernel in it, for aarch64 and without shared libraries."""
    pytest.importorskip("ziglang")
    flags = runpy.run_path(str(ROOT / "native" / "build.py"))["FLAGS"]
    folder = tmp_path_factory.mktemp("aarch64")
    target = ["-target", "aarch64-linux-musl", "-mcpu=generic"]
    zig = [sys.executable, "-m", "ziglang", "cc", *target]
    library = [flag for flag in flags if flag not in ("-shared", "-s", "-nostdlib++")]
    subprocess.run(
        [*zig, "-x", "c++", *library, "-c", ROOT / "native" / "kernel.cpp", "-o", folder / "k.o"], check=True
    )
    source = ROOT / "tests" / "support" / "kernel_driver.c"
    subprocess.run([*zig, "-O2", source, folder / "k.o", "-o", folder / "driver"], check=True)
    return folder / "driver"


def run_there(driver, step, basis, sizes, tensors):
    """What a pass writes on aarch64, as bytes: x's gradient or value, then the gradient of the heights."""
    x, grad, heights = tensors
    one = Pass(step, basis, sizes, x.dtype)
    one._call.steps = TABLES | step | FINISH
    blocks = [each.contiguous().view(torch.uint8).numpy().tobytes() for each in (x, grad, heights, *one._read)]
    lengths = [*map(len, blocks), x.nbytes, heights.nbytes, ctypes.sizeof(one._call)]
    call, results = driver.with_name("call"), driver.with_name("results")
    call.write_bytes(b"".join([*((n).to_bytes(8, "little") for n in lengths), bytes(one._call), *blocks]))
    subprocess.run([QEMU, driver, call, results], check=True, timeout=60)
    return results.read_bytes()


def bits(tensor):
    return tensor.contiguous().view(torch.uint8).numpy().tobytes()


@pytest.mark.parametrize("dtype", pinned.TYPES, ids=str)
@pytest.mark.parametrize("degree", [1, 2, 3, 5, 9, 16, 17, 40])
def test_bits_on_aarch64_are_those_here(degree, dtype, driver):
    for tails, sizes in itertools.product(pinned.TAILS, SIZES):
        options = (degree, tails, 2, (-1.0, 1.0) if sizes.inner > 1 else (-3.0, 5.0), "values", 0)
        basis, (x, grad, heights) = basis_of(Basis(*options)), pinned.tensors(options, sizes, dtype)
        plan, out, for_x = Pass(FORWARD, basis, sizes, dtype), torch.empty_like(x), torch.empty_like(x)
        plan.run(x, None, heights, out, None)
        assert run_there(driver, FORWARD, basis, sizes, (x, grad, heights))[: out.nbytes] == bits(out)
        for_heights = torch.empty_like(heights)
        Pass(BACKWARD, basis, sizes, dtype).run(x, grad, heights, for_x, for_heights)
        assert run_there(driver, BACKWARD, basis, sizes, (x, grad, heights)) == bits(for_x) + bits(for_heights)
