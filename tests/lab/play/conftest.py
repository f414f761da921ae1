"""The playground in a browser, for all tests of this folder."""

import pytest
from support.playground import open_playground

import chebact
from chebact.lab.play.page import render


@pytest.fixture(autouse=True)
def nothing_compiled():
    with chebact.kernels.use("reference"):
        yield


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("playground") / "play.html"
    path.write_text(render(), encoding="utf-8")
    return path


@pytest.fixture
def play(open_page, written):
    """A function that opens the playground, at an address where one is given."""

    return lambda hash="", **options: open_playground(open_page, written, hash=hash, **options)
