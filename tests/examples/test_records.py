"""The pages of the examples and of the deployment say what their records say."""

import re
from pathlib import Path

import pytest
from support.benchmarks import load_benchmark

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.compile(r"(<!-- begin: \S+ -->\n).*?(<!-- end:)", re.DOTALL)


def emptied(page, tmp_path):
    """A copy of a page without its tables, and the page as it is committed."""
    committed = (ROOT / "docs" / page).read_text(encoding="utf-8")
    copy = tmp_path / page
    copy.write_text(BLOCKS.sub(r"\1\2", committed), encoding="utf-8")
    assert len(copy.read_text(encoding="utf-8")) < len(committed)
    return copy, committed


def test_the_tables_of_the_examples_are_made_from_the_records(tmp_path, monkeypatch):
    pages = [emptied(page, tmp_path) for page in ("my-transformer.md", "my-pde.md", "my-resnet.md")]
    load_benchmark("examples", monkeypatch).write_tables(tmp_path)
    for page, committed in pages:
        assert page.read_text(encoding="utf-8") == committed


def test_the_tables_of_the_deployment_are_made_from_the_record(tmp_path, monkeypatch):
    for name in ("onnx", "onnxruntime"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    page, committed = emptied("deploy.md", tmp_path)
    load_benchmark("deploy", monkeypatch).write_tables(page)
    assert page.read_text(encoding="utf-8") == committed


def test_every_run_has_its_record_and_every_record_its_run(monkeypatch):
    examples = load_benchmark("examples", monkeypatch)
    assert {run.path for run in examples.RUNS} == set(examples.RESULTS.glob("*.json"))
    assert all(examples.holds(run.path, run.spec) for run in examples.RUNS)


def test_a_run_without_a_record_runs_and_one_with_is_left(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    examples = load_benchmark("examples", monkeypatch)
    monkeypatch.setattr(examples, "RESULTS", tmp_path)
    monkeypatch.setattr(examples, "EXAMPLES", tmp_path)
    (tmp_path / "gpt.py").write_bytes((ROOT / "examples" / "gpt.py").read_bytes())
    monkeypatch.setattr(examples, "RUNS", [examples.Run("small", "gpt", ("--steps", "2"))])
    examples.run_missing()
    before = (tmp_path / "small.json").stat().st_mtime_ns
    assert (tmp_path / "gpt.png").stat().st_size > 10_000
    examples.run_missing()
    assert (tmp_path / "small.json").stat().st_mtime_ns == before
    assert [len(curve) for curve in examples.RUNS[0].results.values()] == [2, 2]
