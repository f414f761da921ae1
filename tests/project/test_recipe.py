"""The page of the recommended recipe says what its records say."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def recipe(monkeypatch):
    spec = importlib.util.spec_from_file_location("recipe_benchmark", ROOT / "benchmarks" / "recipe.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_made_from_the_records(recipe, tmp_path, monkeypatch):
    page, committed = tmp_path / "recipe.md", (ROOT / "docs" / "recipe.md").read_text(encoding="utf-8")
    page.write_text(re.sub(r"(<!-- begin: \S+ -->\n).*?(<!-- end:)", r"\1\2", committed, flags=re.DOTALL), "utf-8")
    monkeypatch.setattr(recipe, "PAGE", page)
    recipe.write_tables()
    assert page.read_text(encoding="utf-8") == committed


def test_the_recommended_rung_is_the_recommended_row_of_the_lab(recipe):
    from chebact.lab.synthetic.spec import SyntheticRequest

    (rung,) = [rung for rung in recipe.RUNGS if rung.name == "recommended"]
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
    monkeypatch.setattr(recipe, "RUNGS", [small, recipe.replace(small, name="second", nesterov=True)])
    recipe.train_missing()
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    recipe.train_missing()
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    assert recipe.table().count("0 of 28") == 2
