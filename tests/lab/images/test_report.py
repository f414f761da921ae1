"""Image records on the page and in the playground: figures of single units, colours beside the paper, commands."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from support.browser import PHONE

import chebact
from chebact import ChebyshevLagrange
from chebact.lab import LabError
from chebact.lab.checkpoint import save_checkpoint
from chebact.lab.cli import run_command
from chebact.lab.clinical.rerun import clinical_commands
from chebact.lab.clinical.spec import NetworkSpec
from chebact.lab.images.rerun import image_commands
from chebact.lab.images.rows import rows_of
from chebact.lab.images.section import parity_sentences, sections
from chebact.lab.images.spec import ImageSpec
from chebact.lab.images.tables import activation_title, set_title
from chebact.lab.page.document import Commands, Fold, Missing, Words, pictures_in
from chebact.lab.page.page import as_html, sections_of
from chebact.lab.page.results import Results
from chebact.lab.page.sheet import Sheet
from chebact.lab.play.saved_models import shapes_in_model
from chebact.lab.play.shapes import shapes_in_record
from chebact.lab.spec import as_plain
from chebact.lab.store import Record, write_record
from chebact.lab.synthetic.rerun import synthetic_commands
from chebact.lab.synthetic.spec import SyntheticSpec

HEIGHTS = [0.5, 0.25, -0.125, 1.0]


@pytest.fixture(autouse=True)
def nothing_compiled():
    with chebact.kernels.use("reference"):
        yield


def unit(convolution, number, values):
    shape = [max(0.0, -2 + index / 30) for index in range(121)]
    place = {"convolution": convolution, "unit": number, "low": -2.0, "high": 2.0}
    return {**place, "counts": [1, 2, 2, 1], "shape": shape, "values": values}


def record(activation="cl-extrapolate", dataset="digits", accuracies=(0.9,), captured=True, **choices):
    cohort = ImageSpec(dataset, activation, **{"seeds": len(accuracies), "epochs": 2, "subset": 64, **choices})
    learned = activation.startswith("cl")
    curves = {"test_accuracy": [0.5, 0.9], "train_loss": [1.0, 0.5], "test_loss": [1.0, 0.5]}
    seeds = [{"seed": s, "accuracy": a, "nan": a is None, "curves": curves} for s, a in enumerate(accuracies)]
    width = cohort.degree + 1
    captures = {
        when: [unit(number, index, values if learned else None) for number in (6, 13) for index in range(5)]
        for when, values in (("before", [0.0] * width), ("after", (HEIGHTS * width)[:width]))
    }
    if not captured:
        captures["after"] = []
    results = {"parameters": 9, "images": {"train": 64, "test": 9}, "seeds": seeds, "captures": captures}
    return Record("images", as_plain(cohort), results, {}, {"seconds": [[1.0, 1.0]] * len(accuracies)})


def section_of(*records):
    return sections(Results(Path("results"), records))[0]


def blocks_of(section, kind):
    return [block for block in section.blocks if isinstance(block, kind)]


def test_the_papers_figures_of_units_are_drawn_and_what_is_alike_is_drawn_once():
    """Learned units and those of ReLU, five before the 6th and five before the 13th convolution, as the paper has."""
    own = [record(dataset=name) for name in ("digits", "cifar10")]
    plain = [record("relu", dataset=name) for name in ("digits", "cifar10")]
    section = section_of(*own, *plain)
    pictures = {picture.name: picture for picture in pictures_in(section.blocks)}
    learned = pictures["im-0-units"]
    assert "CL-extrapolate" in learned.caption
    assert len(learned.panels) == 10  # five before the 6th and five before the 13th convolution
    assert "conv 6, unit 1: heights 1, -0.125, 0.25, 0.5" in learned.panels[0].alt
    assert "33% of them outside" in learned.panels[9].alt
    both = pictures["im-before-after"]
    assert [panel.alt.partition(":")[0] for panel in both.panels] == [
        "before, zeros", "ReLU", "Digits", "Digits", "CIFAR-10", "CIFAR-10",
    ]  # fmt: skip
    assert any(block is both for block in section.blocks)  # in sight; all units are behind a fold
    assert not any(block is learned for block in section.blocks)
    titles = [picture.caption.partition(": ")[0] for name, picture in pictures.items() if name.endswith("units")]
    runs = ("Digits, 2 epochs, 64 images", "CIFAR-10, 2 epochs, 64 images")
    assert titles == [f"{run}, {name}" for run in runs for name in ("CL-extrapolate", "ReLU")]
    relu = pictures["im-1-units"]
    assert [key.look for key in relu.keys] == ["line", "bar"]  # it has no nodes and no interval
    assert [panel.alt.partition(";")[0] for panel in relu.panels] == [
        f"conv {number}, unit {1 + index}" for number in (6, 13) for index in range(5)
    ]
    assert "33% to 33% before convolution 6" in section.shows


def test_records_that_differ_in_a_setting_do_not_look_alike():
    pair = (0.8, 0.9)
    records = [
        record("relu", accuracies=pair),
        record(accuracies=pair, degree=5),
        record("relu", accuracies=pair, batch_size=32, degree=7),
        record(accuracies=(0.1, 0.2), batch_size=32, channels_last=False),
    ]
    rows = rows_of(each.typed for each in records)
    assert {(set_title(row), activation_title(row.activation)) for row in rows} == {
        ("Digits, first 64", "ReLU"),
        ("Digits, first 64", "CL-extrapolate"),
    }  # options are no part of the name of a set
    same, images = "epochs: 2 instead of 100", "the first 64 images"
    assert [row.unlike for row in rows] == [
        f"{same}, {images}",
        f"{same}, degree: 5 instead of 3, {images}",
        f"batch size: 32 instead of 128, {same}, {images}",
        f"batch size: 32 instead of 128, channels last: False instead of True, {same}, {images}",
    ]
    assert [row.training for row in rows[2:]] == ["--batch-size 32", "--batch-size 32, --no-channels-last"]
    assert rows[1].p == 1.0  # ReLU has no degree: the two are comparable
    assert rows[3].p is None  # no ReLU was trained like this
    (words,) = [sentence for sentence in parity_sentences(rows) if "points" in sentence or "level" in sentence]
    assert words.startswith("Digits, first 64, 2 epochs: CL-extrapolate is level with ReLU")


def test_heights_that_start_from_relu_are_told_apart_from_zeros_in_table_sentences_and_legend():
    zeros, relu, other = (
        record(accuracies=(0.7,)),
        record(init="relu", accuracies=(0.8,)),
        record("relu", accuracies=(0.75,)),
    )
    section = section_of(zeros, relu, other)
    (sheet,) = blocks_of(section, Sheet)
    assert [row[1].text for row in sheet.rows] == ["ReLU", "CL-extrapolate", "CL-extrapolate from relu"]
    assert ["init: relu instead of zeros" in row[9].text for row in sheet.rows] == [False, False, True]
    (words,) = blocks_of(section, Words)
    assert any("CL-extrapolate from relu is 5.00 points above ReLU" in sentence for sentence in words.paragraphs)
    (curves,) = [picture for picture in pictures_in(section.blocks) if picture.name == "im-curves"]
    assert ("dash", "CL-extrapolate from relu") in [(key.look, key.label) for key in curves.keys]


def test_the_first_figure_starts_from_zero_with_the_other_start_beside_it():
    """The paper's activations before training are zero; records are read in the order of their names."""
    section = section_of(record(init="relu"), record(start="he-uniform"), record(), record("relu"))
    (both,) = [picture for picture in pictures_in(section.blocks) if picture.name == "im-before-after"]
    alts = [panel.alt for panel in both.panels]
    assert [alt.partition(":")[0] for alt in alts] == [
        "before, zeros", "before, relu", "ReLU", "Digits", "Digits", "Digits from relu", "Digits from relu",
    ]  # fmt: skip
    assert "heights 0, 0, 0, 0 at the nodes" in alts[0]


def test_units_of_a_training_that_failed_are_missed_by_name():
    section = section_of(record(captured=False, accuracies=(None,)))
    assert any("units were not captured" in block.sentence for block in blocks_of(section, Missing))


def test_what_the_paper_has_and_no_record_does_is_said():
    def said(*records):
        return [block.sentence for block in blocks_of(section_of(*records), Missing)]

    whole = {"dataset": "mnist", "epochs": 100, "subset": None, "captured": False}
    assert any(
        each.startswith("CL-extrapolate on MNIST with the paper's 100") for each in said(record("relu", **whole))
    )
    both = said(record("relu", **whole), record(**whole))
    assert [sentence for sentence in both if "not run yet" in sentence] == [
        "CIFAR-10 with the paper's 100 epochs on all images: not run yet."
    ]


@pytest.mark.parametrize(
    ("accuracies", "tone", "away"),
    [
        ((0.9366, 0.9366), "near", "+0.9"),
        ((0.9400, 0.9400), "better", "+2.1"),
        ((0.9260, 0.9260), "worse", "−2.8"),
        ((0.9000, 0.9000), "far", "−11.7"),
        ((0.9340, 0.9340, None), "worse", "+0.0"),
        ((None, None, 0.93), "far", ""),
    ],
)
def test_accuracies_of_whole_runs_are_coloured_by_their_distance(accuracies, tone, away):
    made = record(dataset="cifar10", accuracies=accuracies, epochs=100, subset=None, captured=False)
    (table,) = blocks_of(section_of(made), Sheet)
    assert table.toned
    cell = table.rows[0][4]
    assert (cell.tone, cell.away) == (tone, away)
    assert table.rows[0][8].text == "93.40 ± 0.29, p 0.83"


def test_accuracies_of_shorter_runs_are_not_compared():
    (table,) = blocks_of(section_of(record(dataset="cifar10", epochs=5, subset=None, captured=False)), Sheet)
    assert not table.toned
    assert {cell.tone for cell in table.rows[0]} == {""}


def test_the_commands_make_the_same_records_again():
    records = [record(), record("relu"), record(dataset="cifar10", shake=False, where=(12, 13))]
    found = image_commands(each.typed.spec for each in records)
    assert found == [
        "chebact run images --datasets digits --epochs 2 --seeds 1 --subset 64",
        "chebact run images --datasets cifar10 --epochs 2 --seeds 1 --subset 64 --where 12 13 --no-shake"
        " --models cl-extrapolate",
    ]
    folds = blocks_of(section_of(record(captured=False), record("relu", captured=False)), Fold)
    (shown,) = [block for fold in folds for block in fold.blocks if isinstance(block, Commands)]
    assert shown.lines == (found[0], "chebact report images")


def test_the_clinical_and_synthetic_commands_name_what_is_unusual():
    table = {"digest": "", "recordings": 9, "subjects": 3, "positive": 1, "features": 2}
    network = {"generated": False, "choice": "all", "seeds": 10, "model": "relu", "width": 32}
    spec = NetworkSpec(data="parkinson-multiple", **table, **network)
    made = replace(spec, generated=True, data="generated", choice="boruta on generated-choice", seeds=30)
    own = replace(spec, data="voices", choice="boruta in folds, 150 trees, 100 rounds", labels="shuffled")
    assert clinical_commands([made, spec, spec, own]) == [
        "chebact run clinical",
        "chebact run clinical --data FILE.csv --preset parkinson-multiple --seeds 10",
        "chebact run clinical --data voices.csv ... --select folds --seeds 10 --labels shuffled",
    ]
    short = SimpleNamespace(spec=SyntheticSpec("relu", "step", 0.01, seeds=3))
    assert synthetic_commands([short]) == ["chebact run synthetic --recipe paper --seeds 3 --noise 0.01"]


def test_names_of_activations_cannot_write_into_the_page():
    bad = record()
    bad = replace(bad, spec={**bad.spec, "activation": '"><script>alert(1)</script>'})
    text = as_html(sections_of(Results(Path("results"), [bad]), ["images"]), "the foot")
    assert "<script>alert" not in text


def test_the_page_of_images_opens_and_fits_a_phone(open_page, tmp_path):
    path = tmp_path / "index.html"
    path.write_text(as_html(sections_of(Results(Path("results"), [record(), record("relu")]), ["images"]), "the foot"))
    page = open_page(path, size=PHONE, touch=True)
    assert page.locator("#images svg.plot").count() == 2 + 4 + 20 + 1
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_an_image_record_opens_in_the_playground(tmp_path):
    path = tmp_path / "record.json"
    write_record(path, record())
    after, deep, before, _ = shapes_in_record(path)
    assert [after.name, deep.name, before.name] == ["convolution 6", "convolution 13", "convolution 6, before training"]
    assert (after.rows, before.rows) == ([tuple(HEIGHTS)] * 5, [(0.0,) * 4] * 5)
    assert (after.tails, after.interval) == ("extrapolate", (-1.0, 1.0))
    assert after.inputs[0].outside == pytest.approx(1 / 3)
    assert run_command(["play", "--record", str(path), "--output", str(tmp_path / "p.html"), "--no-open"]) == 0


@pytest.mark.parametrize(
    ("made", "said"), [(record("relu"), "keeps no learned"), (record(captured=False), "training turned NaN")]
)
def test_an_image_record_without_learned_units_gets_a_sentence(tmp_path, made, said):
    path = tmp_path / "record.json"
    write_record(path, made)
    with pytest.raises(LabError, match=said):
        shapes_in_record(path)


def test_a_checkpoint_of_an_image_training_opens_in_the_playground(tmp_path):
    module = ChebyshevLagrange(2, init="gelu")
    path = save_checkpoint(tmp_path, 1, {"network": module.state_dict(), "optimizer": {}}, {"seed": 0})
    (shapes,) = shapes_in_model(path)
    assert torch.tensor(shapes.rows).equal(module.heights.detach())
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(LabError, match="is damaged"):
        shapes_in_model(path)
