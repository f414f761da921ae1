"""The graph of a folded activation against mpmath: all tails, intervals far from 0, every type."""

import warnings

import numpy
import pytest
import torch
from support.onnx import onnx_session
from support.truth import end_slope_weights, exact_polynomial, regression_weights
from torch import nn

import chebact
from chebact import ChebyshevLagrange

INTERVALS = [(-1.0, 1.0), (0.0, 6.0), (1000.0, 1001.0), (95.0, 105.0), (1000.1, 1001.3), (3e-5, 4e-5), (-2e3, 5e4)]
KINDS = [(degree, tails) for degree in (1, 3, 7, 12, 16) for tails in ("extrapolate", "regression", "none")]
UNIT = 2.0**-24  # of float32
PROMISE = 1e-5 / UNIT  # in units of the type


class Side(nn.Module):
    """Several activations of one x."""

    def __init__(self, parts):
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x):
        return [part(x) for part in self.parts]


def made(interval, dtype):
    parts = []
    for degree, tails in KINDS:
        rows = numpy.random.default_rng(degree).choice([-1.0, 1.0], (3, degree + 1))
        rows[2] = (-1.0) ** numpy.arange(degree + 1)  # the steepest ends
        parts.append(ChebyshevLagrange(3, degree=degree, tails=tails, interval=interval, init=rows, dtype=dtype))
    return Side(parts)


def points(interval, dtype):
    a, b = interval
    inside = numpy.random.default_rng(1).uniform(a, b, 10)
    near = [a + (b - a) * share for share in (1e-3, 1e-2, 0.99, 0.999, -0.4, 1.7)]
    x = torch.tensor([a, b, *inside, *near], dtype=torch.float64).to(dtype)
    return x[x.isfinite()].unsqueeze(1).repeat(1, 3)


def truth(x, heights, tails, interval):
    degree = len(heights) - 1
    for end, bound, outside in ((0, interval[1], x >= interval[1]), (-1, interval[0], x <= interval[0])):
        if outside and tails != "none":
            steep = end_slope_weights(degree, end, interval)
            weights = steep if tails == "extrapolate" else regression_weights(degree, 2, end, interval)
            return heights[end] + sum(w * h for w, h in zip(weights, heights, strict=True)) * (x - bound)
    return exact_polynomial(x, heights, interval)


def worst(got, x, part):
    """The largest error per unit of the largest height, which is 1, or of a larger value."""
    rows, interval = part.heights.tolist(), part.basis.interval
    largest = 0.0
    for values, places in zip(got.tolist(), x.tolist(), strict=True):
        for value, place, heights in zip(values, places, rows, strict=True):
            wanted = truth(place, heights, part.basis.tails, interval)
            largest = max(largest, float(abs(value - wanted) / max(1, abs(wanted))))
    return largest


WIDE, HALF = (torch.float32, torch.float64), (torch.bfloat16, torch.float16)
CASES = [(interval, dtype) for interval in INTERVALS for dtype in WIDE]
CASES += [(interval, dtype) for interval in INTERVALS[:3] for dtype in HALF]
SLOW = [(interval, torch.float64) for interval in INTERVALS[3:]] + [(INTERVALS[1], dtype) for dtype in HALF]
CASES = [pytest.param(*case, marks=pytest.mark.slow if case in SLOW else ()) for case in CASES]


@pytest.mark.parametrize(("interval", "dtype"), CASES, ids=str)
def test_the_exported_graph_is_mpmath_s_function_to_1e_5_or_twice_the_error_of_torch(interval, dtype):
    model, x = made(interval, dtype), points(interval, dtype)
    wanted = [part(x).detach() for part in model.parts]
    folded = chebact.fold_(made(interval, dtype))
    with warnings.catch_warnings(action="ignore"):
        outputs = torch.export.export(folded, (x,)).module()(x)
    unit = 2.0**-53 if dtype == torch.float64 else UNIT
    rounded = 0.0 if dtype in (torch.float32, torch.float64) else torch.finfo(dtype).eps / 2  # once, of the result
    for kind, part, got, plain in zip(KINDS, model.parts, outputs, wanted, strict=True):
        long = kind == (16, "none") and part.basis.interval != (-1.0, 1.0)  # products and sums alone, all the same
        least = 1.01 * rounded + (2 if long else 1) * PROMISE * unit
        error = worst(got, x, part)
        assert error <= least or error <= 2 * worst(plain, x, part), (kind, error)


def test_onnxruntime_has_the_digits_of_mpmath_far_from_zero(tmp_path):
    interval = (1000.0, 1001.0)
    model, x = made(interval, torch.float32), points(interval, torch.float32)
    session = onnx_session(chebact.fold_(made(interval, torch.float32)), (x,), tmp_path / "side.onnx", dynamic=False)
    outputs = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    for kind, part, got in zip(KINDS, model.parts, outputs, strict=True):
        assert worst(got, x, part) <= 1e-5, kind


def test_a_flat_line_of_a_narrow_interval_is_constant_up_to_the_largest_x():
    flat = ChebyshevLagrange(1, degree=2, interval=(0.0, 1e-6), init=[2.0, 2.0, 2.0])
    x = torch.tensor([[-3e38], [3e38], [1.0], [5e-7]])
    assert torch.export.export(chebact.fold_(flat), (x,)).module()(x).tolist() == [[2.0]] * 4


def test_the_graph_of_a_folded_default_has_13_operations(tmp_path):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    for options, count in (({}, 13), ({"interval": (0.5, 2.5)}, 14), ({"interval": (1000.0, 1001.0)}, 16)):
        folded = chebact.fold_(nn.Sequential(ChebyshevLagrange(8, **options)))
        onnx_session(folded, (torch.zeros(4, 8),), tmp_path / "network.onnx")
        assert len(onnx.load(str(tmp_path / "network.onnx")).graph.node) == count
