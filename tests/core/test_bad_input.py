"""Bad input: a TypeError or ValueError that names the argument, what came and what was wanted; never anything else."""

import math
import random

import numpy
import pytest
import torch
from torch import nn

import chebact
from chebact import ChebyshevLagrange, PrototypeSimilarity, WeightedChebyshev
from chebact.functional import chebyshev_lagrange, weighted_chebyshev

X, VALUES = torch.zeros(2, 6), torch.zeros(6, 4)
NET = nn.Sequential(nn.Linear(2, 3), ChebyshevLagrange(3))


def same(x):
    return x


CASES = [
    (lambda: ChebyshevLagrange(3)(torch.zeros(2, 5)), ValueError, ["3 channels", "(2, 5)", "5"]),
    (lambda: ChebyshevLagrange(1)(torch.zeros(2, 5)), ValueError, ["channels=1", "(2, 5)"]),
    (lambda: ChebyshevLagrange(3, groups=1)(torch.zeros(2, 5)), ValueError, ["channels=3", "(2, 5)"]),
    (lambda: WeightedChebyshev(3, groups=1)(torch.zeros(2, 5)), ValueError, ["channels=3", "(2, 5)"]),
    (lambda: PrototypeSimilarity(3)(torch.zeros(2, 5)), ValueError, ["3", "(2, 5)"]),
    (lambda: ChebyshevLagrange(3)(torch.tensor(1.0)), ValueError, ["channel_dim", "()"]),
    (lambda: ChebyshevLagrange()(torch.tensor(1.0)), ValueError, ["channel_dim", "()"]),
    (lambda: ChebyshevLagrange()(torch.zeros(2, 0)), ValueError, ["channels", "(2, 0)"]),
    (lambda: ChebyshevLagrange(3, replicas=2)(torch.zeros(3, 4, 3)), ValueError, ["replicas", "2", "(3, 4, 3)"]),
    (lambda: ChebyshevLagrange(3, channel_dim=2)(torch.zeros(2, 3)), ValueError, ["channel_dim", "2", "(2, 3)"]),
    (lambda: ChebyshevLagrange(3, degree=0), ValueError, ["degree", "0", "1"]),
    (lambda: ChebyshevLagrange(3, degree=1.5), TypeError, ["degree", "1.5", "integer"]),
    (lambda: ChebyshevLagrange(3, degree=10**9), ValueError, ["degree", "1000000000", "10000"]),
    (lambda: ChebyshevLagrange(3, degree=10**5000), ValueError, ["degree", "10000"]),
    (lambda: ChebyshevLagrange(3, degree=True), TypeError, ["degree", "bool"]),
    (lambda: ChebyshevLagrange(3, tails="regression", regression_nodes=5), ValueError, ["regression_nodes", "5", "4"]),
    (lambda: ChebyshevLagrange(3, tails="regression", regression_nodes=1), ValueError, ["regression_nodes", "1", "2"]),
    (lambda: ChebyshevLagrange(3, interval=(1.0, -1.0)), ValueError, ["interval", "1.0", "-1.0", "a < b"]),
    (lambda: ChebyshevLagrange(3, interval=(0.0, 0.0)), ValueError, ["interval", "a < b"]),
    (lambda: ChebyshevLagrange(3, interval=(math.nan, 1.0)), ValueError, ["interval", "nan", "finite"]),
    (lambda: ChebyshevLagrange(3, interval=(-math.inf, 1.0)), ValueError, ["interval", "inf", "finite"]),
    (lambda: ChebyshevLagrange(3, interval=5), TypeError, ["interval", "5", "pair"]),
    (lambda: ChebyshevLagrange(6, groups=4), ValueError, ["groups", "4", "6", "divisor"]),
    (lambda: ChebyshevLagrange(groups=4)(torch.zeros(2, 6)), ValueError, ["groups", "4", "6", "divisor"]),
    (lambda: ChebyshevLagrange(3, groups=0), ValueError, ["groups", "0", "1"]),
    (lambda: ChebyshevLagrange(3, tails="linear"), ValueError, ["tails", "'linear'", "extrapolate, regression, none"]),
    (lambda: ChebyshevLagrange(3, tails=None), TypeError, ["tails", "None", "extrapolate"]),
    (lambda: ChebyshevLagrange(3, init="mish"), ValueError, ["init", "'mish'", "relu"]),
    (lambda: ChebyshevLagrange(3, init=3), TypeError, ["init", "int", "relu"]),
    (lambda: ChebyshevLagrange(3, init=lambda x: x[:2]), ValueError, ["init", "(2,)", "(4,)"]),
    (lambda: ChebyshevLagrange(3, init=lambda x: 1.0), TypeError, ["init", "float", "tensor"]),
    (lambda: ChebyshevLagrange(3, init=lambda x: x / 0), ValueError, ["init", "finite"]),
    (lambda: ChebyshevLagrange(3, init=lambda x: x + 1j), TypeError, ["init", "complex128"]),
    (lambda: ChebyshevLagrange(3).fit_(lambda x: x.sum()), ValueError, ["()", "(4,)"]),
    (lambda: ChebyshevLagrange().fit_(torch.sin), ValueError, ["channels"]),
    (lambda: ChebyshevLagrange().to_formula(), ValueError, ["channels"]),
    (lambda: ChebyshevLagrange(3).to_formula(3), ValueError, ["channel", "3", "2"]),
    (lambda: ChebyshevLagrange(3, inplace=1), TypeError, ["inplace", "1", "True or False"]),
    (lambda: ChebyshevLagrange(3, dtype=torch.int32), TypeError, ["dtype", "int32", "float32"]),
    (lambda: ChebyshevLagrange(3)(torch.zeros(2, 3, device="meta")), ValueError, ["x", "heights", "meta", "cpu"]),
    (lambda: chebyshev_lagrange(X.to("meta"), VALUES), ValueError, ["x", "heights", "meta", "cpu"]),
    (lambda: chebact.polynomial(X.to("meta"), VALUES[0]), ValueError, ["x", "values", "meta", "cpu"]),
    (lambda: chebyshev_lagrange(X.to_sparse(), VALUES), TypeError, ["x", "sparse", "dense"]),
    (lambda: chebyshev_lagrange(X, torch.zeros(6, 1)), ValueError, ["heights", "(6, 1)", "degree"]),
    (lambda: chebyshev_lagrange(X, torch.zeros(5, 4)), ValueError, ["heights", "(5, 4)", "(2, 6)"]),
    (lambda: chebyshev_lagrange(X, torch.zeros(3, 6, 4)), ValueError, ["heights", "3 replicas", "(2, 6)"]),
    (lambda: chebact.end_slopes(VALUES, tails="none"), ValueError, ["tails", "none"]),
    (lambda: chebact.make_activation("mish", 3), ValueError, ["name", "'mish'", "cl-extrapolate"]),
    (lambda: chebact.register_activation("relu", nn.ReLU), ValueError, ["relu", "replace"]),
    (lambda: chebact.register_activation("new", 5), TypeError, ["build", "int"]),
    (lambda: chebact.parameter_groups(nn.Linear(2, 2), lr=0.1), ValueError, ["model", "ChebyshevLagrange"]),
    (lambda: chebact.parameter_groups(NET, lr=-1.0), ValueError, ["lr", "-1.0", "zero or more"]),
]


@pytest.mark.parametrize(("call", "kind", "words"), CASES, ids=[f"{k}-{'-'.join(c[2])}" for k, c in enumerate(CASES)])
def test_the_message_names_the_argument_what_came_and_what_was_wanted(call, kind, words):
    with pytest.raises(kind) as raised:
        call()
    assert all(word in str(raised.value) for word in words), str(raised.value)


WRONG = ["3", b"3", [3], (3,), {3}, {}, object(), 3j, same, int, numpy.zeros(3), torch.zeros(3), 1.5, math.nan]
ORDERS = [*WRONG, True, False, -1, -(2**70), 2**70, 2**40, 10**5000, 2.0, numpy.float64(3)]
GIVEN = [*ORDERS, 0]  # where None means that it was not given
COUNTS = [*GIVEN, None]
NUMBERS = ["0.1", b"1", None, [0.1], {}, object(), 1j, same, math.nan, math.inf, -math.inf, torch.zeros(2), -0.5]
INTERVALS = [
    *(w for w in WRONG if not isinstance(w, (torch.Tensor, numpy.ndarray))), (1,), (1, 2, 3), (1, -1), (0.0, 0.0),
    (math.nan, 1), (0, math.nan), (-math.inf, 0), (0, math.inf), ("a", "b"), "ab", (None, 1), (1j, 2), ([0], [1]),
    (0, 1e-31), (-1e30, 1e30), (0, 10**400), (torch.zeros(2), 1),
]  # fmt: skip
TENSORS = [
    None, 1.0, [0.0], "x", numpy.zeros((2, 6)), object(), torch.zeros(2, 6, dtype=torch.int64),
    torch.zeros(2, 6).bool(),
    torch.zeros(2, 6, dtype=torch.complex64), torch.zeros(2, 6).to(torch.float8_e4m3fn), torch.zeros(2, 6).to_sparse(),
]  # fmt: skip
SHAPED = [
    *TENSORS,
    torch.zeros(2, 6, device="meta"),
    torch.zeros(2, 5),
    torch.zeros(5),
    torch.zeros(3, 2, 6),
    torch.tensor(0.0),
]
HEIGHTS = [
    *TENSORS,
    torch.zeros(4),
    torch.zeros(6, 1),
    torch.zeros(6, 0),
    torch.zeros(5, 4),
    torch.zeros(0, 4),
    torch.tensor(1.0),
]
ROWS = [*TENSORS, torch.tensor(0.0), torch.zeros(1), torch.zeros(3, 0)]
TEXTS = [None, 3, 1.5, b"none", ["none"], object(), "linear", "", "NONE", "extrapolate "]
CHANNEL_DIMS = [None, "1", 1.5, 1j, [1], True, object(), 1.0]
TYPES = ["float32", 32, float, numpy.float32, torch.int8, torch.bool, torch.complex64, torch.float8_e5m2, object()]
SHAPES = [
    3, None, "mish", "", [1], object(), lambda x: x[1:], lambda x: None, lambda x: 1.0, lambda x: x / 0,
    lambda x: x > 0,
    lambda x: x.numpy(), lambda x: x[:, None], lambda x: x * 1j, lambda x: x * math.nan,
]  # fmt: skip
AXES = [5, -3, 100, -100, 2**70]

# A function, a good call, and for each argument what makes the call bad; the message may name it by another word.
TARGETS = [
    (
        lambda **k: ChebyshevLagrange(k.pop("channels"), **k),
        {"channels": 6, "degree": 3},
        {
            "channels": GIVEN, "degree": COUNTS, "tails": TEXTS, "interval": INTERVALS, "init": SHAPES,
            "groups": [*GIVEN, 4, 5, 12], "channel_dim": CHANNEL_DIMS[1:],
            "inplace": [None, 0, 1, "yes", []], "replicas": GIVEN, "dtype": TYPES,
        },
    ),
    (
        lambda **k: ChebyshevLagrange(6, tails="regression", **k),
        {"degree": 3},
        {"regression_nodes": [*COUNTS, 1, 5, 100], "degree": COUNTS, "interval": INTERVALS},
    ),
    (
        lambda **k: WeightedChebyshev(k.pop("channels"), **k),
        {"channels": 6},
        {"channels": GIVEN, "degree": COUNTS, "channel_dim": CHANNEL_DIMS[1:], "dtype": TYPES},
    ),
    (
        lambda **k: PrototypeSimilarity(k.pop("channels"), **k),
        {"channels": 3},
        {"channels": COUNTS, "channel_dim": CHANNEL_DIMS, "replicas": GIVEN, "dtype": TYPES},
    ),
    (
        lambda **k: chebyshev_lagrange(k.pop("x"), k.pop("heights"), **k),
        {"x": X, "heights": VALUES},
        {
            "x": SHAPED, "heights": HEIGHTS, "tails": TEXTS, "interval": INTERVALS,
            "channel_dim": [*CHANNEL_DIMS, *AXES],
        },
    ),
    (
        lambda **k: weighted_chebyshev(k.pop("x"), k.pop("weights"), **k),
        {"x": X, "weights": VALUES},
        {"x": SHAPED, "weights": HEIGHTS, "channel_dim": [*CHANNEL_DIMS, *AXES]},
    ),
    (lambda **k: ChebyshevLagrange(6)(k["x"]), {"x": X}, {"x": SHAPED}),
    (lambda **k: ChebyshevLagrange()(k["x"]), {"x": X}, {"x": [*TENSORS, torch.tensor(0.0), torch.zeros(2, 0)]}),
    (lambda **k: PrototypeSimilarity(6)(k["x"]), {"x": X}, {"x": SHAPED}),
    (lambda **k: chebact.nodes(**k), {"degree": 3}, {"degree": COUNTS, "interval": INTERVALS, "dtype": [*TYPES, None]}),
    (
        lambda **k: chebact.polynomial(k.pop("x"), k.pop("values"), **k),
        {"x": X, "values": VALUES[0]},
        {
            "x": [*TENSORS, X.to("meta")], "values": [*ROWS, VALUES], "derivative": [*ORDERS, None, 6],
            "interval": INTERVALS,
        },
    ),
    (
        lambda **k: chebact.end_slopes(k.pop("values"), **k),
        {"values": VALUES},
        {"values": ROWS, "tails": [*TEXTS, "none"], "interval": INTERVALS},
    ),
    (lambda **k: chebact.values_to_coefficients(**k), {"values": VALUES}, {"values": ROWS}),
    (lambda **k: chebact.coefficients_to_values(**k), {"coefficients": VALUES}, {"coefficients": ROWS}),
    (
        lambda **k: chebact.error_bound(**k),
        {"degree": 3, "largest_derivative": 1.0},
        {"degree": COUNTS, "largest_derivative": NUMBERS[:-1], "interval": INTERVALS},
    ),
    (
        lambda **k: chebact.make_activation(**k),
        {"name": "cl", "channels": 3},
        {
            "name": [None, 3, ["cl"], "", "CL", "mish", b"cl"], "channels": COUNTS, "degree": COUNTS,
            "channel_dim": CHANNEL_DIMS, "replicas": GIVEN,
        },
    ),
    (
        lambda **k: chebact.parameter_groups(**k),
        {"model": NET, "lr": 0.1},
        {
            "model": [None, 3, "net", [NET], nn.Linear(2, 2), ChebyshevLagrange], "lr": NUMBERS,
            "value_lr_scale": NUMBERS, "value_weight_decay": NUMBERS,
            "weight_decay": [n for n in NUMBERS if n is not None],
        },
    ),
]  # fmt: skip
BAD = [(target, name, bad) for target in TARGETS for name, pool in target[2].items() for bad in pool]
OTHER_WORDS = {"x": ("x",), "interval": ("interval",), "channel_dim": ("channel_dim", "axis")}


def described(target, name, bad):
    text = str(bad)[:40] if not isinstance(bad, int) else f"of {bad.bit_length()} bits"
    return f"target {TARGETS.index(target)}, {name}: {type(bad).__name__} {text}"


def check(target, name, bad, kwargs):
    """Run one bad call; what went wrong in words, or None."""
    try:
        target[0](**{**kwargs, name: bad})
    except (TypeError, ValueError) as error:
        words = OTHER_WORDS.get(name, (name,))
        if any(word in str(error) for word in words) and len(str(error)) < 600:
            return None
        return f"{described(target, name, bad)}: the message does not name it: {str(error)[:200]}"
    except BaseException as error:
        return f"{described(target, name, bad)}: {type(error).__name__}: {str(error)[:160]}"
    return f"{described(target, name, bad)}: nothing was raised"


@pytest.mark.parametrize("index", range(len(TARGETS)))
def test_the_good_calls_are_good(index):
    call, good, _ = TARGETS[index]
    call(**good)


def test_two_thousand_generated_bad_calls_raise_only_type_or_value_errors():
    """Every pool once, then draws with other good arguments varied alongside, until two thousand are done."""
    random_state = random.Random(2)
    problems = [check(target, name, bad, target[1]) for target, name, bad in BAD]
    while len(problems) < 2000:
        target, name, bad = random_state.choice(BAD)
        extra = {"degree": random_state.choice([1, 2, 3, 7, numpy.int64(3)])} if "degree" in target[1] and name not in (
            "degree", "regression_nodes") else {}  # fmt: skip
        if "interval" in target[2] and name != "interval":
            extra["interval"] = random_state.choice([(-1, 1), (0.0, 2.0), [-3, 4], numpy.array([-1.0, 1.0])])
        problems.append(check(target, name, bad, {**target[1], **extra}))
    found = sorted({problem for problem in problems if problem})
    assert not found, f"{len(found)} of {len(problems)}:\n" + "\n".join(found)
