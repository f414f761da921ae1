"""The guide says what its records say."""

import importlib
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from chebact.initial import DEFAULT_INIT

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ("beside", "guide-choices", "guide-init")


def run_guide(*arguments):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    command = [sys.executable, str(ROOT / "benchmarks" / "guide"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The page as it is committed, and the folder where one process wrote the emptied page and the pictures."""
    folder = tmp_path_factory.mktemp("guide")
    page, committed = folder / "guide.md", (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    emptied = re.sub(r"(<!-- begin: \S+ -->\n).*?(<!-- end:)", r"\1\2", committed, flags=re.DOTALL)
    assert emptied.count("<!-- begin:") == 9
    assert len(emptied) < len(committed)
    page.write_text(emptied, encoding="utf-8")
    (folder / "images").mkdir()
    run_guide("--update", page, "--pictures", folder / "images")
    return committed, folder


def test_the_tables_of_the_guide_are_made_from_the_records(written):
    committed, folder = written
    assert (folder / "guide.md").read_text(encoding="utf-8") == committed


def test_the_pictures_are_made_from_the_records(written):
    images = written[1] / "images"
    made = {path.name for path in images.iterdir()}
    assert made == {f"{name}-{scheme}.svg" for name in PICTURES for scheme in ("dark", "light")}
    for name in made:
        assert ElementTree.parse(images / name).getroot().tag.endswith("svg")
        assert (ROOT / "docs" / "images" / name).is_file()


def test_every_setting_has_its_record():
    assert run_guide("--list").stdout == ""


@pytest.fixture
def guide(monkeypatch):
    """The modules of the benchmark by name, gone from the import system afterwards."""
    folder = ROOT / "benchmarks" / "guide"
    monkeypatch.syspath_prepend(str(folder))
    names = [path.stem for path in folder.glob("*.py") if path.stem not in ("__main__", "figures")]
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield {name: importlib.import_module(name) for name in names}
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("norm", "optimizer"),
    [("none", "adam"), ("layer", "adam"), ("batch", "sgd")],  # Adam makes steps of rounding where a gradient is zero
)
def test_a_model_side_by_side_with_others_is_the_model_alone(guide, norm, optimizer):
    settings, train_stack = guide["settings"], guide["train"].train_stack
    models = (
        settings.chebact("zeros"),
        settings.chebact("gelu"),
        settings.chebact("gelu", degree=5, heights_step=3.0, heights_decay=True),
        settings.Model("tanh"),
    )
    chosen = {"depth": 3, "width": 4, "decay": 0.1, "norm": norm, "epochs": 1, "seeds": 2}
    together = settings.Setting("test", "residual", "waves", optimizer, 0.01, models, **chosen)
    for model, found in zip(models, train_stack(together)["models"], strict=True):
        (alone,) = train_stack(replace(together, models=(model,)))["models"]
        assert found["test"] == pytest.approx(alone["test"], rel=1e-4)
        assert found["test"][0] != pytest.approx(found["test"][1], rel=1e-3)  # the seeds differ


def test_the_rule_leaves_out_what_stalls_and_breaks_ties_by_the_worst_case(guide):
    standing, chebact = guide["outcomes"].Standing, guide["settings"].chebact

    def row(init, stalled, error, worst):
        return standing(chebact(init), stalled, trainings=100, error=error, adam=error, worst=worst)

    rows = [
        row("zeros", 9, 0.01, 2.0),
        row("gelu", 3, 0.0208, 3.0),
        row("tanh", 2, 0.02, 9.0),
        row("relu", 3, 0.022, 1.0),
    ]
    assert guide["outcomes"].choose_default(rows).model.init == "gelu"
    assert guide["outcomes"].choose_default(rows[:1] + rows[2:]).model.init == "tanh"


def test_the_default_init_is_the_one_that_the_records_chose(guide):
    outcomes = guide["outcomes"]
    rows = outcomes.standings(outcomes.read_outcomes(ROOT / "results" / "guide"))
    assert outcomes.choose_default(rows).model.init == DEFAULT_INIT


def test_the_geometric_mean_counts_a_lost_training_as_a_constant(guide):
    geometric = guide["outcomes"].geometric
    assert geometric([0.01, None, 1.0, 50.0]) == pytest.approx(0.01**0.25)
