"""The paper's two algorithms over the degrees: what is timed, what is fitted, and what is shown."""

import json
import math
import shutil
import statistics

import numpy as np
import pytest
import statsmodels.api as sm
import torch
from numpy.polynomial import Polynomial
from support.benchmarks import load_benchmark

from chebact import nodes
from chebact.lab.bench import commands as bench
from chebact.lab.bench import degrees
from chebact.lab.bench.degrees import contenders_by_degree, measure_degrees
from chebact.lab.bench.files import read_rows
from chebact.lab.bench.growth import Power, fit_power, growth_sheets, has_growth
from chebact.lab.bench.rows import Row
from chebact.lab.bench.section import sections
from chebact.lab.bench.timing import kept_bytes
from chebact.lab.cli import run_command
from chebact.lab.page.results import Results

pytestmark = pytest.mark.usefixtures("one_thread")


def row(name, degree, us, case="128x32", kept=64):
    spread = (0.9, 1.1)
    return Row(case, "nchw", name, degree, us, us, kept, us, us, spread, spread, 7)


def power_rows(last=30):
    """Times that grow as degree^2, degree^3 and degree^0.5, and the bytes of both algorithms."""
    rows = [row("relu", None, 1.0)]
    for n in range(1, last + 1):
        rows += [row("cl-extrapolate", n, 2.0 * n**0.5), row("paper-algorithm", n, 5.0 * n**2, kept=4 * n * (n + 1))]
    for n in range(1, last + 1):
        rows += [row("cl-slope", n, 3.0 * n**0.5, "256x1"), row("paper-slope", n, 7.0 * n**3, "256x1", kept=n**3)]
    return rows


@pytest.mark.parametrize("degree", [1, 2, 3, 7, 12])
def test_algorithm_two_gives_the_slope_of_the_polynomial(degree):
    """numpy's derivative of the polynomial through the same heights."""
    released = load_benchmark("released_algorithm")
    torch.set_default_dtype(torch.float64)
    try:
        module = released.ReleasedSlope(1, degree)
    finally:
        torch.set_default_dtype(torch.float32)
    heights = np.random.default_rng(degree).standard_normal(degree + 1)
    with torch.no_grad():
        module.heights.copy_(torch.from_numpy(heights)[None])
    x = np.linspace(-1, 1, 9)
    truth = Polynomial.fit(nodes(degree).numpy(), heights, degree).deriv()(x)
    np.testing.assert_allclose(module(torch.from_numpy(x)[:, None])[:, 0].detach(), truth, rtol=1e-8, atol=1e-8)


def test_the_contenders_of_a_degree_compute_the_same():
    torch.manual_seed(0)
    for case, rows in contenders_by_degree(range(1, 9)).items():
        channels = int(case.partition("x")[2])
        x = torch.rand(50, channels) * 2 - 1
        by_degree = {}
        for each in rows[1:]:
            by_degree.setdefault(each.degree, []).append(each.build(channels)(x))
        assert list(by_degree) == list(range(1, 9))
        for ours, theirs in by_degree.values():
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
            assert ours.abs().max() > 0.1


def test_the_papers_tensors_are_those_that_it_counts():
    """(n+1) n numbers per element for values, (n+1) n (n-1) for slopes: what its O(n^2) and O(n^3) are about."""
    sizes = {"paper-algorithm": lambda n: (n + 1) * n, "paper-slope": lambda n: (n + 1) * n * (n - 1)}
    for case, rows in contenders_by_degree(range(3, 8)).items():
        channels = int(case.partition("x")[2])
        x = torch.rand(20, channels, requires_grad=True)
        for each in rows:
            if each.name in sizes:
                module = each.build(channels)
                assert kept_bytes(lambda module=module, x=x: module(x)) >= 4 * x.numel() * sizes[each.name](each.degree)


def test_a_fitted_exponent_is_that_of_statsmodels():
    random = np.random.default_rng(0)
    n = np.arange(1, 31)
    times = 3e-6 * n**1.7 * np.exp(0.2 * random.standard_normal(30))
    model = sm.OLS(np.log(times), sm.add_constant(np.log(n))).fit()
    low, high = model.conf_int(0.05)[1]
    found = fit_power(n.tolist(), times.tolist())
    assert found.exponent == pytest.approx(model.params[1])
    assert (found.exponent - found.error, found.exponent + found.error) == pytest.approx((low, high))
    assert str(Power(1.949, 0.0349)) == "1.95 ± 0.03"


def test_the_sheets_show_the_exponents_and_the_times():
    exponents, times = growth_sheets(power_rows())
    shown = {line[0].text: [cell.text for cell in line[1:]] for line in exponents.rows}
    quadratic = ["O(n²)", "2.00 ± 0.00", "2.00 ± 0.00", "0.50 ± 0.00", "0.50 ± 0.00"]
    assert shown["values, forward"] == shown["values, with backward"] == quadratic
    assert shown["slopes, forward"] == ["O(n³)", "3.00 ± 0.00", "3.00 ± 0.00", "0.50 ± 0.00", "0.50 ± 0.00"]
    n = np.arange(10, 31)
    truth = np.polyfit(np.log(n), np.log(n * (n + 1)), 1)[0]
    assert exponents.rows[3][3].number == pytest.approx(truth)
    assert [head.text for head in times.heads] == ["", "1", "2", "3", "5", "10", "15", "20", "30"]
    texts = {line[0].text: [cell.text for cell in line[1:4]] for line in times.rows}
    assert texts["values, forward: paper's"] == ["5.00", "20.0", "45.0"]
    assert texts["values, forward: ours"] == ["2.00", "2.83", "3.46"]
    few = growth_sheets(power_rows(last=5))[0]
    assert [cell.text for cell in few.rows[0][3:]] == ["-", "0.50 ± 0.00", "-"]


def test_a_small_measurement():
    rows = list(measure_degrees(range(2, 4), budget=0.01))
    wanted = [("relu", None), *((name, n) for n in (2, 3) for name in ("cl-extrapolate", "paper-algorithm"))]
    assert [(each.name, each.degree) for each in rows[:5]] == wanted
    assert {each.name for each in rows[5:]} == {"relu", "cl-slope", "paper-slope"}
    assert all(each.rounds >= 7 and each.forward_us > 0 for each in rows)
    assert has_growth(rows)
    assert not has_growth([row("relu", None, 1.0), row("paper-algorithm", 3, 1.0), row("cl-extrapolate", 10, 1.0)])


def test_what_differs_is_not_timed(monkeypatch):
    count = iter(range(10**6))

    def build(kind, degree, channels):
        module = kind(channels, degree)
        torch.nn.init.constant_(module.heights, float(next(count)))
        return module

    monkeypatch.setattr(degrees, "with_heights", build)
    with pytest.raises(RuntimeError, match=r"differ at degree 2; nothing was timed"):
        next(measure_degrees(range(2, 4), budget=0.01))


def test_the_command_measures_on_one_thread_and_writes(tmp_path, monkeypatch, capsys):
    threads = []

    def measured(**options):
        threads.append(torch.get_num_threads())
        return power_rows()

    monkeypatch.setattr(bench, "measure_degrees", measured)
    torch.set_num_threads(2)
    path = tmp_path / "bench" / "degrees.json"
    path.parent.mkdir()
    assert run_command(["bench", "degrees", "--no-tests", "--json", str(path)]) == 0
    assert threads == [1]
    assert torch.get_num_threads() == 2
    rows, machine = read_rows(path)
    assert (rows, machine.threads) == (power_rows(), 1)
    assert "2.00 ± 0.00" in capsys.readouterr().out

    document = tmp_path / "kernels.md"
    blocks = ("bench-degrees", "bench-ops")
    document.write_text("".join(f"<!-- begin: {name} -->\nold\n<!-- end: {name} -->\n" for name in blocks))
    assert run_command(["bench", "page", str(path), "--update", str(document)]) == 0
    text = document.read_text()
    assert "| slopes, forward | O(n³) | 3.00 ± 0.00 |" in text
    assert text.count("\nold\n") == 1  # the tables of the other command stay
    assert "Values of a tensor of 128x32, slopes of one of 256x1, float32" in text
    assert run_command(["bench", "page", str(path), "--plot", str(tmp_path / "plot.png")]) == 2
    assert "--plot must be left out for rows by degree" in capsys.readouterr().err


def test_the_page_shows_them_beside_the_costs(request):
    (section,) = sections(Results(request.config.rootpath / "results", []))
    fold = next(
        block for block in section.blocks if getattr(block, "summary", "").startswith("The paper's algorithm by")
    )
    words, *sheets = fold.blocks
    assert [sheet.name for sheet in sheets] == ["degrees-exponents", "degrees-times"]
    assert "1 threads" in words.paragraphs[0]
    assert "Values of a tensor of 128x32, slopes of one of 256x1" in words.paragraphs[0]


def test_the_page_shows_them_without_the_other_costs(request, tmp_path):
    (tmp_path / "bench").mkdir()
    for name in ("degrees.json", "degrees.machine.json"):
        shutil.copyfile(request.config.rootpath / "results" / "bench" / name, tmp_path / "bench" / name)
    (section,) = sections(Results(tmp_path, []))
    assert [type(block).__name__ for block in section.blocks] == ["Missing", "Fold"]


def test_the_committed_measurement_grows_as_the_paper_says(request):
    """The paper's bytes exactly, its times within what caches and constant costs leave; ours more slowly."""
    rows, _ = read_rows(request.config.rootpath / "results" / "bench" / "degrees.json")
    exponents, _ = growth_sheets(rows)
    lines = {line[0].text: [cell.number for cell in line[2:]] for line in exponents.rows}
    n = np.arange(10, 31)
    for what, terms in (("values", n * (n + 1)), ("slopes", n * (n + 1) * (n - 1))):
        truth = np.polyfit(np.log(n), np.log(terms), 1)[0]
        assert lines[f"{what}, bytes kept"][1] == pytest.approx(truth, abs=0.2)  # and terms of lower order
        assert lines[f"{what}, forward"][1] == pytest.approx(truth, abs=0.5)
        assert lines[f"{what}, forward"][3] < lines[f"{what}, forward"][1] - 0.5
    assert statistics.median(each.rounds for each in rows) >= 7
    assert not any(math.isnan(each.forward_us) for each in rows)
    assert json.loads(json.dumps([each.as_json() for each in rows]))
