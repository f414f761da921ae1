"""The table of tails: every kind has a row, and the row says of its lines what numpy's polynomials say."""

import numpy
import pytest
from numpy.polynomial import Polynomial

from chebact.basis import TAIL_ROWS, Basis
from chebact.checks import TAILS
from chebact.node_positions import nodes

DEGREES = (1, 2, 3, 5, 8)
HEIGHTS = numpy.random.default_rng(0).normal(size=9)
CASES = [(kind, degree) for kind in TAILS for degree in DEGREES if TAIL_ROWS[kind].lines is not None]


def test_every_kind_of_tails_has_a_row_and_no_row_is_left_over():
    assert set(TAIL_ROWS) == set(TAILS)


@pytest.mark.parametrize(("kind", "degree"), CASES)
def test_what_a_row_says_of_its_lines_holds_for_numpys_polynomial(kind, degree):
    heights = HEIGHTS[: degree + 1]
    polynomial = Polynomial.fit(numpy.asarray(nodes(degree)), heights, degree).convert()
    lines = TAIL_ROWS[kind].lines(degree, 2, (-1.0, 1.0)) @ heights
    for end, height, slope in ((-1.0, *lines[:2]), (1.0, *lines[2:])):
        assert TAIL_ROWS[kind].joined == bool(numpy.isclose(height, polynomial(end)))
        if degree > 1:  # a straight line is its own regression
            assert TAIL_ROWS[kind].smooth == bool(numpy.isclose(slope, polynomial.deriv()(end)))


def test_a_basis_with_lines_has_four_more_pieces():
    for kind in TAILS:
        assert len(Basis(3, kind).pieces) == (8 if TAIL_ROWS[kind].lines is not None else 4)
