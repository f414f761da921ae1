"""The library of machine code: its bits at every level, the struct that it reads, and what it needs to be loaded."""

import ctypes
import hashlib
import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support import kernel_digests
from support.kernel_calls import python

from chebact import native
from chebact.kernels.cpu.call import Call

HERE = Path(__file__).parent
needs_library = pytest.mark.skipif(native.why_not() is not None, reason=f"no library here: {native.why_not()}")
needs_x86 = pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="levels of x86-64")
VARIABLE = "ATEN_CPU_CAPABILITY"
CAPABILITIES = {"default": "x86_64_v2", "avx2": "x86_64_v3", "avx512": "x86_64_v4"}


def levels_here():
    """The levels that this processor has, lowest first."""
    own = torch.backends.cpu.get_cpu_capability().lower()
    return list(CAPABILITIES)[: list(CAPABILITIES).index(own) + 1] if own in CAPABILITIES else []


@needs_library
@pytest.mark.parametrize("level", [*levels_here()[:-1], "own"])
def test_every_level_computes_the_bits_that_are_pinned(level):
    """They were taken before the kernel was rewritten, and hold for sums too, whatever the width of registers."""
    arguments, environment = (["", "cpu"], {}) if level == "own" else (["", "cpu", "7"], {VARIABLE: level})
    script = f"import runpy, sys; sys.argv = {arguments}; runpy.run_path({kernel_digests.__file__!r}, {{}}, '__main__')"
    found = json.loads(python(script, timeout=600, **environment))
    pinned = json.loads((HERE / "digests.json").read_text())
    assert len(found) >= len(pinned) // 7
    assert {line: pinned[line] for line in found} == found


@needs_x86
@pytest.mark.parametrize(("capability", "level"), CAPABILITIES.items())
def test_level_is_what_torch_says_of_the_processor(capability, level):
    if capability not in levels_here():
        pytest.skip(f"this processor has no {capability}")
    script = "from chebact import native; print(native.level(), native.library()._name)"
    said, file = python(script, **{VARIABLE: capability}).split()
    assert said == level
    assert Path(file).stem == level


@needs_library
def test_struct_has_the_fields_and_the_offsets_that_the_library_has():
    class Field(ctypes.Structure):
        _fields_ = [("name", ctypes.c_char_p), ("offset", ctypes.c_int64)]

    names = [name for name, _ in Call._fields_]
    fields = (Field * (len(names) + 1)).in_dll(native.library(), "chebact_kernel_fields")
    assert [(field.name.decode(), field.offset) for field in fields[:-1]] == [
        (name, getattr(Call, name).offset) for name in names
    ]
    assert (fields[-1].name, fields[-1].offset) == (None, ctypes.sizeof(Call))


@needs_library
def test_library_needs_nothing_but_memory_and_mathematics_of_c():
    tool = shutil.which("nm")
    if tool is None or sys.platform != "linux":
        pytest.skip("nm lists the symbols of a library on Linux")
    for file in native.FOLDER.glob("*.so"):
        listed = subprocess.run([tool, "-D", "--undefined-only", file], capture_output=True, text=True, check=True)
        names = {line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()}
        assert names <= {"memcpy", "memset", "memmove", "fma", "fmaf"}


def rewrite(folder, change):
    """A copy of the libraries, changed; what the first call says of it in a Python of its own."""
    shutil.copytree(native.FOLDER, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest, folder / manifest["libraries"][native.level()]["file"])
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return python(f"""
        import pathlib, torch
        from chebact import kernels, native
        native.FOLDER, native.BUILDER = pathlib.Path({str(folder)!r}), pathlib.Path("nowhere")
        print(kernels.why_not("cpu", torch.device("cpu")))
        x, heights = torch.linspace(-2, 2, 8)[:, None], torch.tensor([[1.0, -1.0]])
        for _ in range(2):
            assert torch.allclose(kernels.evaluate(x, heights, kernels.Basis(1), 1, False), x)
    """)


def truncate(manifest, file):
    file.write_bytes(file.read_bytes()[:5000])


def alter(manifest, file):
    file.write_bytes(file.read_bytes().replace(b"chebact_kernel", b"chebact_cernel"))


def remove(manifest, file):
    file.unlink()


def leave_out(manifest, file):
    manifest["reason"] = "CHEBACT_BUILD=none left the compiled library out of this installation"
    del manifest["libraries"]


def take_another_processors(manifest, file):
    manifest["libraries"] = {"pdp11": manifest["libraries"][native.level()]}


def take_what_is_no_library(manifest, file):
    file.write_bytes(b"garbage" * 1000)
    manifest["libraries"][native.level()]["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()


@needs_library
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (truncate, "is missing or not the one that was built; install chebact again"),
        (alter, "is missing or not the one that was built; install chebact again"),
        (remove, "is missing or not the one that was built; install chebact again"),
        (leave_out, "CHEBACT_BUILD=none left the compiled library out of this installation"),
        (take_another_processors, "has libraries for pdp11, and none for"),
        (take_what_is_no_library, "cannot be loaded (OSError"),
    ],
)
def test_library_that_cannot_serve_is_one_sentence_and_another_kernel_runs(change, sentence, tmp_path):
    said = rewrite(tmp_path / "libraries", change).splitlines()
    assert len(said) == 1
    assert sentence in said[0]
