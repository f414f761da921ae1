"""Image training: restarts that change no bit, the schedule, the log, precision, and two processes as one."""

import csv
import hashlib
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import nn

from chebact.lab.checkpoint import CheckpointError, checkpoints
from chebact.lab.images.ddp import SINGLE_PROCESS, TeamError, join_team
from chebact.lab.images.log import Log
from chebact.lab.images.network import ShakeShakeResNet
from chebact.lab.images.sets import IMAGE_DATASETS, ImageSet, load_images
from chebact.lab.images.spec import ImageSettings
from chebact.lab.images.training import GENERATORS, BatchError, ImageTraining, check_batches

DIGITS = IMAGE_DATASETS["digits"]


pytestmark = pytest.mark.usefixtures("one_thread")


def training(folder=None, *, epochs=4, network=None, images=96, identity=None, team=SINGLE_PROCESS, **settings):
    """A small network with shake-shake and a learned activation on some of the digits."""
    network = network or ShakeShakeResNet(
        1,
        activation="cl-extrapolate",
        widths=(4, 6, 8, 10),
        blocks=1,
        where=range(2, 8),
        generator=torch.Generator().manual_seed(0),
    )
    drawn = {name: torch.Generator().manual_seed(index) for index, name in enumerate(GENERATORS)}
    data = [load_images("digits", part).head(images) for part in ("train", "test")]
    settings = ImageSettings(**{"epochs": epochs, "batch_size": 40, **settings})
    return ImageTraining(network, *data, DIGITS, settings, drawn, folder=folder, identity=identity or {}, team=team)


def weights(own):
    digest = hashlib.sha256()
    for name, value in sorted(own.network.state_dict().items()):
        digest.update(name.encode() + value.contiguous().numpy().tobytes())
    return digest.hexdigest()


class StopError(Exception):
    pass


@pytest.mark.parametrize(
    ("where", "cosine"), [((1, 2), "epoch"), ((2, 1), "step"), ((3, 3), "epoch"), ((4, 3), "step")]
)
def test_stopped_anywhere_and_started_again_it_ends_with_the_same_bits(where, cosine, tmp_path):
    whole = training(cosine=cosine)
    expected = whole.run()

    def stop(epoch, step, steps):
        if (epoch, step) == where:
            raise StopError

    with pytest.raises(StopError):
        training(tmp_path, cosine=cosine).run(on_step=stop)
    assert len(checkpoints(tmp_path)) == min(where[0] - 1, 2)
    again = training(tmp_path, cosine=cosine)
    found = again.run()
    assert weights(again) == weights(whole)
    timeless = [
        [(e.learning_rate, e.train_loss, e.test_loss, e.test_accuracy) for e in run] for run in (expected, found)
    ]
    assert timeless[0] == timeless[1]


KILLED = """
import sys, torch
sys.path.insert(0, {tests!r})
torch.set_num_threads(1)
from pathlib import Path
import test_training as own
run = own.training(Path({folder!r}))
run.run(on_step=lambda epoch, step, steps: print(epoch, step, flush=True))
print(own.weights(run))
"""


@pytest.mark.fork
def test_killed_without_warning_and_started_again(tmp_path):
    code = KILLED.format(tests=str(Path(__file__).parent), folder=str(tmp_path))
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    for line in child.stdout:
        if line.split() == ["3", "1"]:
            break
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    assert checkpoints(tmp_path)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    whole = training()
    whole.run()
    lines = done.stdout.split("\n")
    assert lines[0].split()[0] in ("2", "3")  # not from the beginning
    assert lines[-2] == weights(whole)


def test_a_finished_training_is_not_run_again(tmp_path):
    first = training(tmp_path, epochs=2)
    first.run()
    again = training(tmp_path, epochs=2)
    start = time.perf_counter()
    assert len(again.run(on_step=lambda *_: pytest.fail("a step was made"))) == 2
    assert time.perf_counter() - start < 5
    assert weights(again) == weights(first)


def test_a_checkpoint_of_another_network_is_refused_and_left(tmp_path):
    training(tmp_path, epochs=1, identity={"activation": "cl-extrapolate"}).run()
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(CheckpointError, match="activation is 'cl-extrapolate' there and 'relu' here"):
        training(tmp_path, epochs=1, identity={"activation": "relu"}).run()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_checkpoint_of_another_shape_is_refused_without_an_identity_too(tmp_path):
    training(tmp_path, network=linear(), epochs=1).run()
    with pytest.raises(CheckpointError, match="is of another network"):
        training(tmp_path, epochs=1).run()


@pytest.mark.parametrize("size", ["2", "two"])
def test_a_team_that_nobody_started_is_one_sentence(size, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", size)
    with pytest.raises(TeamError, match=f"WORLD_SIZE={size}, but RANK.*unset WORLD_SIZE"), join_team():
        pass


def test_the_step_size_is_a_cosine_by_epoch_and_the_optimizer_nesterovs():
    own = training(epochs=5)
    rates = [epoch.learning_rate for epoch in own.run()]
    assert rates == pytest.approx([0.05 * (1 + math.cos(math.pi * epoch / 5)) for epoch in range(5)], rel=1e-6)
    group = own.optimizer.param_groups[0]
    assert (group["nesterov"], group["momentum"], group["weight_decay"]) == (True, 0.9, 1e-4)
    assert group["lr"] == pytest.approx(0, abs=1e-12)


def test_the_cosine_by_step_falls_within_an_epoch():
    own, rates = training(epochs=2, cosine="step"), []
    own.run(on_step=lambda epoch, step, steps: rates.append(own.optimizer.param_groups[0]["lr"]))
    assert rates == pytest.approx([0.05 * (1 + math.cos(math.pi * step / 6)) for step in range(1, 7)], abs=1e-12)
    assert [epoch.learning_rate for epoch in own.history] == pytest.approx([0.1, 0.05])


def test_an_epoch_has_every_image_once_and_the_next_another_order():
    own = training()
    own.train = ImageSet(own.train.images, torch.arange(len(own.train)))
    orders = [torch.cat([labels for _, labels, _ in own.batches()]).tolist() for _ in range(2)]
    assert [sorted(order) for order in orders] == [list(range(96))] * 2
    assert orders[0] != orders[1]


@pytest.mark.usefixtures("bfloat16_products")
def test_bfloat16_computes_in_it_and_learns_alike():
    losses = {}
    for precision in ("float32", "bfloat16"):
        own = training(epochs=3, images=200, precision=precision, learning_rate=0.02)
        seen = set()
        own.network.blocks[0].first[3].register_forward_pre_hook(lambda _, given, seen=seen: seen.add(given[0].dtype))
        losses[precision] = [epoch.train_loss for epoch in own.run()]
        assert seen == {getattr(torch, precision)}
        assert {parameter.dtype for parameter in own.network.parameters()} == {torch.float32}
    assert losses["bfloat16"] == pytest.approx(losses["float32"], rel=0.05)
    assert losses["bfloat16"] != losses["float32"]
    assert losses["bfloat16"][-1] < losses["bfloat16"][0]


def test_channels_last_and_first_train_alike():
    one, two = (training(epochs=1, images=40, channels_last=each, learning_rate=1e-3) for each in (True, False))
    assert one.network.first.weight.stride() != two.network.blocks[0].first[1].weight.stride()
    losses = [each.run()[0].train_loss for each in (one, two)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def test_a_loss_that_is_not_finite_ends_the_training():
    own = training(epochs=5, learning_rate=1e20)
    history = own.run()
    assert own.failed
    assert len(history) < 5


def test_log_and_curves(tmp_path):
    own = training(epochs=2)
    history = own.run()
    Log(tmp_path).write(history)
    with (tmp_path / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows] == [1, 2]
    assert float(rows[1]["test_accuracy"]) == history[1].test_accuracy
    pytest.importorskip("tensorboard")
    log = Log(tmp_path, tensorboard=True)
    for epoch in history:
        log.add(history[: epoch.epoch])
    log.close(history)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    shown = EventAccumulator(str(tmp_path / "tensorboard"))
    shown.Reload()
    losses = [event.value for event in shown.Scalars("train_loss")]
    assert losses == pytest.approx([epoch.train_loss for epoch in history])


@pytest.mark.parametrize(("images", "batch", "team"), [(10, 4, 3), (1, 4, 2), (10, 0, 1), (0, 4, 1)])
def test_sizes_that_do_not_go_together(images, batch, team):
    with pytest.raises(BatchError):
        check_batches(images, batch, 1, team)


def test_generators_must_be_there():
    with pytest.raises(ValueError, match="shake is missing"):
        ImageTraining(
            nn.Flatten(),
            *[load_images("digits", "test")] * 2,
            DIGITS,
            ImageSettings(),
            dict.fromkeys(["order", "moves"]),
        )


def linear():
    """No batch norm and no shaking: what two processes make of it must be what one does."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))


TOGETHER = """
import sys, torch
sys.path.insert(0, {tests!r})
torch.set_num_threads(1)
from pathlib import Path
import test_training as own
from chebact.lab.images.ddp import join_team
with join_team() as members:
    folder = Path({folder!r})
    plain = own.training(network=own.linear(), epochs=2, images=95, team=members)
    seen = []
    step = plain.step_
    plain.step_ = lambda x, labels, count: (seen.append(x.flatten(1)), step(x, labels, count))[1]
    history = plain.run()
    losses = [epoch.test_loss for epoch in history]
    torch.save((torch.cat(seen), plain.network.state_dict(), losses), folder / f"plain-{{members.rank}}")
    full = own.training(folder / "full", epochs=2, team=members)
    full.run()
    torch.save(full.network.state_dict(), folder / f"full-{{members.rank}}")
    half = own.training(folder / "half", epochs=2, team=members)
    def stop(epoch, step, steps):
        if (epoch, step) == (2, 2): raise own.StopError
    try: half.run(on_step=stop)
    except own.StopError: pass
    again = own.training(folder / "half", epochs=2, team=members)
    again.run()
    torch.save(again.network.state_dict(), folder / f"again-{{members.rank}}")
"""


@pytest.mark.skipif(not torch.distributed.is_gloo_available(), reason="this torch has no gloo")
@pytest.mark.fork
def test_two_processes_are_one_team(tmp_path):
    script = tmp_path / "together.py"
    script.write_text(TOGETHER.format(tests=str(Path(__file__).parent), folder=str(tmp_path)))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    alone = training(network=linear(), epochs=2, images=95)
    seen, step = [], alone.step_
    alone.step_ = lambda x, labels, count: (seen.append(x.flatten(1)), step(x, labels, count))[1]
    losses = [epoch.test_loss for epoch in alone.run()]
    parts = [torch.load(tmp_path / f"plain-{rank}") for rank in (0, 1)]
    rows = sorted(tuple(row) for part in parts for row in part[0].tolist())
    assert rows == sorted(tuple(row) for row in torch.cat(seen).tolist())  # the same images, moved alike
    for _, state, found in parts:
        torch.testing.assert_close(state, dict(alone.network.state_dict()), rtol=1e-4, atol=1e-6)
        assert found == pytest.approx(losses, rel=1e-5)
    for name in ("full", "again"):
        one, two = (torch.load(tmp_path / f"{name}-{rank}") for rank in (0, 1))
        assert all(torch.equal(one[key], two[key]) for key in one)
    full, again = (torch.load(tmp_path / f"{name}-0") for name in ("full", "again"))
    assert all(torch.equal(full[key], again[key]) for key in full)
