"""The studies of the guide: each is a list of settings. Change one, and its records are made anew."""

from __future__ import annotations

from settings import DEFAULT, FIXED, INITS, Model, Setting, chebact

ADAM = (0.001, 0.003, 0.01, 0.03)
STEPS = {"adam": (0.001, 0.01), "sgd": (0.01, 0.1), "paper": (0.01,)}
DEPTHS = (2, 4, 6, 9, 12)
CANDIDATES = (*(chebact(init) for init in INITS), Model("relu"), Model("gelu"))


def init() -> list[Setting]:
    """Every start of the heights, and the fixed functions, in every kind of network."""
    stacks = [
        Setting("init", network, "waves", optimizer, step, CANDIDATES, depth=depth, seeds=4)
        for network in ("plain", "residual")
        for depth in DEPTHS
        for optimizer in ("adam", "sgd")
        for step in STEPS[optimizer]
    ]
    paper = [
        Setting("init", "residual", task, "paper", 0.01, CANDIDATES, depth=4, epochs=100, noise=0.01)
        for task in ("pendulum", "gravity")
    ]
    images = [
        Setting("init", "cnn", "digits", optimizer, step, CANDIDATES, epochs=12, batch=64, seeds=3)
        for optimizer in ("adam", "sgd")
        for step in STEPS[optimizer]
    ]
    sequences = [
        Setting("init", "transformer", "sorting", "adam", step, CANDIDATES, epochs=8, batch=64, seeds=3)
        for step in (0.001, 0.005)
    ]
    return stacks + paper + images + sequences


def norm() -> list[Setting]:
    """Layer norm and batch norm before every activation; `init` has the same without."""
    models = (*(chebact(start) for start in ("zeros", "relu", "gelu", "tanh")), Model("relu"), Model("gelu"))
    stacks = [
        Setting("norm", network, "waves", "adam", step, models, depth=6, norm=kind, seeds=3)
        for network in ("plain", "residual")
        for kind in ("layer", "batch")
        for step in STEPS["adam"]
    ]
    images = [
        Setting("norm", "cnn", "digits", "adam", step, models, norm="batch", epochs=12, batch=64, seeds=3)
        for step in STEPS["adam"]
    ]
    return stacks + images


def toy() -> list[Setting]:
    """The README's toy: 2-32-32-1 on 1,000 points, clean and with noise, at five step sizes."""
    models = (*(Model(name) for name in FIXED), *(chebact(degree=degree) for degree in (3, 5, 9)))
    return [
        Setting("toy", "plain", "waves", "adam", step, models, epochs=200, noise=noise)
        for noise in (0.0, 0.1)
        for step in (*ADAM, 0.1)
    ]


def degree() -> list[Setting]:
    """Degrees 1 to 9 in the toy and in a residual stack."""
    models = tuple(chebact(degree=degree) for degree in range(1, 10))
    return [
        Setting("degree", network, "waves", "adam", step, models, depth=depth, noise=noise, seeds=3)
        for network, depth, noise in (("plain", 2, 0.0), ("plain", 2, 0.1), ("residual", 6, 0.0))
        for step in (0.003, 0.01)
    ]


def step() -> list[Setting]:
    """The step size of the heights as a multiple of the weights', from two starts."""
    some, more = (
        tuple(chebact(start, heights_step=scale) for start in ("zeros", DEFAULT) for scale in scales)
        for scales in ((0.0, 0.1, 0.3, 1.0, 3.0), (10.0,))
    )
    return [
        Setting("step", network, "waves", optimizer, step, models, depth=depth, seeds=3)
        for models in (some, more)
        for network, depth in (("plain", 2), ("residual", 6))
        for optimizer in ("adam", "sgd")
        for step in STEPS[optimizer]
    ]


def decay() -> list[Setting]:
    """Weight decay that reaches the heights, or not."""
    models = tuple(chebact(start, heights_decay=reaches) for start in ("zeros", DEFAULT) for reaches in (False, True))
    return [
        Setting("decay", network, "waves", "adam", 0.003, models, depth=depth, decay=amount, noise=0.1, seeds=3)
        for network, depth in (("plain", 2), ("residual", 6))
        for amount in (0.01, 0.1, 1.0)
    ]


def interval() -> list[Setting]:
    """Inputs of other sizes, and nodes on other intervals."""
    models = (*(chebact(half_width=half) for half in (0.5, 1.0, 2.0, 4.0)), Model("gelu"), Model("relu"))
    return [
        Setting("interval", network, "waves", "adam", step, models, depth=depth, scale=scale, seeds=3)
        for network, depth in (("plain", 2), ("residual", 6))
        for scale in (0.1, 1.0, 10.0)
        for step in STEPS["adam"]
    ]


def beside() -> list[Setting]:
    """The picture of the README: one small network on noisy points of a function of one variable."""
    models = (Model("relu"), Model("tanh"), chebact())
    return [
        Setting("beside", "plain", "ripple", "adam", step, models, width=8, epochs=1000, noise=0.1)
        for step in (*ADAM, 0.1)
    ]


STUDIES = {study.__name__: study for study in (init, norm, toy, degree, step, decay, interval, beside)}
