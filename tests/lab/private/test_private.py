"""The experiment on private inference: its splits, a small run of it, and what is shown."""

import math

import numpy
import pytest
import torch
from support.sealed import need_seal

from chebact.lab import LabError
from chebact.lab.cli import run_command
from chebact.lab.private import run
from chebact.lab.private.data import DATASETS, Table, splits_of
from chebact.lab.private.models import MODELS
from chebact.lab.private.rows import Row
from chebact.lab.private.settings import SETTINGS
from chebact.lab.private.sheets import TITLES, mean_sheet
from chebact.lab.private.spec import DEGREES, PrivateRequest
from chebact.lab.private.training import inner_splits
from chebact.lab.store import read_record


def test_the_tables_of_models_name_the_same_ones():
    assert list(MODELS) == list(DEGREES) == list(TITLES)


def test_fixed_polynomials_are_what_they_are_called():
    reach = 4.0
    x = numpy.linspace(-reach, reach, 9)
    square = MODELS["square"].make(1, 2, reach, None).double()
    assert square(torch.tensor(x)[:, None]).numpy()[:, 0] == pytest.approx(x**2)
    silu = MODELS["silu-fit"].make(1, 5, reach, None).double()
    assert silu(torch.tensor([[reach]])).item() == pytest.approx(reach / (1 + math.exp(-reach)))
    fit = (
        MODELS["relu-fit"].make(1, 2, reach, None).double()
    )  # the continuous least-squares fit: reach (3/32 + t/2 + 15/32 t^2)
    assert fit(torch.zeros(1, 1, dtype=torch.float64)).item() == pytest.approx(reach * 3 / 32, abs=1e-3)


@pytest.mark.parametrize("reach", [2.0, 4.0])
@pytest.mark.parametrize("degree", [2, 3, 5])
def test_learned_polynomials_start_as_the_fixed_fit_of_degree_2(degree, reach):
    x = torch.linspace(-4, 4, 9, dtype=torch.float64)[:, None]
    fixed = MODELS["silu-fit"].make(1, 2, reach, None).double()(x)
    start = MODELS["cl"].make(1, degree, reach, None)(x.float()).detach()
    assert start.double().numpy() == pytest.approx(fixed.numpy(), abs=1e-5)


def test_every_model_chooses_from_as_many_settings_on_rows_that_it_trains_with():
    assert {len(each) for each in SETTINGS.values()} == {6}
    assert list(SETTINGS) == list(MODELS)
    groups = numpy.repeat(numpy.arange(40), 3)
    table = Table(numpy.zeros((120, 1)), groups % 2, groups)
    splits = splits_of(table, 2, 0)
    inner = inner_splits(table, splits, 3)
    assert len(inner) == 6
    for number, (fit, check) in enumerate(inner):
        assert set(fit) | set(check) == set(splits[number // 3][0])
        assert not set(groups[fit]) & set(groups[check])


def test_people_stay_on_one_side_and_splits_differ():
    groups = numpy.repeat(numpy.arange(20), 3)
    table = Table(numpy.zeros((60, 1)), groups % 2, groups)
    splits = splits_of(table, 3, 0)
    assert all(not set(groups[train]) & set(groups[test]) for train, test in splits)
    assert len({tuple(test) for _, test in splits}) == 3


def test_what_is_asked_for_is_checked():
    assert {spec.data for spec in run.specs_of(PrivateRequest())} == {"breast-cancer", "wine"}
    with pytest.raises(LabError, match="data set must be one of breast-cancer, wine, voice, got 'mnist'"):
        run.specs_of(PrivateRequest(datasets=("mnist",)))
    with pytest.raises(LabError, match="nothing is asked for"):
        run.specs_of(PrivateRequest(models=("square",), degrees=(3,)))
    with pytest.raises(LabError, match="voice must be the CSV file of UCI 489, got None; name it with --voice"):
        DATASETS["voice"].read(None)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    need_seal()
    folder = tmp_path_factory.mktemp("results") / "private"
    words = ["--datasets", "wine", "--models", "cl", "relu", "--degrees", "2", "--splits", "2", "--epochs", "2"]
    assert run_command(["run", "private", *words, "--workers", "1", "--results", str(folder)]) == 0
    return folder


def test_a_run_writes_accuracies_decisions_and_costs(results):
    record = read_record(results / "wine" / "cl-2.json").typed
    assert record.results.served.levels == 5
    assert [split.same_decisions for split in record.results.splits] == [36, 36]
    assert all(split.encrypted_accuracy == split.cut_accuracy for split in record.results.splits)
    assert read_record(results / "wine" / "relu.json").typed.results.served is None


def test_the_report_fills_documents_and_draws(results, tmp_path):
    document = tmp_path / "page.md"
    document.write_text("<!-- begin: private-wine -->\n<!-- end: private-wine -->\n")
    words = ["--results", str(results), "--update", str(document), "--pictures", str(tmp_path / "pictures")]
    assert run_command(["report", "private", *words]) == 0
    assert "| CL, range penalty | 2 |" in document.read_text()
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == ["private-dark.svg", "private-light.svg"]


def row(data, model, degree, accuracy, lost=0):
    names = dict.fromkeys(Row.__dataclass_fields__)
    known = {"data": data, "model": model, "degree": degree, "accuracy": accuracy, "splits": 10, "lost": lost}
    return Row(**{**names, **known})


def test_the_best_polynomial_is_marked_and_lost_runs_are_counted():
    rows = [row("wine", "relu", 0, 99.0), row("wine", "square", 2, 97.0, lost=3), row("wine", "cl", 2, 98.0)]
    relu, square, cl = mean_sheet(rows, ["wine"]).rows
    assert [cells[2].mark for cells in (relu, square, cl)] == ["", "", "best"]
    assert square[-1].text == "3 of 10"
