"""Code that Numba compiles and keeps on disk: broken files are written anew, and no folder is no error."""

import re
import shutil

import pytest
from support.kernel_calls import python

from chebact.kernels.cpu import compiler

needs_numba = pytest.mark.skipif(compiler.why_not() is not None, reason="Numba does not compile here")

LOAD = """
    import logging, sys
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stdout)
    from chebact.ranges.scan import _program
    for step in ("finish", "push", "push_last"):
        for double in (False, True):
            assert _program(step, double)._entry
    """


def files_in(folder):
    return {file.name: (file.stat().st_mtime_ns, file.read_bytes()) for file in folder.rglob("*.nb[ic]")}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder in which the first process compiled, and what that process said."""
    folder = tmp_path_factory.mktemp("compiled")
    return folder, python(LOAD, NUMBA_CACHE_DIR=str(folder))


@needs_numba
def test_broken_files_are_written_anew_once_and_said_once(compiled, tmp_path):
    shutil.copytree(compiled[0], tmp_path, dirs_exist_ok=True)
    environment = {"NUMBA_CACHE_DIR": str(tmp_path)}
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
    assert re.search(rf"WARNING the compiled code in {tmp_path}\S* was broken \(.*\) and has been written anew", said)
    mended = files_in(tmp_path)
    assert len(mended) == 12
    assert "WARNING" not in python(LOAD, **environment)
    assert files_in(tmp_path) == mended  # read, not compiled


@needs_numba
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
