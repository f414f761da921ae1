"""The pages of the examples and of the deployment say what their records say."""

import re
import subprocess
from pathlib import Path
from statistics import mean, median

import pytest
import torch
from support.benchmarks import load_benchmark
from support.c_compiler import compiler
from torch import nn

import chebact
from chebact.lab import LabError

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
    examples.run_missing(again=["gpt"])
    assert (tmp_path / "small.json").stat().st_mtime_ns > before
    monkeypatch.setattr(examples, "RUNS", [examples.Run("small", "gpt", ("--steps", "3"))])
    with pytest.raises(LabError, match="is of another spec"):
        examples.run_missing(again=["gpt"])


def medians(runs, problem):
    """The median error of each activation over the seeds, by its name without "learned"."""
    results = [run.results[problem] for run in runs]
    names = {name: name.partition(", ")[2] or name for name in results[0]}
    return {short: median(each[name]["error"] for each in results) for name, short in names.items()}


def test_what_the_pages_say_of_the_equations_is_so_in_the_records(monkeypatch):
    """README.md and docs/my-pde.md: change them if this fails after a new run."""
    runs = load_benchmark("examples", monkeypatch).PDE
    poisson, burgers = medians(runs, "Poisson"), medians(runs, "Burgers")
    assert 0.25 < poisson["degree 7, [-3, 3]"] / poisson["tanh"] < 1 / 3
    assert min(poisson, key=poisson.get) == "degree 7, [-3, 3]"
    tanh = burgers.pop("tanh")
    assert min(burgers, key=burgers.get) == "degree 7, [-1, 1]"
    assert 4 < min(burgers.values()) / tanh < 5


def test_what_the_pages_say_of_the_gpt_is_so_in_the_records(monkeypatch):
    """README.md and docs/my-transformer.md: change them if this fails after a new run."""
    examples = load_benchmark("examples", monkeypatch)
    for run in examples.GPT:
        gelu, learned = (curve[-1] for curve in run.results.values())
        assert 0.03 < gelu[2] - learned[2] < 0.05
        assert 0.9 < learned[1] / gelu[1] < 1.1
    for run in examples.WAYS.values():
        losses = [curve[-1][2] for curve in run.results.values()]
        assert losses == pytest.approx([curve[-1][2] for curve in examples.GPT[0].results.values()], abs=0.002)


def test_what_the_page_says_of_the_digits_is_so_in_the_record(monkeypatch):
    """docs/my-resnet.md: change it if this fails after a new run."""
    relu, after, heights, everything, longer, start = map(
        mean, load_benchmark("examples", monkeypatch).DIGITS.results.values()
    )
    assert 0.5 < relu - after < 1.5
    assert abs(heights - relu) < 0.3
    assert longer > max(everything, start) - 0.3


def test_the_program_of_the_deployment_page_compiles_and_calls_the_network(tmp_path):
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    (tmp_path / "main.c").write_text(re.search(r"```c\n(.*?)```", page, re.DOTALL)[1], encoding="utf-8")
    network = nn.Sequential(nn.Linear(3, 32), chebact.ChebyshevLagrange(32), nn.Linear(32, 1))
    chebact.to_c(network, tmp_path / "network.c", name="network", real="float")
    command = re.search(r"^cc (.* -o main)$", page, re.MULTILINE)[1].split()
    subprocess.run([compiler(), *command], cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    assert float(said) == pytest.approx(network(torch.tensor([[0.1, -0.2, 0.3]])).item(), rel=1e-4)
