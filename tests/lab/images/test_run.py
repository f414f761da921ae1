"""The image experiment as its user meets it: the command, its record, restarts, bad input, and the report."""

import csv
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from chebact.files import exclusive_lock
from chebact.lab import LabError
from chebact.lab.checkpoint import checkpoints
from chebact.lab.cli import run_command
from chebact.lab.images.capture import capture
from chebact.lab.images.figures import draw_curves
from chebact.lab.images.network import ShakeShakeResNet
from chebact.lab.images.published import IMAGES
from chebact.lab.images.record import Captures, Curves, EpochTimes, ImageRecord, ImageResults, Seed
from chebact.lab.images.report_command import capture_names
from chebact.lab.images.rows import kruskal_wallis, rows_of
from chebact.lab.images.run import run_images
from chebact.lab.images.spec import ImageSpec
from chebact.lab.images.tables import markdown
from chebact.lab.images.unit_table import unit_markdown, unit_sheet
from chebact.lab.page.sheet import as_json
from chebact.lab.record import Environment
from chebact.lab.stats import summarize
from chebact.lab.store import read_record, records_under

ROOT = Path(__file__).parents[3]
COHORT = ImageSpec("digits", "cl-extrapolate", seeds=1, epochs=2, subset=64)


pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_command_writes_a_record_that_the_report_shows(tmp_path, capsys):
    output = tmp_path / "images"
    arguments = ["run", "images", "--subset", "64", "--epochs", "1", "--seeds", "2", "--results", str(output)]
    assert run_command([*arguments, "--tensorboard"]) == 0
    told = capsys.readouterr().err
    assert "relu on digits, test accuracy:" in told
    record = read_record(output / "digits" / "cl-extrapolate-1-epochs-of-64.json")
    assert record.spec["shake"] is False
    assert record.results["parameters"] == 1_398_314
    assert record.results["images"] == {"train": 64, "test": 360}
    for seed in record.results["seeds"]:
        assert round(360 * seed["accuracy"]) == pytest.approx(360 * seed["accuracy"], abs=1e-5)
        assert seed["curves"]["test_accuracy"] == [seed["accuracy"]]
    folder = output / "digits" / "cl-extrapolate-1-epochs-of-64" / "seed-1"
    with (folder / "log.csv").open() as file:
        assert float(next(csv.DictReader(file))["test_loss"]) == pytest.approx(record.results["seeds"][1]["loss"])
    assert list((folder / "tensorboard").iterdir())
    stamps = {path: path.stat().st_mtime_ns for path in output.rglob("*.json")}
    assert run_command([*arguments, "--no-resume"]) == 0  # nothing is left to do
    assert "it existed; move it away to train again" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in output.rglob("*.json")} == stamps
    check_report(output, tmp_path, capsys)
    assert run_command([*arguments, "--batch-size", "32"]) == 2
    message = capsys.readouterr().err
    assert "batch_size is 128 there and 32 here" in message
    assert "with --results" in message


def check_report(output, folder, capsys):
    files = {name: folder / f"out.{name}" for name in ("json", "markdown", "text")}
    words = [word for name, path in files.items() for word in (f"--{name}", str(path))]
    pictures = ["--curves", str(folder / "c.png"), "--captures", str(folder / "captures")]
    assert run_command(["report", "images", "--results", str(output), *words, *pictures]) == 0
    shown = capsys.readouterr().out
    rows = json.loads(files["json"].read_text())
    assert [row["activation"] for row in rows] == ["relu", "cl-extrapolate"]
    assert rows[1]["seeds"] == 2
    assert rows[0]["h"] is None
    for text in (shown, files["markdown"].read_text(), files["text"].read_text()):
        assert f"{rows[0]['mean']:.2f} ± {rows[0]['std']:.2f}" in text
    for picture in (folder / "c.png", *(folder / "captures").iterdir()):
        assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(list((folder / "captures").iterdir())) == 2


def test_stopped_and_started_again_the_record_is_the_same(tmp_path):
    whole = run_images(COHORT, tmp_path / "whole")

    class StopError(Exception):
        pass

    def stop(seed, epoch, step, steps):
        if epoch == 2:
            raise StopError

    from chebact.lab.images.run import Watch

    with pytest.raises(StopError):
        run_images(COHORT, tmp_path / "parts", watch=Watch(on_step=stop))
    started = []
    again = run_images(COHORT, tmp_path / "parts", watch=Watch(on_start=lambda *words: started.append(words)))
    assert started == [(0, 1)]
    assert again.checksum == whole.checksum
    assert len(again.run["seconds"][0]) == 2
    path = COHORT.path(tmp_path / "parts")
    path.unlink()
    anew = run_images(COHORT, tmp_path / "parts", resume=False)
    assert anew.checksum == whole.checksum


def test_a_damaged_checkpoint_stops_the_run_and_the_one_before_takes_over(tmp_path, capsys):
    expected = run_images(COHORT, tmp_path)
    COHORT.path(tmp_path).unlink()
    newest = checkpoints(COHORT.path(tmp_path).with_suffix("") / "seed-0")[-1]
    content = bytearray(newest.read_bytes())
    content[5000] ^= 1
    newest.write_bytes(content)
    arguments = ["--models", "cl-extrapolate", "--subset", "64", "--epochs", "2", "--seeds", "1"]
    assert run_command(["run", "images", *arguments, "--results", str(tmp_path)]) == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert "checkpoint-00002.pt is damaged" in message
    assert "remove it to continue from the one before" in message
    newest.unlink()
    assert run_command(["run", "images", *arguments, "--results", str(tmp_path)]) == 0
    assert read_record(COHORT.path(tmp_path)).checksum == expected.checksum


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--datasets", "imagenet"], "image set must be one of digits, mnist"),
        (["--models", "swish"], "got 'swish' (str)"),
        (["--epochs", "0"], "epochs must be an integer from 1 to 1000000, got 0"),
        (["--subset", "-1"], "subset must be an integer from 1 to 1000000, got -1"),
        (["--subset", "1438"], "subset must be at most 1437, the training images of digits, got 1438"),
        (["--where"], "where must name one convolution at least"),
        (["--learning-rate", "nan"], "learning_rate must be a finite number"),
        (["--where", "1"], "where must name convolutions from 2 to 13, got 1"),
        (["--device", "abacus"], "unknown device 'abacus': choose from cpu, cuda"),
        (
            ["--datasets", "mnist", "--data", "nowhere"],
            "there is no nowhere/mnist/train-images-idx3-ubyte: fetch it with",
        ),
    ],
)
def test_bad_input_is_one_sentence(words, sentence, tmp_path, capsys):
    assert run_command(["run", "images", *words, "--results", str(tmp_path / "o")]) == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.startswith("chebact: ")
    assert sentence in last
    assert not (tmp_path / "o").exists()


def test_a_folder_that_cannot_be_written_is_found_out_before_the_training(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert run_command(["run", "images", "--subset", "64", "--results", str(tmp_path / "file")]) == 2
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert message.startswith(f"chebact: cannot write into {tmp_path / 'file'}: ")
    assert message.endswith("choose another with --results")


def test_two_processes_do_not_train_the_same_in_one_folder(tmp_path, capsys):
    words = ["run", "images", "--models", "relu", "--epochs", "1", "--seeds", "1", "--subset", "64"]
    folder = tmp_path / "digits" / "relu-1-epochs-of-64"
    with exclusive_lock(folder):
        assert run_command([*words, "--results", str(tmp_path)]) == 2
        assert "another process trains the same" in capsys.readouterr().err
        assert not list(folder.glob("seed-*"))
    assert run_command([*words, "--results", str(tmp_path)]) == 0


def test_curves_have_gaps_where_a_loss_was_not_finite():
    curves = {"train_loss": [2.0, 1.0], "test_loss": [None, 1.5], "test_accuracy": [0.1, 0.5]}
    made = made_record("relu", [0.5], epochs=2, curves=curves)
    assert draw_curves([made], "png")[:4] == b"\x89PNG"


def test_captures_of_records_alike_in_name_are_all_kept():
    names = ["cifar10-relu-100-epochs.png", "cifar10-relu-100-epochs-2.png"]
    assert list(capture_names([made_record("relu", [0.5])] * 2)) == names


def test_a_report_of_nothing(tmp_path, capsys):
    assert run_command(["report", "images", "--results", str(tmp_path)]) == 2
    assert "`chebact run images` makes some" in capsys.readouterr().err
    assert run_command(["report", "images", "--results", str(tmp_path), "--curves", "x.jpg"]) == 2


def test_the_specs_words_decide_the_randomness():
    one = COHORT.network(0).state_dict()
    same = replace(COHORT, epochs=7).network(0).state_dict()
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["first.weight"], COHORT.network(1).state_dict()["first.weight"])
    states = {COHORT.generator(purpose, 0).get_state().numpy().tobytes() for purpose in ("order", "moves", "shake")}
    assert len(states) == 3
    orders = [COHORT.generator("order", 0, rank).get_state() for rank in (0, 1)]
    assert torch.equal(*orders)  # all processes deal out the same batches
    shakes = [COHORT.generator("shake", 0, rank).get_state() for rank in (0, 1)]
    assert not torch.equal(*shakes)


def test_he_uniform_weights_lie_within_the_textbook_bound():
    """sqrt(6 / fan-in), deviation sqrt(2 / fan-in), for every convolution and the last layer; all else is the same."""
    usual, he = (replace(COHORT, start=start).network(0) for start in ("released", "he-uniform"))
    weights = [name for name, value in he.named_parameters() if name.endswith("weight") and value.ndim > 1]
    assert len(weights) == 1 + 6 * 4 + 6 * 2 + 1  # first, branches, shortcuts, last
    for name, value in he.named_parameters():
        own = usual.get_parameter(name)
        if name not in weights:
            assert torch.equal(value, own)
            continue
        assert not torch.equal(value, own)
        bound = (6 / value[0].numel()) ** 0.5
        assert 0.97 * bound < value.detach().abs().max().item() <= bound
        assert value.detach().std().item() == pytest.approx(bound / 3**0.5, rel=0.1)
    torch.testing.assert_close(he.last.weight, usual.last.weight * 6**0.5)
    again = replace(COHORT, start="he-uniform").network(0)
    assert torch.equal(again.first.weight, he.first.weight)


def test_he_uniform_weights_have_records_of_their_own(tmp_path):
    he = replace(COHORT, start="he-uniform", init="relu")
    assert he.path(tmp_path).name == "cl-extrapolate-2-epochs-of-64-from-relu-start-he-uniform.json"
    assert he.for_control() != replace(he, start="released").for_control()
    made = made_record("relu", [0.5] * 3)
    (row,) = rows_of([replace(made, spec=replace(made.spec, start="he-uniform"))])
    assert row.unlike == "start: he-uniform instead of released"
    assert "| CIFAR-10, He uniform weights | ReLU |" in markdown([row])
    with pytest.raises(LabError, match="start must be one of released, he-uniform"):
        replace(COHORT, start="he-normal")


def test_the_form_settles_which_stages_shake():
    for form, stages in (("paper", {0, 1, 2}), ("released", {1, 2})):
        network = ImageSpec("cifar10", "relu", form=form).network(0)
        assert {index // 2 for index, block in enumerate(network.blocks) if block.shake} == stages


def test_captures_are_the_inputs_and_the_shapes():
    network = ShakeShakeResNet(1, activation="cl-extrapolate", generator=torch.Generator().manual_seed(0)).eval()
    activation = network.activation_before(6)
    activation.fit_(lambda x: x**3 - x)
    x = torch.rand(20, 1, 8, 8, generator=torch.Generator().manual_seed(1))
    before = {name: value.clone() for name, value in network.state_dict().items()}
    found = capture(network, x, trained=True)
    assert [(each["convolution"], each["unit"]) for each in found] == [(n, unit) for n in (6, 13) for unit in range(5)]
    with torch.no_grad():
        hidden = network.first(x)
        for block in network.blocks[:2]:
            hidden = block(hidden)
    for each in found[:5]:
        own = hidden[:, each["unit"]].flatten()
        assert each["low"] == pytest.approx(own.min().item(), rel=1e-5)
        assert each["high"] == pytest.approx(own.max().item(), rel=1e-5)
        assert sum(each["counts"]) == own.numel()
        width = (own.max() - own.min()) / 60
        assert each["counts"][0] == pytest.approx(int((own < own.min() + width).sum()), abs=2)
        points = torch.linspace(own.min(), own.max(), 121)
        inside = points.clamp(-1, 1)
        shape = inside**3 - inside + (3 * inside**2 - 1) * (points - inside)
        torch.testing.assert_close(torch.tensor(each["shape"]), shape, rtol=1e-4, atol=1e-4)
        assert each["values"] == pytest.approx(activation.heights[each["unit"]].tolist(), rel=1e-5, abs=1e-6)
    capture(network, x, trained=False)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_the_published_rows_follow_from_the_published_runs():
    for row in IMAGES.values():
        summary = summarize(row.runs)
        assert summary.mean == pytest.approx(row.mean, abs=0.0051)
        assert summary.std == pytest.approx(row.std, abs=0.0051)
    for dataset in ("mnist", "cifar10"):
        relu, learned = (IMAGES[dataset, name] for name in ("relu", "cl-extrapolate"))
        _, p = kruskal_wallis(learned.runs, relu.runs)
        assert p == pytest.approx(relu.p, abs=0.0051)


def test_kruskal_wallis_by_hand_and_where_it_says_nothing():
    h, p = kruskal_wallis([1.0, 2.0, 3.0], [4.0, 5.0, None, 6.0])
    assert h == pytest.approx(12 / 42 * (36 / 3 + 225 / 3) - 21)
    assert p == pytest.approx(0.0495, abs=1e-4)
    assert kruskal_wallis([1.0, 1.0], [1.0, 1.0]) == (None, None)
    assert kruskal_wallis([1.0, 2.0], [None, 1.0]) == (None, None)


def made_record(activation, accuracies, epochs=100, curves=None):
    spec = ImageSpec("cifar10", activation, epochs=epochs, seeds=len(accuracies))
    curves = Curves(**(curves or dict.fromkeys(("train_loss", "test_loss", "test_accuracy"), (0.5,))))
    seeds = tuple(Seed(index, accuracy, accuracy is None, curves) for index, accuracy in enumerate(accuracies))
    times = EpochTimes(seconds=((2.0, 4.0, 30.0),) * len(seeds))
    return ImageRecord("images", spec, ImageResults(7, seeds, Captures((), ())), Environment(threads=2), times)


def test_rows_compare_only_like_with_like():
    relu, learned = (IMAGES["cifar10", name].runs for name in ("relu", "cl-extrapolate"))
    records = [
        made_record("cl-extrapolate", [run / 100 for run in learned]),
        made_record("cl-extrapolate", [0.5, None], epochs=5),
        made_record("relu", [run / 100 for run in relu]),
    ]
    rows = rows_of(records)
    assert [(row.activation, row.epochs) for row in rows] == [
        ("cl-extrapolate", 5),
        ("relu", 100),
        ("cl-extrapolate", 100),
    ]
    assert (rows[0].h, rows[0].nan, rows[0].mean) == (None, 1, 50.0)
    assert rows[2].p == pytest.approx(0.83, abs=0.0051)
    assert rows[2].seconds == 4.0
    text = markdown(rows)
    assert "| CIFAR-10 | CL-extrapolate | 100 | 3 | 93.40 ± 0.29 | 0.05 | 0.83 | 4.0 | 93.40 ± 0.29, p 0.83 |" in text
    assert "50.00 (1/2 NaN)" in text
    assert json.loads(as_json([asdict(row) for row in rows]))[0]["accuracies"] == [50.0, None]


def test_the_documents_show_the_records_and_nothing_else():
    text = (ROOT / "docs" / "vision.md").read_text()
    records = [record.typed for record in records_under(ROOT / "results" / "images")]
    for name, shown in (("images", markdown(rows_of(records))), ("image-units", unit_markdown(unit_sheet(records)))):
        block = text.split(f"<!-- begin: {name} -->\n")[1].split(f"<!-- end: {name} -->")[0]
        assert block == shown


def test_a_spec_that_cannot_be():
    with pytest.raises(LabError, match="precision must be one of"):
        ImageSpec("digits", "relu", precision="float16")
    with pytest.raises(LabError, match="form of the network must be one of"):
        ImageSpec("digits", "relu", form="other")


def test_a_training_that_diverges_says_so_and_is_a_result(tmp_path, capsys):
    words = ["run", "images", "--learning-rate", "1e9", "--subset", "64", "--epochs", "2", "--seeds", "1"]
    words += ["--models", "relu", "--results", str(tmp_path)]
    for _ in range(2):  # trained, and found there
        assert run_command(words) == 0  # docs/decisions/0030: what came out is the record's to say
        said = capsys.readouterr().err
        assert "test accuracy: diverged" in said
        assert "relu diverged (seed 0 in epoch 2)" in said  # in the first, the loss is that of before the step
        assert "--learning-rate" in said
    (seed,) = read_record(tmp_path / "digits" / "relu-2-epochs-of-64.json").results["seeds"]
    assert (seed["nan"], seed["accuracy"]) == (True, None)
