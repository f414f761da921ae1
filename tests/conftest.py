"""What all tests share: the kernels that run on this machine, a browser, and the markers that follow from a test."""

import os

import pytest
from support.bfloat16 import in_words, prepare

BFLOAT16 = prepare()  # before torch is imported, which reads its environment then

import torch  # noqa: E402

if not torch.cuda.is_available():  # decided when Triton is imported, and other tests import it too
    os.environ.setdefault("TRITON_INTERPRET", "1")

from chebact import kernels  # noqa: E402

pytest_plugins = ["support.browser"]  # the fixtures `chromium` and `open_page`

CPU = torch.device("cpu")
HERE = [name for name in kernels.NAMES if name != "gpu"]  # that one has tests of its own, in Triton's interpreter
RUNNING = [name for name in HERE if kernels.why_not(name, CPU) is None]


@pytest.fixture(params=RUNNING)
def kernel(request):
    """The name of a kernel that runs here; within the test it is the one asked for."""
    with kernels.use(request.param):
        yield request.param


def pytest_report_header():
    """What the session says of this machine."""
    return in_words(BFLOAT16)


@pytest.fixture
def bfloat16_products():
    """A test that multiplies matrices or convolves in bfloat16 and would take its process along where that dies."""
    if BFLOAT16 == "dies":
        pytest.skip("products in bfloat16 kill the process on this processor")


@pytest.fixture
def one_thread():
    """Small tensors: a second thread only waits, and on a busy machine for long."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def threads_by_folder(request):
    """All threads for the tests of kernels and functions, which are about them; one for the rest (two processes run the
    tests, and on a busy machine a second thread mostly waits: the quickstart took ten minutes in place of half a one).
    """
    if request.path.relative_to(request.config.rootpath).parts[1] not in ("core", "kernels"):
        request.getfixturevalue("one_thread")


def longest_first(items, root):
    """The contract of the kernels first: it compiles most of the code, for minutes. Then the folders from the last to
    the first, so that a second process has files that need little of that code meanwhile, and short files at the end.
    """
    items.sort(key=lambda item: item.path.relative_to(root).parts[1], reverse=True)
    items.sort(key=lambda item: item.path.name != "test_contract.py")


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(config, items):
    """Mark what opens a browser or interprets the GPU kernel; leave out the slow ones unless -m speaks of them."""
    for item in items:
        if {"chromium", "open_page"} & set(item.fixturenames):
            item.add_marker("browser")
        called = getattr(item, "callspec", None)
        if called and called.params.get("name") == "gpu" and not torch.cuda.is_available():
            item.add_marker("gpu_interpreter")
    if "slow" not in config.option.markexpr:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("slow")])
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
    longest_first(items, config.rootpath)
