"""The page of the recommended recipe says what its records say."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.benchmarks import load_benchmark

from chebact.training import RECOMMENDED

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def recipe(monkeypatch):
    return load_benchmark("recipe", monkeypatch)


@pytest.fixture
def defaults(monkeypatch):
    return load_benchmark("defaults", monkeypatch)


def test_the_tables_are_made_from_the_records(recipe, defaults, tmp_path, monkeypatch):
    page, committed = tmp_path / "recipe.md", (ROOT / "docs" / "recipe.md").read_text(encoding="utf-8")
    page.write_text(re.sub(r"(<!-- begin: \S+ -->\n).*?(<!-- end:)", r"\1\2", committed, flags=re.DOTALL), "utf-8")
    monkeypatch.setattr(recipe, "PAGE", page)
    monkeypatch.setattr(defaults, "PAGE", page)
    recipe.write_tables()
    defaults.write_table()
    assert page.read_text(encoding="utf-8") == committed


def test_the_recommended_rung_is_the_recommended_row_of_the_lab(recipe):
    from chebact.lab.synthetic.spec import SyntheticRequest

    (rung,) = [rung for rung in recipe.RUNGS if rung.name == "recommended"]
    shape = {"degree": rung.degree, "init": rung.init, "curvature": rung.curvature, "loss": recipe.LOSSES[rung.loss]}
    steps = {"lr": rung.step, "momentum": rung.momentum, "weight_decay": rung.decay, "clip_norm": None}
    assert vars(RECOMMENDED) == shape | steps | {"batch_size": rung.batch_size, "epochs": rung.epochs}
    row = SyntheticRequest(recipes="recommended").groups()[0][0]
    assert (rung.step, rung.decay, rung.nesterov) == (row.learning_rate, row.weight_decay, row.nesterov)
    assert (rung.momentum, rung.heights_decay, rung.curvature) == (row.momentum, row.heights_decay, row.curvature)
    assert (rung.degree, rung.init, rung.loss) == (row.degree, row.init, row.loss)
    assert (rung.epochs, rung.batch_size, rung.heights_step) == (row.epochs, row.batch_size, None)
    parameters = [sum(p.numel() for p in each.network(3).parameters()) for each in (recipe.RUNGS[0], rung)]
    assert parameters[1] <= 1.01 * parameters[0]


def test_a_rung_without_a_record_is_trained_and_one_with_is_left(recipe, tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "RESULTS", tmp_path)
    small = recipe.Rung("published", "", seeds=2, epochs=1)
    rungs = [small, recipe.replace(small, name="second", nesterov=True)]
    monkeypatch.setattr(recipe, "RUNGS", rungs)
    monkeypatch.setattr(recipe, "FRESH", [])
    recipe.train_missing()
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    recipe.train_missing()
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    assert recipe.table(rungs).count("0 of 28") == 2


def test_the_ways_are_the_defaults_and_those_before(defaults):
    assert {way.name: way.candidates for way in defaults.WAYS}["now"] == defaults.CANDIDATES
    tables = list(defaults.splits(defaults.DRAW))
    assert len(tables) == len({name for _, name, _ in tables}) == 28
    kind, _, (x, y, test_x, test_y) = tables[4]
    small = replace(defaults.WAYS[0], parameters=(("epochs", 6), ("width", 8), ("blocks", 1)), networks=2)
    assert 0 < defaults.error_of(kind, small.fit(kind, x[:60], y[:60]), test_x, test_y) < 2
