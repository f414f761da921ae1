"""The GPU kernel without a GPU: how it cuts a tensor, and the machine code that Triton's compiler makes of it."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from itertools import product

import pytest

from chebact.kernels import gpu
from chebact.kernels.layout import Sizes

SIZES = [Sizes(*s) for s in product((1, 3), (1, 33, 50_000), (1, 3, 37, 512), (1, 3, 15, 16, 49, 1024))]


@pytest.mark.parametrize("numbers", [1, 8, 35, 1005, 10_005])
def test_tiles_cover_the_tensor_once_and_leave_few_sums(numbers):
    for sizes in SIZES:
        most = gpu.TILE if numbers <= 8 else gpu.BARYCENTRIC_TILE
        plan = gpu._find_tiling(sizes, most, numbers, several=numbers == 8)
        rows, columns = plan.tile["ROWS"], plan.tile["COLUMNS"]
        assert plan.rows * plan.columns * sizes.replicas == sizes.replicas * sizes.outer * sizes.channels * sizes.inner
        assert plan.columns == sizes.channels * plan.repeat
        assert (plan.row_blocks - 1) * plan.steps * rows < plan.rows <= plan.row_blocks * plan.steps * rows
        assert (plan.column_blocks - 1) * columns < plan.columns <= plan.column_blocks * columns
        assert rows * columns <= most
        assert rows & (rows - 1) == columns & (columns - 1) == 0
        if plan.rows >= most:  # then a tensor of this shape may be large, and the sums must not be as large
            assert plan.row_blocks * plan.columns * min(numbers, most) <= 1.1 * plan.rows * plan.columns


def test_cut_is_wide_only_where_32_bits_do_not_reach():
    assert not gpu._find_tiling(Sizes(3, 1, 1, 2**30), gpu.TILE).tile["WIDE"]
    assert gpu._find_tiling(Sizes(1, 2, 1, 2**30), gpu.TILE).tile["WIDE"]


COMPILE = """
import json, re, sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from chebact.kernels.gpu import code as gpu_code

def code_of(name, pointer, architecture, ones, choices):
    function = getattr(gpu_code, name)
    signature, constants, hints = {}, {}, {}
    for place, argument in enumerate(function.arg_names):
        if argument in choices or argument in ones:
            signature[argument], constants[(place,)] = "constexpr", choices.get(argument, 1)
        elif argument in ("x", "grad", "out", "table", "slopes", "partial", "constants"):
            signature[argument], hints[(place,)] = pointer, [["tt.divisibility", 16]]
        else:
            signature[argument], hints[(place,)] = "i32", [["tt.divisibility", 16]]
    source = ASTSource(fn=function, signature=signature, constexprs=constants, attrs=hints)
    nvidia = isinstance(architecture, int)
    target = GPUTarget("cuda", architecture, 32) if nvidia else GPUTarget("hip", architecture, 64)
    return triton.compile(source, target=target).asm["ptx" if nvidia else "amdgcn"]

for job in json.load(sys.stdin):
    text = code_of(*job)
    words = (r"\\batom\\.|\\bred\\.|_atomic_", r"div\\.full", r"ld\\.global\\S*\\.v4|load_dwordx4")
    print(json.dumps([len(re.findall(word, text)) for word in words]))
"""
ROWS = {"ROWS": 1024, "COLUMNS": 1, "WIDE": False}
COLUMNS = {"ROWS": 64, "COLUMNS": 16, "WIDE": False}
LINES, SERIES = {"TAILS": True}, {"TAILS": False}
POWERS = LINES | {"PLAIN": True}
JOBS = [
    ("powers_forward", "*fp32", 90, ["repeat"], ROWS | POWERS),
    ("powers_forward", "*fp32", 90, ["inner", "repeat"], COLUMNS | POWERS | {"PLAIN": False}),
    ("powers_forward", "*fp32", 80, ["repeat"], ROWS | POWERS | {"WIDE": True} | SERIES),
    ("powers_backward", "*fp32", 90, ["repeat"], ROWS | POWERS),
    ("powers_backward", "*fp32", 80, ["inner", "repeat"], COLUMNS | POWERS),
    ("powers_backward", "*fp64", 80, ["inner"], COLUMNS | POWERS | SERIES),
    ("barycentric_forward", "*fp32", 90, ["repeat"], ROWS | LINES),
    ("barycentric_forward", "*fp64", 80, ["inner", "repeat"], COLUMNS | LINES),
    ("barycentric_backward", "*fp32", 90, ["repeat"], ROWS | LINES),
    ("barycentric_backward", "*fp32", 80, ["inner", "repeat"], COLUMNS | LINES | {"WIDE": True}),
    ("barycentric_forward", "*fp32", 90, ["repeat"], ROWS | SERIES),
    ("barycentric_backward", "*fp64", 80, ["inner", "repeat"], COLUMNS | SERIES),
    ("powers_backward", "*fp32", "gfx942", ["repeat"], ROWS | POWERS),
    ("barycentric_backward", "*fp32", "gfx942", ["inner", "repeat"], COLUMNS | LINES),
]


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
def test_compiler_makes_code_without_atomics_or_coarse_divisions_and_with_wide_loads(tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE],
        input=json.dumps(JOBS),
        env={**environment, "TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    for job, line in zip(JOBS, done.stdout.splitlines(), strict=True):
        atomics, coarse_divisions, wide_loads = json.loads(line)
        assert atomics == 0, job
        assert coarse_divisions == 0, job
        assert wide_loads > 0 or job[1] == "*fp64", job
