"""The tails of the playground: its table is `basis.TAIL_ROWS` (in real Chromium), and a saved state tells them."""

import numpy
import pytest
import torch
from torch import nn

from chebact import ChebyshevLagrange
from chebact.basis import TAIL_ROWS
from chebact.lab import LabError
from chebact.lab.play.saved_models import shapes_in_model

LINES = """asked => Object.fromEntries(
  Object.keys(chebact.maths.TAILS).map((tails) => [tails, chebact.maths.basis({ ...asked, tails }).lines]))"""


@pytest.fixture
def page(open_page, written):
    return open_page(written)


@pytest.mark.parametrize("interval", [(-1.0, 1.0), (-0.5, 3.0)])
@pytest.mark.parametrize("degree", [1, 2, 3, 8])
def test_the_tail_table_of_the_page_is_that_of_the_library(page, degree, interval):
    asked = {"degree": degree, "regressionNodes": min(3, degree + 1), "interval": list(interval)}
    lines = page.evaluate(LINES, asked)
    assert list(lines) == list(TAIL_ROWS)
    buttons = "all => all.map((button) => button.value)"
    assert page.eval_on_selector_all("input[name=tails]", buttons) == list(TAIL_ROWS)
    for kind, row in TAIL_ROWS.items():
        if row.lines is None:
            assert lines[kind] is None
        else:
            expected = row.lines(degree, asked["regressionNodes"], interval)
            assert numpy.allclose(lines[kind], expected, rtol=1e-12, atol=1e-12 * numpy.abs(expected).max()), kind


@pytest.mark.parametrize("kind", TAIL_ROWS)
def test_the_page_uses_regression_nodes_where_the_library_does(page, kind):
    lines = TAIL_ROWS[kind].lines
    uses = lines is not None and not numpy.array_equal(lines(5, 2, (-1.0, 1.0)), lines(5, 4, (-1.0, 1.0)))
    assert page.evaluate("kind => Boolean(chebact.maths.TAILS[kind].usesNodes)", kind) == uses


@pytest.mark.parametrize("tails", TAIL_ROWS)
def test_a_state_dict_tells_tails_regression_nodes_and_interval(tmp_path, tails):
    activation = ChebyshevLagrange(2, degree=4, tails=tails, regression_nodes=3, interval=(0.0, 4.0))
    torch.save({"model": nn.Sequential(activation).state_dict(), "other.values": torch.ones(2, 4)}, tmp_path / "net.pt")
    layer, other = shapes_in_model(tmp_path / "net.pt")
    assert (layer.tails, layer.regression_nodes, layer.interval) == (
        tails,
        activation.basis.regression_nodes,
        (0.0, 4.0),
    )
    assert (other.tails, other.regression_nodes, other.interval) == (None, None, None)


@pytest.mark.parametrize(
    "extra",
    [
        [-1, 1, len(TAIL_ROWS), 2],
        [-1, 1, 0.5, 2],
        [-1, 1, 0, 1],
        [-1, 1, 0, 9],
        [1, -1, 0, 2],
        [-1, float("nan"), 0, 2],
    ],
)
def test_a_state_whose_options_are_impossible_is_refused_in_a_sentence(tmp_path, extra):
    state = {"a.heights": torch.ones(2, 4), "a._extra_state": torch.tensor(extra, dtype=torch.float64)}
    torch.save(state, tmp_path / "net.pt")
    with pytest.raises(LabError, match="parts are not what they should be: save it again"):
        shapes_in_model(tmp_path / "net.pt")


@pytest.mark.parametrize("extra", [torch.ones(3), torch.ones(4), {"version": 2}, None], ids=str)
def test_an_extra_state_of_another_library_says_nothing(tmp_path, extra):
    torch.save({"a.heights": torch.ones(2, 4), "a._extra_state": extra}, tmp_path / "net.pt")
    (layer,) = shapes_in_model(tmp_path / "net.pt")
    assert layer.tails is None
