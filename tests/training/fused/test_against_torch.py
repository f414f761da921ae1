"""The fused trainer against torch's own autograd and optimizers, in float64: 200 steps agree to 1e-8."""

from functools import partial

import pytest
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, OneCycleLR

from chebact import ChebyshevLagrange, curvature_penalty
from chebact.networks import ARCHITECTURES, ResidualMLP
from chebact.training import AdamW, Sgd, cross_entropy, scaled_huber_error, train_replicas_
from chebact.training.replicas import absolute_error, constant_rate, huber_error, paper_sgd, squared_error

POINTS = 100  # of batches of 32: the last one has 4
TOLERANCE = 1e-8
GENTLE = Sgd(lr=0.01, momentum=0.9, weight_decay=1e-6)

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(params=["4", pytest.param("8", marks=pytest.mark.slow), "16"])
def every_width(request, monkeypatch):
    monkeypatch.setenv("CHEBACT_LANES", request.param)


def seeded(*seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def data(features=3, outputs=1):
    (generator,) = seeded(0)
    x = torch.rand(POINTS, features, generator=generator, dtype=torch.float64) * 3 - 1.5
    return x, torch.cat([torch.sin((2 + k) * x.sum(1, keepdim=True)) for k in range(outputs)], dim=1)


def compare(make, x, y, epochs=50, **options):
    """Two replicas trained by torch and by the fused trainer: the largest difference of any parameter or loss."""
    networks, runs = [make() for _ in range(2)], []
    for network, trainer in zip(networks, ("torch", "fused"), strict=True):
        settings = {"epochs": epochs, "optimizer": GENTLE, **options}
        runs.append(train_replicas_(network, x, y, order=seeded(5, 6), trainer=trainer, **settings))
    assert [run.trainer for run in runs] == ["torch", "fused"]
    assert torch.equal(runs[0].failed, runs[1].failed)
    assert not runs[0].failed.any()
    before = torch.cat([p.flatten() for p in make().parameters()])
    after = [torch.cat([p.detach().flatten() for p in network.parameters()]) for network in networks]
    assert (after[0] - before).abs().max() > 1e-4, "the training moved nothing"
    return max((after[0] - after[1]).abs().max().item(), (runs[0].losses - runs[1].losses).abs().max().item())


def maker(name="cl-extrapolate", features=3, outputs=1, **options):
    return lambda: ResidualMLP.from_table(
        name, features, outputs=outputs, replicas=2, generator=seeded(1, 2), **options
    ).double()


def named(what):
    """A name for a test that is the same in every process: no address in it."""
    if isinstance(what, partial):
        return "-".join([what.func.__name__, *(f"{name}={value}" for name, value in what.keywords.items())])
    return getattr(what, "__name__", str(what))


SERVED = [name for name in ARCHITECTURES if name != "cubic"]


@pytest.mark.parametrize("name", SERVED)
def test_every_architecture_agrees_with_torch(name):
    assert compare(maker(name), *data()) < TOLERANCE


def test_cubic_agrees_with_torch_as_long_as_it_is_finite():
    x, y = data()
    assert compare(maker("cubic", blocks=1), x / 2, y, optimizer=Sgd(lr=0.003)) < TOLERANCE


@pytest.mark.usefixtures("every_width")
@pytest.mark.parametrize("name", ["cl-regression", "tanh", "relu", "pcs-cl"])
def test_every_width_of_vectors_agrees_with_torch(name):
    assert compare(maker(name, width=20), *data()) < TOLERANCE


@pytest.mark.parametrize(
    ("name", "degree"),
    [
        ("cl-extrapolate", 1),
        ("cl-extrapolate", 2),
        pytest.param("cl-extrapolate", 4, marks=pytest.mark.slow),
        ("cl-extrapolate", 10),
        ("cl-regression", 7),
    ],
)
def test_every_degree_agrees_with_torch(name, degree):
    assert compare(maker(name, degree=degree, width=8), *data()) < TOLERANCE


@pytest.mark.parametrize("degree", [1, pytest.param(5, marks=pytest.mark.slow), 10])
def test_every_degree_without_tails_agrees_with_torch(degree):
    x, y = data()
    near = {"blocks": 1, "width": 8, "degree": degree}  # a deeper network explodes at once
    assert compare(maker("cl", **near), x / 3, y, optimizer=Sgd(lr=0.003, momentum=0.5)) < TOLERANCE


@pytest.mark.parametrize("name", ["none", "extrapolate", "regression"])
@pytest.mark.parametrize("interval", [(-0.5, 2.0), (-3.0, 3.0)])
@pytest.mark.parametrize("groups", [1, 4, None])
def test_intervals_and_groups_agree_with_torch(name, interval, groups):
    def make():
        network = maker(width=8, blocks=2)()
        for parent in [*network.blocks, network]:
            for child, module in list(parent.named_children()):
                if isinstance(module, ChebyshevLagrange):
                    kind = {"tails": name, "interval": interval, "groups": groups, "regression_nodes": 3}
                    setattr(parent, child, ChebyshevLagrange(8, replicas=2, init=torch.sin, **kind).double())
        return network

    assert compare(make, *data(), optimizer=Sgd(lr=0.001, momentum=0.9)) < TOLERANCE


@pytest.mark.parametrize("shortcut", ["add", "mean"])
@pytest.mark.parametrize(
    "shape",
    [
        {"width": 1, "blocks": 1},
        {"width": 33, "blocks": 2, "layers": 2},
        {"width": 5, "blocks": 1, "layers": 3, "features": 1},
        {"width": 16, "blocks": 2, "features": 41, "outputs": 3, "last_activation": False},
    ],
)
def test_every_shape_agrees_with_torch(shape, shortcut):
    sizes = {"features": 3, "outputs": 1, **shape}
    x, y = data(sizes["features"], sizes["outputs"])
    assert compare(maker(shortcut=shortcut, **sizes), x, y) < TOLERANCE


@pytest.mark.parametrize("batch_size", [1, 7, 100, 1000])
def test_every_batch_size_agrees_with_torch(batch_size):
    epochs = 2 if batch_size == 1 else 20
    assert compare(maker(width=12), *data(), batch_size=batch_size, epochs=epochs) < TOLERANCE


@pytest.mark.parametrize(
    "loss", [absolute_error, squared_error, huber_error, partial(huber_error, delta=0.1), scaled_huber_error], ids=named
)
@pytest.mark.parametrize("outputs", [1, 3])
def test_every_loss_of_a_distance_agrees_with_torch(loss, outputs):
    assert compare(maker(width=12, outputs=outputs), *data(outputs=outputs), loss=loss) < TOLERANCE


@pytest.mark.parametrize("classes", [2, 5, 17])
def test_cross_entropy_agrees_with_torch(classes):
    x, y = data()
    labels = ((y + 1) / 2 * classes).long().clamp(0, classes - 1)
    assert compare(maker(width=12, outputs=classes), x, labels, loss=cross_entropy) < TOLERANCE


@pytest.mark.parametrize(
    "optimizer",
    [
        paper_sgd,
        Sgd(lr=0.02),
        Sgd(lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-3),
        Sgd(lr=0.01, momentum=0.9, weight_decay=1e-3, heights_lr=0.05, heights_weight_decay=0.0),
        AdamW(lr=0.003),
        AdamW(lr=0.003, betas=(0.8, 0.99), heights_lr=0.0003),
        partial(torch.optim.Adam, lr=0.003, weight_decay=1e-2),
        partial(torch.optim.AdamW, lr=0.003, weight_decay=0.1),
    ],
    ids=named,
)
def test_every_optimizer_agrees_with_torch(optimizer):
    assert compare(maker(width=12), *data(), optimizer=optimizer, loss=squared_error) < TOLERANCE


def test_a_parameter_that_is_frozen_or_not_in_the_optimizer_stays():
    def make():
        network = maker(width=12)()
        network.first.weight.requires_grad_(False)
        return network

    def without_last_bias(parameters):
        return torch.optim.SGD(parameters[:-1], lr=0.01, momentum=0.9)

    assert compare(make, *data(), optimizer=without_last_bias) < TOLERANCE


@pytest.mark.parametrize(
    ("schedule", "by"),
    [
        (constant_rate, "epoch"),
        (constant_rate, "step"),
        (CosineAnnealingLR, "step"),
        (lambda optimizer, steps: OneCycleLR(optimizer, max_lr=0.02, total_steps=steps + 1), "step"),
        (lambda optimizer, epochs: torch.optim.lr_scheduler.StepLR(optimizer, 5), "epoch"),
    ],
)
def test_every_schedule_agrees_with_torch(schedule, by):
    assert compare(maker(width=12), *data(), schedule=schedule, schedule_by=by) < TOLERANCE


@pytest.mark.parametrize("loss", [absolute_error, cross_entropy])
def test_ragged_replicas_agree_with_torch(loss):
    x, y = (each.expand(2, *each.shape).clone() for each in data())
    if loss is cross_entropy:
        y = (y > 0).long()
    x[1, 33:], y[1, 33:] = torch.nan, 99  # must never be looked at
    outputs = 2 if loss is cross_entropy else 1
    assert compare(maker(width=12, outputs=outputs), x, y, loss=loss, points=[100, 33]) < TOLERANCE


@pytest.mark.parametrize("shape", [(POINTS,), (2, POINTS)])
@pytest.mark.parametrize("points", [None, [100, 70]])
def test_weights_agree_with_torch(shape, points):
    weights = torch.rand(shape, generator=seeded(3)[0])
    weights[..., ::3] = 0
    assert compare(maker(width=12), *data(), weights=weights, points=points) < TOLERANCE


def test_float32_is_as_near_to_float64_as_torch_is():
    x, y = data()
    exact = maker()()
    train_replicas_(exact, x, y, order=seeded(5, 6), epochs=5, optimizer=GENTLE, trainer="torch")
    errors = {}
    for trainer in ("torch", "fused"):
        network = maker()().float()
        train_replicas_(network, x.float(), y.float(), order=seeded(5, 6), epochs=5, optimizer=GENTLE, trainer=trainer)
        pairs = zip(network.parameters(), exact.parameters(), strict=True)
        errors[trainer] = max((own.double() - theirs).abs().max().item() for own, theirs in pairs)
    assert errors["fused"] < 2 * errors["torch"] + 1e-6


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_tanh_and_exp_of_vectors_are_those_of_torch(name):
    numba = pytest.importorskip("numba", reason="Numba is not installed")
    from chebact.kernels.cpu.lanes import load, store, wide_pointer
    from chebact.training.fused.ops.exponential import exponential, hyperbolic_tangent

    dtype, torch_type = getattr(numba, name), getattr(torch, name)

    def both(source, target):
        x, out = wide_pointer(source, dtype, 4), wide_pointer(target, dtype, 4)
        for i in range(0, 4096, 4):
            store(out, i, hyperbolic_tangent(load(x, i), x))
            store(out, 4096 + i, exponential(load(x, 4096 + i), x, -80.0))

    compiled = numba.cfunc(numba.void(numba.int64, numba.int64))(both)
    x = torch.stack([torch.linspace(-9, 9, 4096), -torch.linspace(0, 80, 4096)]).to(torch_type)
    x[0, :5] = torch.tensor([0.0, 1e-30, -1e-5, 50.0, -1e30])
    out = torch.empty_like(x)
    compiled.ctypes(x.data_ptr(), out.data_ptr())
    expected = torch.stack([torch.tanh(x[0].double()), torch.exp(x[1].double())])
    torch.testing.assert_close(out.double(), expected, rtol=4 * torch.finfo(torch_type).eps, atol=0)


def test_relu_agrees_with_a_loop_of_plain_torch():
    x, y = data()
    network = maker("relu", blocks=1)()
    w0, b0, w1, b1, w2, b2 = (p.detach()[0].clone().requires_grad_() for p in network.parameters())
    train_replicas_(network, x, y, order=seeded(5, 6), epochs=10, optimizer=GENTLE, trainer="fused")
    stepper = torch.optim.SGD([w0, b0, w1, b1, w2, b2], lr=0.01, momentum=0.9, weight_decay=1e-6)
    schedule, (order,) = CosineAnnealingLR(stepper, 10), seeded(5)
    for _ in range(10):
        for batch in torch.randperm(POINTS, generator=order).split(32):
            stepper.zero_grad()
            hidden = x[batch] @ w0.T + b0
            hidden = hidden + hidden.relu() @ w1.T + b1
            (hidden.relu() @ w2.T + b2 - y[batch]).abs().mean().backward()
            stepper.step()
        schedule.step()
    for own, theirs in zip((w0, b0, w1, b1, w2, b2), network.parameters(), strict=True):
        torch.testing.assert_close(theirs[0].detach(), own.detach(), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize(("name", "degree"), [("cl-extrapolate", 2), ("cl-regression", 6), ("wcp", 3)])
def test_the_curvature_penalty_agrees_with_torch(name, degree):
    assert compare(maker(name, degree=degree, width=8), *data(), curvature=1e-3, epochs=50) < TOLERANCE


@pytest.mark.usefixtures("every_width")
def test_the_curvature_penalty_of_shared_shapes_agrees_with_torch():
    shared = partial(ChebyshevLagrange, groups=2, init="relu")
    assert compare(maker(activation=shared, width=20), *data(), curvature=1e-3, epochs=10) < TOLERANCE


@pytest.mark.parametrize("trainer", ["fused", "torch"])
def test_a_heavy_curvature_penalty_leaves_straight_lines(trainer):
    network = maker()()
    x, y = data()
    train_replicas_(network, x, y, order=seeded(1, 2), epochs=30, optimizer=GENTLE, trainer=trainer, curvature=0.1)
    free = maker()()
    train_replicas_(free, x, y, order=seeded(1, 2), epochs=30, optimizer=GENTLE, trainer=trainer)
    assert (curvature_penalty(network) < 0.01 * curvature_penalty(free)).all()


@pytest.mark.usefixtures("every_width")
def test_a_bounded_gradient_agrees_with_torch():
    optimizer = Sgd(lr=0.01, momentum=0.9, heights_weight_decay=0.0)
    assert compare(maker(width=20), *data(), optimizer=optimizer, epochs=20, clip_norm=0.3, curvature=1e-3) < TOLERANCE


@pytest.mark.parametrize("trainer", ["fused", "torch"])
def test_a_bounded_gradient_is_that_of_torch_for_each_replica(trainer):
    x, y = data()
    network, plain = maker("relu", blocks=1)(), maker("relu", blocks=1)()
    train_replicas_(network, x, y, order=seeded(5, 6), epochs=3, optimizer=GENTLE, trainer=trainer, clip_norm=0.2)
    for replica in range(2):
        own = [p.detach()[replica].clone().requires_grad_() for p in plain.parameters()]
        w0, b0, w1, b1, w2, b2 = own
        stepper, (order,) = torch.optim.SGD(own, lr=0.01, momentum=0.9, weight_decay=1e-6), seeded(5 + replica)
        schedule, norms = CosineAnnealingLR(stepper, 3), []
        for _ in range(3):
            for batch in torch.randperm(POINTS, generator=order).split(32):
                stepper.zero_grad()
                hidden = x[batch] @ w0.T + b0
                hidden = hidden + hidden.relu() @ w1.T + b1
                (hidden.relu() @ w2.T + b2 - y[batch]).abs().mean().backward()
                norms.append(torch.nn.utils.clip_grad_norm_(own, 0.2).item())
                stepper.step()
            schedule.step()
        assert max(norms) > 0.2, "nothing was clipped"
        for ours, theirs in zip(network.parameters(), own, strict=True):
            torch.testing.assert_close(ours.detach()[replica], theirs.detach(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan")])
def test_a_bound_that_is_none_is_refused(bound):
    with pytest.raises(ValueError, match=r"clip_norm must be (more than zero|finite), got"):
        train_replicas_(maker()(), *data(), order=range(2), epochs=1, clip_norm=bound)
