"""The arena: its tables of data and models, a run of it, and the records that are committed."""

import math
from dataclasses import replace
from pathlib import Path

import numpy
import pytest
import torch
from torch import nn

from chebact.lab import LabError, functions
from chebact.lab.arena import run
from chebact.lab.arena.data import DATASETS, Table
from chebact.lab.arena.entrants import ENTRANTS
from chebact.lab.arena.formulas import FORMULAS
from chebact.lab.arena.networks import OneReplica, ReplicaPReLU, activation_of, make_estimator
from chebact.lab.arena.scores import count_parameters, score_of
from chebact.lab.arena.spec import CORE, ArenaRequest, ArenaSpec
from chebact.lab.arena.splits import splits_of
from chebact.lab.cli import run_command
from chebact.lab.spec import as_plain
from chebact.lab.store import read_record

RECORDS = Path(__file__).resolve().parents[3] / "results" / "arena"
NOWHERE = Path("nowhere")
MADE = [name for name, row in DATASETS.items() if row.file is None]


def test_there_are_twenty_formulas_and_their_values_are_those_computed_by_hand():
    assert len(FORMULAS) == 20
    hand = {
        "I.6.20": ((1, 2), math.exp(-1 / 8) / (2 * math.sqrt(2 * math.pi))),
        "I.8.14": ((1, 4, 1, 5), 5.0),
        "I.10.7": ((2, 3, 5), 2.5),
        "I.16.6": ((1, 1, 1), 1.0),
        "I.18.4": ((1, 3, 4, 8), 7.0),
        "I.27.6": ((2, 4, 2), 1.0),
        "I.44.4": ((2, 3, 1, 1, math.e), 6.0),
        "III.17.37": ((3, 2, math.pi), -3.0),
    }
    for name, (x, value) in hand.items():
        assert FORMULAS[name].values(numpy.array([x], float))[0] == pytest.approx(value), name


def test_the_data_sets_are_those_that_are_promised():
    kinds = [name.partition("-")[0] for name in DATASETS]
    assert sum(kind in functions.DATASETS for kind in kinds) == 14
    assert kinds.count("feynman") == 80
    assert {"friedman1", "friedman2", "friedman3", "diabetes", "breast-cancer", "wine", "digits"} < set(DATASETS)
    assert set(CORE) <= set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_data_are_finite_and_the_same_every_time(name):
    data, again = DATASETS[name].make(), DATASETS[name].make()
    assert numpy.isfinite(data.x).all()
    assert (data.y == again.y).all()
    if data.truth is not None:
        noise, wanted = (data.y - data.truth).std(), float(name.rpartition("-")[2]) if "-" in name else 0.01
        unit = 1.0 if DATASETS[name].family in functions.DATASETS else data.truth.std()
        assert noise / unit == pytest.approx(wanted, rel=0.1)


def test_the_draws_of_a_function_are_the_same_at_every_noise_level():
    one, other = (DATASETS[f"feynman-i.9.18-{noise}"].make() for noise in ("0.01", "0.1"))
    assert (one.x == other.x).all()
    numpy.testing.assert_allclose(10 * (one.y - one.truth), other.y - other.truth, atol=1e-12)


def test_a_person_is_never_in_both_parts_of_a_split_and_classes_are_even():
    people = numpy.repeat(numpy.arange(30), 3)
    table = Table(numpy.zeros((90, 1)), (people % 2).astype(str), groups=people)
    for train, test in splits_of(table, "classification", 3):
        assert not set(people[train]) & set(people[test])
        assert (table.y[test] == "1").mean() == pytest.approx(0.5, abs=0.1)
    with pytest.raises(LabError, match="folds must be 45 at most, the rows of the rarest class, got 46"):
        splits_of(table, "classification", 46)


def test_a_model_that_is_missing_is_named_and_one_that_is_asked_for_is_an_error(monkeypatch):
    entrant = replace(ENTRANTS["pykan"], packages=("no-such-package",))
    monkeypatch.setitem(run.ENTRANTS, "pykan", entrant)
    contest = run.contest_of(ArenaRequest(datasets=("wine",)))
    assert "pykan is left out: no-such-package is not installed (`python3 dev.py arena` has it)" in contest.left_out
    assert not [spec for spec in contest.specs if spec.model == "pykan"]
    with pytest.raises(LabError, match="model pykan needs no-such-package, which is not installed"):
        run.contest_of(ArenaRequest(datasets=("wine",), models=("pykan",)))
    with pytest.raises(LabError, match=r"model must be one of cl, cl-single, relu, .*got 'rely'"):
        run.contest_of(ArenaRequest(models=("rely",)))
    with pytest.raises(LabError, match="data set must be one of"):
        run.contest_of(ArenaRequest(datasets=("wines",)))


def test_voices_that_are_not_there_are_named():
    request = ArenaRequest(models=("linear",), voices=NOWHERE)
    contest = run.contest_of(request)
    assert {spec.data for spec in contest.specs} == set(MADE)
    assert len(contest.left_out) == 2
    with pytest.raises(LabError, match="must be in --voices, got no file nowhere"):
        run.contest_of(replace(request, datasets=("voices-multiple",)))


def test_slow_models_have_the_core_alone_and_fewer_splits():
    specs = run.contest_of(
        ArenaRequest(models=("gelu-single", "gaussian-process", "kernel-ridge"), voices=NOWHERE)
    ).specs
    by_model = {name: [spec for spec in specs if spec.model == name] for name in ("gelu-single", "gaussian-process")}
    assert {spec.data for spec in by_model["gelu-single"]} == set(CORE)
    assert {model: {spec.splits for spec in found} for model, found in by_model.items()} == {
        "gelu-single": {1}, "gaussian-process": {2},
    }  # fmt: skip
    assert "digits" not in {spec.data for spec in by_model["gaussian-process"]}
    assert "wine" not in {spec.data for spec in specs if spec.model == "kernel-ridge"}


class Widths(nn.Module):
    """A peer: a learned number per channel, and a buffer."""

    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(1.0, channels + 1))
        self.register_buffer("shift", torch.ones(()))

    def forward(self, x):
        return self.weight * x + self.shift


def test_an_activation_of_another_library_gets_the_replica_axis():
    module, x = OneReplica(Widths(3)), torch.randn(1, 5, 3)
    assert [tuple(each.shape) for each in module.parameters()] == [(1, 3)]
    torch.testing.assert_close(module(x), x * torch.tensor([1.0, 2.0, 3.0]) + 1)
    module(x).sum().backward()
    torch.testing.assert_close(next(module.parameters()).grad[0], x[0].sum(dim=0))
    assert module.double()(x.double()).dtype == torch.float64


def test_prelu_with_replicas_is_torchs_prelu_in_each():
    module, x = ReplicaPReLU(3, replicas=2), torch.randn(2, 5, 3)
    with torch.no_grad():
        module.slopes[1] = 0.5
    torch.testing.assert_close(module(x)[1], nn.functional.prelu(x[1], torch.full((3,), 0.5)))


def test_the_same_network_differs_in_the_activation_alone():
    ours, other = (make_estimator("regression", 3, 7, activation=each) for each in (None, "tanh"))
    changed = {name for name, value in ours.get_params().items() if other.get_params()[name] != value}
    assert changed == {"activation"}
    assert activation_of("prelu", 0) is ReplicaPReLU
    assert make_estimator("classification", 3, 7, replicas=1).n_replicas == 1


class Constant:
    """Predicts one number, and one deviation."""

    noise_ = True

    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def predict(self, x, return_std=False):
        return numpy.full(len(x), self.mean), numpy.full(len(x), self.std)


def test_scores_are_against_the_truth_and_coverage_is_of_measurements():
    truth = numpy.array([-1.0, 1.0] * 500)
    table = Table(numpy.zeros((1000, 1)), truth + numpy.random.default_rng(0).normal(size=1000), truth)
    found = score_of(Constant(0.0, math.sqrt(2)), "regression", table, numpy.arange(1000))
    assert found["score"] == pytest.approx(1.0)  # one deviation of the truth
    assert found["coverage"][4] == pytest.approx(0.9, abs=0.03)
    with pytest.raises(FloatingPointError, match="a prediction is not finite"):
        score_of(Constant(math.nan, 1.0), "regression", table, numpy.arange(1000))


def test_a_fit_that_fails_has_a_reason_and_no_score():
    class Failing:
        def fit(self, x, y):
            raise ValueError("all networks diverged")

    table = Table(numpy.zeros((4, 1)), numpy.zeros(4))
    found = run.fit_and_score(Failing(), "regression", table, numpy.arange(2), numpy.arange(2, 4))
    assert (found["score"], found["failed"]) == (None, "ValueError: all networks diverged")


@pytest.mark.parametrize(
    ("model", "count"), [("linear", 4), ("mlp", 3 * 32 + 32 + 3 * (32 * 32 + 32) + 33), ("forest", None)]
)
def test_parameters_are_counted_by_hand(model, count):
    x = numpy.random.default_rng(0).normal(size=(40, 3))
    estimator = run.estimator_of(ENTRANTS[model], "regression", 3, 0)
    estimator.set_params(**({"regressor__mlpregressor__max_iter": 500} if model == "mlp" else {}))
    assert count_parameters(estimator.fit(x, x[:, 0])) == count


def test_a_run_writes_a_record_per_model_and_table_and_goes_on_where_it_was(tmp_path, monkeypatch):
    small = replace(ENTRANTS["cl"], make=f"{__name__}:small_estimator")
    monkeypatch.setitem(run.ENTRANTS, "cl", small)
    results = tmp_path / "arena"
    words = ["run", "arena", "--datasets", "diabetes", "wine", "--models", "cl", "linear", "--workers", "1"]
    assert run_command([*words, "--results", str(results)]) == 0
    found = {str(path.relative_to(results)): path.read_bytes() for path in results.rglob("*.json")}
    assert set(found) == {"diabetes/cl.json", "diabetes/linear.json", "wine/cl.json", "wine/linear.json"}
    record = read_record(results / "diabetes" / "cl.json").typed
    assert [len(split.coverage) for split in record.results.splits] == [6, 6, 6]
    assert record.results.parameters == 2 * (10 * 8 + 8 + 8 * 8 + 8 + 9 + 2 * 4 * 8)
    (results / "wine" / "cl.json").unlink()
    assert run_command([*words, "--results", str(results)]) == 0
    again = {str(path.relative_to(results)): path.read_bytes() for path in results.rglob("*.json")}
    assert {name for name in found if again[name] != found[name]} <= {"wine/cl.json"}
    assert read_record(results / "wine" / "cl.json").results["splits"][0]["score"] is not None


def small_estimator(task, columns, seed):
    """Ours, as small as it gets."""
    estimator = make_estimator(task, columns, seed, replicas=2)
    return estimator.set_params(epochs=6, width=8, blocks=1, degree=3)


def test_the_table_of_models_rebuilds_the_spec_of_every_committed_record():
    paths = sorted(RECORDS.rglob("*.json"))
    assert paths
    wanted = {}
    for entrant in ENTRANTS.values():
        for data in DATASETS.values():
            if run.enters(entrant, data):
                spec = run.spec_of(entrant, data, ArenaRequest())
                wanted[spec.path(RECORDS)] = as_plain(spec)
    for path in paths:
        record = read_record(path)
        assert record.spec == wanted[path], path
        assert as_plain(ArenaSpec(**record.spec)) == record.spec
        assert record.typed.results.family == DATASETS[record.spec["data"]].family
