"""One spec per experiment: what the command line shows, what runs, and what a record keeps."""

import math
import shlex
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from chebact import nodes
from chebact.lab.cli import app, run_command
from chebact.lab.clinical.spec import ClinicalSettings
from chebact.lab.experiments import EXPERIMENTS
from chebact.lab.forms import read_as
from chebact.lab.images.rerun import image_commands
from chebact.lab.images.spec import ImageRequest, ImageSettings, ImageSpec
from chebact.lab.spec import added, as_plain
from chebact.lab.store import read_record
from chebact.lab.synthetic.spec import SyntheticRequest

RESULTS = Path(__file__).parents[2] / "results"
RECORDS = sorted(path for name in EXPERIMENTS for path in (RESULTS / name).rglob("*.json"))


@pytest.mark.skipif(not RECORDS, reason="the records are not at hand")
def test_every_committed_record_rebuilds_to_the_same_json_and_path():
    for path in RECORDS:
        record = read_record(path)
        name = record.experiment.partition("-")[0]
        spec = record.typed.spec
        assert as_plain(spec) == record.spec, path
        assert list(as_plain(spec)) == list(record.spec), path
        assert spec.path(RESULTS / name) == path


@dataclass(frozen=True)
class Old:
    epochs: int = 3
    where: tuple[int, ...] = (1, 2)


@dataclass(frozen=True)
class New(Old):
    init: str = added("zeros")


def test_a_field_that_was_added_later_is_left_out_at_its_default():
    assert as_plain(New()) == as_plain(Old()) == {"epochs": 3, "where": [1, 2]}
    assert as_plain(New(init="relu")) == {"epochs": 3, "init": "relu", "where": [1, 2]}
    assert read_as(New, as_plain(Old(epochs=4)), "spec") == New(epochs=4)
    assert read_as(New, as_plain(New(init="relu")), "spec") == New(init="relu")


@dataclass(frozen=True)
class Outer:
    inner: New
    several: tuple[New, ...] = ()


def test_a_field_that_was_added_to_a_part_of_a_spec_is_left_out_too():
    plain = as_plain(Outer(New(), (New(), New(init="relu"))))
    old = {"epochs": 3, "where": [1, 2]}
    assert plain == {"inner": old, "several": [old, {**old, "init": "relu"}]}
    assert read_as(Outer, plain, "spec") == Outer(New(), (New(), New(init="relu")))


def asked(line):
    """What a command line asks for, read as the command reads it."""
    _, bound, _ = app.parse_args(shlex.split(line)[1:], exit_on_error=False, print_error=False)
    return bound.arguments


def test_the_command_without_options_asks_for_the_defaults_of_the_specs():
    assert asked("chebact run synthetic").get("request", SyntheticRequest()) == SyntheticRequest()
    assert asked("chebact run images").get("request", ImageRequest()) == ImageRequest()
    assert asked("chebact run clinical").get("settings", ClinicalSettings()) == ClinicalSettings()


UNUSUAL = {
    "cosine": "step",
    "subset": 640,
    "form": "released",
    "where": (12, 13),
    "precision": "bfloat16",
    "shake": True,
    "init": "relu",
    "start": "he-uniform",
}


def unusual(name):
    """A value of an image option that is not its default; a new number or flag needs no row above."""
    default = getattr(ImageSettings(), name)
    if name in UNUSUAL:
        return UNUSUAL[name]
    return not default if isinstance(default, bool) else default + (2 if isinstance(default, int) else 0.25)


@pytest.mark.parametrize("name", [field.name for field in fields(ImageSettings)])
def test_an_image_option_goes_from_the_record_to_the_command_and_back(name):
    spec = ImageSpec("digits", "cl-extrapolate", **{name: unusual(name)})
    (line,) = image_commands([spec])
    assert asked(line)["request"].specs() == [spec]


@pytest.mark.parametrize("group", ["", "run", "report", "bench", "data"])
def test_every_command_has_its_line_in_the_help(group, capsys):
    assert run_command([*group.split(), "--help"]) == 0
    shown = capsys.readouterr().out.splitlines()
    start = next(index for index, line in enumerate(shown) if "Commands" in line)
    heads = [line[2:].rstrip("\u2502 ") for line in shown[start + 1 :] if line[:1] == "\u2502" and line[2] != " "]
    assert heads
    assert all(" " in line for line in heads), heads


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_defaults_in_the_help_are_what_one_would_type(name, capsys):
    assert run_command(["run", name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "[default:" in shown
    assert not [sign for sign in ("PosixPath", "default: (", "None]", "('", "cohort") if sign in shown]


def test_heights_start_where_init_says_and_at_zero_as_in_the_paper():
    learned = ImageSpec("digits", "cl-extrapolate").network(0).activation_before(6)
    assert not learned.heights.any()
    learned = ImageSpec("digits", "cl-extrapolate", init="relu").network(0).activation_before(6)
    assert learned.heights[0].tolist() == pytest.approx([max(0.0, x) for x in nodes(3).tolist()], rel=1e-6)
    assert ImageRequest(models=("relu", "cl-extrapolate"), init="relu").specs() == [
        ImageSpec("digits", "relu"),  # it has no heights: the record without the option serves
        ImageSpec("digits", "cl-extrapolate", init="relu"),
    ]


@pytest.mark.parametrize("words", [["images", "--models", "relu"], ["synthetic", "--models", "tanh", "relu"]])
def test_a_start_that_changes_nothing_is_refused(words, tmp_path, capsys):
    assert run_command(["run", *words, "--init", "gelu", "--results", str(tmp_path)]) == 2
    assert "--init gelu must have a model with learned heights" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_synthetic_start_is_in_the_record_and_reaches_the_network(tmp_path):
    words = ["--models", "cl-extrapolate", "--datasets", "step", "--noise", "0.01", "--seeds", "1", "--epochs", "1"]
    assert (
        run_command(["run", "synthetic", *words, "--workers", "1", "--init", "tanh", "--results", str(tmp_path)]) == 0
    )
    record = read_record(tmp_path / "paper" / "0.01" / "cl-extrapolate-step.json")
    assert record.spec["init"] == "tanh"
    start = record.results["activations"]["layers"][0]["start"][0]
    assert start == pytest.approx([math.tanh(x) for x in nodes(3).tolist()], rel=1e-4)
