"""Measures of captured units against distributions and shapes whose numbers are known in closed form."""

import math

import numpy as np
import pytest
from scipy import stats

from chebact.lab.images.record import Unit
from chebact.lab.images.spec import ImageSpec
from chebact.lab.images.tables import count_epochs
from chebact.lab.images.unit_table import unit_markdown, unit_sheet
from chebact.lab.images.units import BIMODAL, UnitMeasures, count_shapes


def measured(density=stats.norm.pdf, shape=lambda x: np.maximum(x, 0), low=-6.0, high=6.0):
    """A unit with inputs of this density, in 60 bins, and this shape at 121 points, as captures have them."""
    edges = np.linspace(low, high, 61)
    counts = tuple(int(1e6 * density(x)) for x in (edges[1:] + edges[:-1]) / 2)
    points = np.linspace(low, high, 121)
    return UnitMeasures(Unit(6, 0, low, high, counts, tuple(map(float, shape(points))), None))


def test_mean_and_skewness_are_those_of_the_distribution():
    gamma = stats.gamma(4)
    unit = measured(gamma.pdf, low=0.0, high=24.0)
    assert unit.mean == pytest.approx(4, abs=0.01)
    assert unit.skewness == pytest.approx(2 / math.sqrt(4), abs=0.02)
    assert unit.reach == 24.0
    assert not unit.has_mode_inside  # it is at 3
    assert measured().has_mode_inside
    assert measured().skewness == pytest.approx(0, abs=1e-6)


def test_inputs_that_are_all_equal_are_no_bell():
    """A unit behind a channel that died: its one value is in the middle of the histogram."""
    unit = measured(lambda x: abs(x - 0.1) < 1e-9)
    assert (unit.skewness, unit.dip, unit.is_bell) == (0.0, 0.0, False)
    assert unit.mean == pytest.approx(0.1)


@pytest.mark.parametrize(("distance", "two"), [(0.5, False), (2.0, False), (4.0, True), (6.0, True)])
def test_two_bells_are_two_modes_when_they_are_far_enough_apart(distance, two):
    """A mixture of two equal bells has two modes where their means are more than two deviations apart."""
    unit = measured(lambda x: stats.norm.pdf(x, -distance / 2) + stats.norm.pdf(x, distance / 2))
    assert (unit.dip >= BIMODAL) is two
    assert unit.is_bell is not two


@pytest.mark.parametrize(
    ("shape", "name", "slopes"),
    [
        (lambda x: np.maximum(x, 0), "ReLU", (0, 1)),
        (lambda x: np.minimum(-x, 0), "ReLU", (0, -1)),
        (lambda x: np.where(x > 0, x, 0.25 * x), "PReLU", (0.25, 1)),
        (np.abs, "V", (-1, 1)),
        (lambda x: np.where(x > 1, 3 - 3 * x, 0.5 * x - 0.5), "V", (0.5, -3)),
        (np.sin, "curved", None),
        (lambda x: x**3, "curved", None),
    ],
)
def test_shapes_have_their_names(shape, name, slopes):
    unit = measured(shape=shape)
    assert unit.shape == name
    assert count_shapes([unit, unit]) == f"2 {name}"
    explained, *found = unit.two_lines
    if slopes:
        assert explained == pytest.approx(1, abs=1e-9)
        assert found == pytest.approx(slopes, abs=1e-9)
    else:
        assert explained < 0.95


def test_where_no_inputs_are_a_shape_does_not_count():
    unit = measured(shape=lambda x: np.where(np.abs(x) < 5, np.abs(x), 99.0))
    assert unit.shape == "V"
    assert measured(shape=lambda x: 0 * x).two_lines[0] == 1.0


def test_the_weaker_side_is_none_for_relu_half_for_an_even_function_and_in_between_for_prelu():
    """Of normal inputs each side has half, so slopes a and b give a^2 / (a^2 + b^2)."""
    assert measured().weaker_side == 0
    assert measured(shape=np.abs).weaker_side == pytest.approx(0.5, abs=0.01)
    prelu = measured(shape=lambda x: np.where(x > 0, x, 0.5 * x))
    assert prelu.weaker_side == pytest.approx(0.25 / 1.25, abs=0.01)
    assert measured(shape=lambda x: 0 * x).weaker_side == 0


class Made:
    """A record of what the table reads."""

    def __init__(self, units, dataset="cifar10", **choices):
        self.spec = ImageSpec(dataset, choices.pop("activation", "relu"), epochs=5, **choices)
        self.results = self
        self.captures = self
        self.after = units


def test_the_table_shows_the_shallow_units_and_in_brackets_the_deep_ones():
    bell, wide = measured().unit, measured(low=-12.0, high=12.0, shape=np.abs).unit
    shallow = [wide, bell]
    deep = [Unit(13, index, bell.low, bell.high, bell.counts, bell.shape, None) for index in range(2)]
    learned = Made([*deep, *shallow], activation="cl-extrapolate")
    records = [Made(deep, init="relu", activation="cl-extrapolate"), Made(deep, "digits"), learned]
    sheet = unit_sheet(records)
    assert [head.text for head in sheet.heads[2:]] == [
        f"CIFAR-10, {count_epochs(5)}: {name}" for name in ("CL-extrapolate", "CL-extrapolate from relu")
    ]
    cells = {row[0].text: row[2] for row in sheet.rows}
    assert (cells["farther end of the inputs"].text, cells["farther end of the inputs"].below) == ("6.0 to 12.0", "6.0")
    assert (cells["shape"].text, cells["shape"].below) == ("1 V, 1 ReLU", "2 ReLU")
    assert cells["two modes by the dip"].text == "0 of 2"
    assert "| shape | V-shape or PReLU in shallow layers | 1 V, 1 ReLU (2 ReLU) |" in unit_markdown(sheet)
    others = [Made(deep, "digits"), Made(deep, subset=64), Made(deep, start="he-uniform"), Made([])]
    assert unit_sheet(others) is None
