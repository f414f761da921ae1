"""What a replica becomes depends on nobody: not on its companions, on threads, on portions, nor on one that fails."""

import subprocess
import sys

import pytest
import torch

from chebact.networks import ResidualMLP
from chebact.training import AdamW, Sgd, constant_rate, train_replicas_
from chebact.training.fused import run as fused_run

SEEDS = range(5)
POINTS = (100, 33, 64, 70, 5)


def seeded(seeds):
    return [torch.Generator().manual_seed(seed) for seed in seeds]


def network(seeds, name="cl-extrapolate", **options):
    made = ResidualMLP.from_table(name, 3, replicas=len(seeds), generator=seeded(seeds), **options)
    return made.to(torch.get_default_dtype())


def data():
    x = torch.rand(len(SEEDS), 100, 3, generator=seeded([9])[0]) * 3 - 1.5
    return x, torch.sin(3 * x.sum(2, keepdim=True))


def trained(seeds, x, y, **options):
    """The network and the run of these replicas on their own rows of x and y."""
    made, own = network(seeds), list(seeds)
    settings = {"epochs": 4, "optimizer": Sgd(lr=0.01, momentum=0.9), "trainer": "fused", **options}
    if settings.get("points"):
        settings["points"] = [POINTS[seed] for seed in own]
    return made, train_replicas_(made, x[own], y[own], order=own, **settings)


def bits(made, replica):
    return torch.cat([parameter.detach()[replica].flatten() for parameter in made.parameters()])


@pytest.fixture(params=[torch.float32, torch.float64], ids=str)
def default_dtype(request):
    before = torch.get_default_dtype()
    torch.set_default_dtype(request.param)
    yield request.param
    torch.set_default_dtype(before)


@pytest.mark.usefixtures("default_dtype", "one_thread")
@pytest.mark.parametrize("points", [None, POINTS])
@pytest.mark.parametrize("optimizer", [Sgd(lr=0.01, momentum=0.9), AdamW(lr=0.01)], ids=str)
def test_together_is_alone_to_the_last_bit(points, optimizer):
    x, y = data()
    together, run = trained(SEEDS, x, y, points=points, optimizer=optimizer)
    for seed in SEEDS:
        alone, own = trained([seed], x, y, points=points, optimizer=optimizer)
        assert torch.equal(bits(together, seed), bits(alone, 0))
        assert torch.equal(run.losses[:, seed], own.losses[:, 0])


@pytest.mark.parametrize("lanes", ["4", pytest.param("8", marks=pytest.mark.slow), "16"])
def test_threads_and_portions_change_no_bit(lanes, monkeypatch):
    monkeypatch.setenv("CHEBACT_LANES", lanes)
    x, y = data()
    before, found = torch.get_num_threads(), []
    try:
        for threads, seconds in ((1, 0.2), (2, 0.2), (4, 1e-9)):
            torch.set_num_threads(threads)
            monkeypatch.setattr(fused_run, "PORTION", seconds)
            monkeypatch.setattr(fused_run, "FIRST_PORTION", 1e6 * seconds)
            made, run = trained(SEEDS, x, y, points=POINTS)
            found.append(torch.cat([*(bits(made, seed) for seed in SEEDS), run.losses.flatten()]))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


@pytest.mark.usefixtures("one_thread")  # so that the one that fails leaves its numbers in the memory of the others
@pytest.mark.parametrize("name", ["relu", "tanh", "cl-extrapolate", "cl-regression", "cl"])
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_replica_that_turns_nan_is_counted_and_touches_nobody(name, bad):
    x, y = data()
    sick_x = x.clone()
    sick_x[1, 3], sick_x[3, 50] = bad, bad
    runs, made = [], []
    for given, trainer in ((x, "fused"), (sick_x, "fused"), (sick_x, "torch")):
        made.append(network(SEEDS, name))
        settings = {"epochs": 3, "optimizer": Sgd(lr=0.001), "trainer": trainer}
        runs.append(train_replicas_(made[-1], given, y, order=SEEDS, **settings))
    assert runs[1].failed.tolist() == runs[2].failed.tolist() == [False, True, False, True, False]
    assert torch.equal(runs[1].losses.isnan(), runs[2].losses.isnan())
    for seed in (0, 2, 4):
        assert torch.equal(bits(made[0], seed), bits(made[1], seed))
        assert torch.equal(runs[0].losses[:, seed], runs[1].losses[:, seed])


@pytest.mark.usefixtures("one_thread")
def test_when_all_are_lost_it_stops():
    x, y = data()
    epochs = []
    run = train_replicas_(
        network([0]), x[:1] * torch.nan, y[:1], order=[0], epochs=50, trainer="fused",
        on_epoch=lambda epoch, losses: epochs.append(epoch),
    )  # fmt: skip
    assert epochs == [0]
    assert run.failed.all()
    assert run.losses.shape == (50, 1)
    assert run.losses.isnan().all()


@pytest.mark.usefixtures("one_thread")
def test_after_every_epoch_the_network_has_its_parameters():
    x, y = data()
    seen = []
    made = network([0])

    def look(epoch, losses):
        seen.append((bits(made, 0), losses.clone()))
        if epoch == 2:
            raise RuntimeError("enough")

    settings = {"optimizer": Sgd(lr=0.01), "schedule": constant_rate, "trainer": "fused"}
    with pytest.raises(RuntimeError, match="enough"):
        train_replicas_(made, x[:1], y[:1], order=[0], epochs=9, on_epoch=look, **settings)
    for epochs, (parameters, losses) in enumerate(seen, start=1):
        again = network([0])
        run = train_replicas_(again, x[:1], y[:1], order=[0], epochs=epochs, **settings)
        assert torch.equal(bits(again, 0), parameters)
        assert torch.equal(run.losses[-1], losses)
    assert torch.equal(bits(made, 0), seen[-1][0])


INTERRUPTED = """
import signal, time, torch
from chebact.networks import ResidualMLP
from chebact.training import train_replicas_
x = torch.rand(1000, 3)
network = ResidualMLP(3, replicas=4)
train_replicas_(network, x, x[:, :1], order=range(4), epochs=1, trainer="fused")  # compiles
before, rang = network.first.weight.clone(), []
def ring(*_):
    rang.append(time.monotonic())
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 2.0)
try:
    train_replicas_(network, x, x[:, :1], order=range(4), epochs=10**5, trainer="fused")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - rang[0] < 20, not torch.equal(before, network.first.weight))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no alarm on Windows")
@pytest.mark.fork
def test_an_interrupt_leaves_the_parameters_that_were_reached():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["interrupted", "True", "True"], done.stdout + done.stderr


FORKED = """
import os, torch
from chebact.networks import ResidualMLP
from chebact.training import train_replicas_
x = torch.rand(100, 3)
def train():
    network = ResidualMLP(3, replicas=4, generator=[torch.Generator().manual_seed(seed) for seed in range(4)])
    return train_replicas_(network, x, x[:, :1], order=range(4), epochs=2, trainer="fused").losses
expected = train()
if (child := os.fork()) == 0:
    os._exit(0 if torch.equal(train(), expected) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="there is no fork here")
@pytest.mark.fork
def test_a_forked_child_trains_to_the_same_bits():
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "0", done.stdout + done.stderr
