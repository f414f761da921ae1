"""Compiled code on disk: broken files are written anew, no folder is no error, and what takes long is said."""

import re
import shutil

import pytest
from support.kernel_calls import needs_cpu_kernel, python

LOAD = """
    import logging, sys
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stdout)
    from chebact.kernels.cpu.compiler import program
    for form in ("cubic", "wide", "nodes"):
        for double in (False, True):
            assert program("finish", form, double, False, True, False, False)._entry
    """
CALL = """
    import torch
    from chebact.functional import chebyshev_lagrange
    x, values = torch.linspace(-2, 2, 8)[:, None], torch.tensor([[1.0, -1.0]])
    assert torch.allclose(chebyshev_lagrange(x, values), x)
    """


def files_in(folder):
    return {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in folder.rglob("*.nb[ic]")}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder in which the first process compiled, and what that process said."""
    folder = tmp_path_factory.mktemp("compiled")
    return folder, python(LOAD, NUMBA_CACHE_DIR=str(folder), CHEBACT_KERNEL="cpu")


@needs_cpu_kernel
def test_broken_files_are_written_anew_once_and_said_once(compiled, tmp_path):
    shutil.copytree(compiled[0], tmp_path, dirs_exist_ok=True)
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "CHEBACT_KERNEL": "cpu"}
    assert "WARNING" not in compiled[1]
    indices, data = sorted(tmp_path.rglob("*.nbi")), sorted(tmp_path.rglob("*.nbc"))
    assert len(indices) == len(data) == 6  # a kind of call has files of its own
    indices[0].write_bytes(b"")
    indices[1].write_bytes(indices[1].read_bytes()[:-20])
    indices[2].write_bytes(b"garbage" * 100)
    data[3].write_bytes(data[3].read_bytes()[:1000])
    data[4].write_bytes(b"garbage" * 100)
    data[5].unlink()
    said = python(LOAD, **environment)
    assert said.count("WARNING") == 1
    assert re.search(
        rf"WARNING the compiled CPU kernel in {tmp_path}\S* was broken \(.*\) and has been written anew", said
    )
    mended = files_in(tmp_path)
    assert len(mended) == 12
    assert "WARNING" not in python(LOAD, **environment)
    assert files_in(tmp_path) == mended  # read, not compiled


@needs_cpu_kernel
def test_folder_that_cannot_be_written_is_no_error_and_said_once(tmp_path):
    """A folder below a file can be made by nobody, root included."""
    (tmp_path / "file").write_text("")
    environment = {
        "NUMBA_CACHE_DIR": str(tmp_path / "file" / "cache"),
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",  # nor beside the source or in the user's folder
    }
    said = python(LOAD, **environment)
    assert said.count("WARNING") == 1
    assert "cannot be kept on disk" in said
    assert "NUMBA_CACHE_DIR" in said
    python(CALL, CHEBACT_KERNEL="cpu", **environment)


@needs_cpu_kernel
def test_first_use_says_before_that_it_takes_long_and_after_how_long_it_took(compiled):
    said = compiled[1].splitlines()
    assert said[0].startswith("INFO preparing the CPU kernel: what is not on disk yet is compiled")
    assert re.fullmatch(r"INFO the CPU kernel is ready \(finish, float32\) after \d+\.\d s", said[1])
    assert sum("preparing" in line for line in said) == 1
