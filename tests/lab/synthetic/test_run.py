"""The synthetic experiment and its command: the same bits in any company, resumed, and by any number of workers."""

import json
import subprocess
import sys
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
import torch

from chebact.lab import LabError
from chebact.lab.cli import run_command
from chebact.lab.functions import DATASETS, target
from chebact.lab.store import read_record
from chebact.lab.synthetic.run import run_synthetic
from chebact.lab.synthetic.spec import SyntheticRequest, SyntheticSpec
from chebact.lab.synthetic.training import stack_specs, train, train_together
from chebact.networks import ARCHITECTURES, ResidualMLP

SMALL = SyntheticRequest(("relu", "cl-extrapolate"), ("pendulum", "step"), (0.01,), "released", 2, 3)
ARGUMENTS = {"models": "relu", "datasets": "step prelu", "noise": "0.01", "seeds": "2", "epochs": "2", "workers": "1"}


pytestmark = pytest.mark.usefixtures("one_thread")


def run(request, folder, **options):
    return list(run_synthetic(request, folder, **({"workers": 1} | options)))


def contents(folder):
    """Every record without its times and host."""
    texts = {str(path.relative_to(folder)): json.loads(path.read_text()) for path in folder.rglob("*.json")}
    return {name: {part: value for part, value in parts.items() if part != "run"} for name, parts in texts.items()}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    run(SMALL, folder)
    return folder


def test_the_full_request_is_the_papers():
    groups = SyntheticRequest().groups()
    assert sum(cohort.seeds for group in groups for cohort in group) == 1540
    assert len({cohort for group in groups for cohort in group}) == 154
    assert all(len({cohort.model for cohort in group}) == 1 for group in groups)
    costs = [sum(spec.cost() for spec in group) for group in groups]
    assert costs == sorted(costs, reverse=True)


def test_a_group_follows_from_the_request_alone():
    many = SyntheticRequest(("relu",), seeds=100).groups()
    assert [sum(cohort.seeds for cohort in group) for group in many] == [100] * 14
    assert len(SyntheticRequest(("relu", "relu"), ("step",), (0.01, 0.01)).groups()) == 1


def test_a_record_tells_all(small):
    record = read_record(small / "released" / "0.01" / "cl-extrapolate-pendulum.json")
    assert record.experiment == "synthetic"
    asked = {"model": "cl-extrapolate", "dataset": "pendulum", "noise": 0.01, "recipes": "released"}
    sizes = {"seeds": 2, "epochs": 3, "points": 1000, "batch_size": 32}
    settings = {"learning_rate": 0.01, "momentum": 0.99, "weight_decay": 1e-6, "form": "released"}
    settings |= {"column_order": "per-seed"}
    assert record.spec == asked | sizes | settings
    assert [seed["seed"] for seed in record.results["seeds"]] == [0, 1]
    assert all(0 < seed["rmse"] < 1 and seed["nan"] is False for seed in record.results["seeds"])
    assert record.results["curve"]["epoch"] == [1, 2, 3]
    assert len(record.results["slice"]) == 101
    assert {"versions", "commit", "machine", "threads", "kernel"} <= set(record.environment)
    assert {"created", "host", "seconds"} <= set(record.run)
    assert (small / "released" / "0.01" / "cl-extrapolate-pendulum.json").stat().st_size < 6000


def test_a_record_keeps_two_channels_of_every_learned_layer(small):
    record = read_record(small / "released" / "0.01" / "cl-extrapolate-pendulum.json")
    kept = record.results["activations"]
    assert (kept["degree"], kept["tails"], kept["interval"]) == (3, "extrapolate", [-1.0, 1.0])
    layers = kept["layers"]
    assert [layer["layer"] for layer in layers] == ["blocks.0.0", "blocks.1.0", "blocks.2.0", "last_activation"]
    for layer in layers:
        assert layer["start"] == [[0.0] * 4] * 2
        assert np.shape(layer["values"]) == (2, 4)
        assert np.all(np.array(layer["values"]) != 0)
        for inputs in layer["inputs"]:
            assert sum(inputs["counts"]) == 1000
            edges = np.linspace(inputs["low"], inputs["high"], len(inputs["counts"]) + 1)
            inner = sum(
                count
                for count, a, b in zip(inputs["counts"], edges, edges[1:], strict=False)
                if a >= -1 and b <= 1  # whole bins inside the interval
            )
            touched = sum(
                count for count, a, b in zip(inputs["counts"], edges, edges[1:], strict=False) if a <= 1 and b >= -1
            )
            assert inner <= round(1000 * (1 - inputs["outside"])) <= touched
    assert "activations" not in read_record(small / "released" / "0.01" / "relu-pendulum.json").results


def test_the_kept_inputs_are_those_of_the_network():
    """The first layer's inputs are the first linear map of the test points, which are the same for one seed alone."""
    cohort = SyntheticSpec("cl-extrapolate", "gravity", 0.01, "released", 1, 1)
    network, start, _ = train([cohort, SyntheticSpec("cl-extrapolate", "step", 0.01, "released", 31, 1)])
    (result, _) = train_together([cohort, SyntheticSpec("cl-extrapolate", "step", 0.01, "released", 31, 1)])
    assert all((values == 0).all() for values in start.values())
    x = cohort.data("test")[0].double()
    weight, bias = (part.detach()[0, :2].double() for part in (network.first.weight, network.first.bias))
    wanted = x @ weight[:, :4].T + bias
    for channel, kept in enumerate(result["activations"]["layers"][0]["inputs"]):
        column = wanted[:, channel]
        np.testing.assert_allclose([kept["low"], kept["high"]], [column.min(), column.max()], rtol=1e-4)
        np.testing.assert_allclose(kept["outside"], (column.abs() > 1).double().mean(), atol=2e-3)


def test_the_rmse_is_that_of_a_plain_training(small):
    """One seed again, by torch alone in float64, with the record's generators: the same but for rounding."""
    cohort = SyntheticSpec("relu", "pendulum", 0.01, "released", 2, 3, column_order="per-seed")
    x, y = cohort.data("train")[0].double(), cohort.data("train")[1][1].double()
    network = ResidualMLP.from_table("relu", 3, generator=cohort.generators("start")[1]).double()
    order = cohort.generators("order")[1]
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.99, weight_decay=1e-6)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
    for _ in range(3):
        permutation = torch.randperm(1000, generator=order)
        for batch in permutation.split(32):
            optimizer.zero_grad()
            torch.nn.functional.l1_loss(network(x[batch]), y[batch]).backward()
            optimizer.step()
        schedule.step()
    tested = cohort.data("test")[0].double()
    wrong = network(tested).detach() - target("pendulum", tested, "released")
    record = read_record(cohort.path(small))
    np.testing.assert_allclose(record.results["seeds"][1]["rmse"], wrong.square().mean().sqrt(), rtol=1e-4)


def test_data_are_one_draw_for_all_and_test_targets_have_no_noise():
    quiet, loud = (SyntheticSpec("relu", "jump", noise, "paper") for noise in (0.01, 0.04))
    other = SyntheticSpec("tanh", "jump", 0.01, "paper", seeds=3)
    assert torch.equal(quiet.data("train")[0], loud.data("train")[0])
    assert torch.equal(quiet.data("train")[1][:3], other.data("train")[1])
    assert not torch.equal(quiet.data("train")[0], quiet.data("test")[0])
    x, y = loud.data("test")
    torch.testing.assert_close(y, target("jump", x, "paper").expand(10, 1000, 1))
    clean = target("jump", quiet.data("train")[0], "paper")
    ratio = (loud.data("train")[1] - clean).std() / (quiet.data("train")[1] - clean).std()
    assert abs(ratio - 4) < 0.01


def test_every_published_repeat_had_its_own_order_of_the_columns():
    """As the released code: the same inputs and noise, the columns after the first in another order per seed."""
    sigmoid = SyntheticSpec("relu", "sigmoid", 0.01, "released", 10, column_order="per-seed")
    (x, y), (test_x, test_y) = sigmoid.data("train"), sigmoid.data("test")
    fixed = replace(sigmoid, column_order="fixed")
    assert torch.equal(x, fixed.data("train")[0])
    assert all(order[0] == 0 and sorted(order) == list(range(5)) for order in sigmoid.orders())
    for seed, order in enumerate(sigmoid.orders()):
        a, b, c, d, e = test_x[:, order].double().T
        truth = 2 * b / (1 + torch.exp(-10 * c * (a - d + 0.5))) + e - 0.5
        torch.testing.assert_close(test_y[seed, :, 0].double(), truth, rtol=1e-4, atol=1e-5)
        noise = y[seed] - target("sigmoid", x, "released", order)
        torch.testing.assert_close(
            noise, fixed.data("train")[1][0] - target("sigmoid", x, "released"), atol=1e-6, rtol=0
        )
    assert sigmoid.orders() == replace(sigmoid, model="tanh", noise=0.04).orders()
    many = replace(sigmoid, seeds=200)
    assert len({tuple(order) for order in many.orders()}) == 24
    counts = {name: len({tuple(order) for order in replace(many, dataset=name).orders()}) for name in DATASETS}
    assert counts == {"pendulum": 2, "arrhenius": 2, "gravity": 6, "sigmoid": 24, "jump": 6, "prelu": 2, "step": 1}


@pytest.mark.parametrize("name", DATASETS)
def test_symmetric_functions_are_those_whose_columns_can_change_places(name):
    features = DATASETS[name].features
    x = torch.rand(50, features, dtype=torch.float64) * 2 - 1
    orders = [(0, *rest) for rest in permutations(range(1, features))]
    same = all(torch.allclose(target(name, x, "released", order), target(name, x, "released")) for order in orders)
    assert same == DATASETS[name].symmetric


def test_columns_and_loss_follow_from_the_recipes_unless_they_are_named():
    usual = {form: SyntheticRequest(recipes=form).groups()[0][0] for form in ("paper", "released", "recommended")}
    orders = {form: spec.column_order for form, spec in usual.items()}
    assert orders == {"paper": "fixed", "released": "per-seed", "recommended": "fixed"}
    assert not any(spec.changes for spec in usual.values())
    assert {form: spec.loss for form, spec in usual.items()} == {
        "paper": "absolute",
        "released": "absolute",
        "recommended": "scaled-huber",
    }
    (group, *_) = SyntheticRequest(("relu",), recipes="recommended", loss="absolute").groups()
    assert {(spec.loss, spec.changes) for spec in group} == {("absolute", ("loss absolute",))}
    (group,) = SyntheticRequest(("relu",), recipes="released", column_order="fixed").groups()
    assert {spec.changes for spec in group} == {("fixed columns",)}


def test_other_choices_have_folders_of_their_own(tmp_path):
    def folder(**choices):
        return (
            SyntheticSpec("cl", "step", 0.01, "released", column_order="per-seed", **choices).path(tmp_path).parts[-3]
        )

    choices = {"form": "paper"}, {"start": "he-uniform"}, {"loss": "mse"}, {"form": "paper", "loss": "mse"}
    assert [folder(**each) for each in choices] == [
        "released-form-paper",
        "released-start-he-uniform",
        "released-loss-mse",
        "released-form-paper-loss-mse",
    ]
    assert folder() == "released"


def test_the_form_of_the_paper_is_of_the_networks_that_it_changes():
    asked = SyntheticRequest(recipes="released", form="paper")
    specs = [spec for group in asked.groups() for spec in group]
    assert {spec.model for spec in specs} == {"cl", "wcp", "pcs-cl", "tanh-cl"}
    network, _, _ = train([replace(specs[0], seeds=1, epochs=1)])
    assert not isinstance(network.last_activation, torch.nn.Identity)
    with pytest.raises(LabError, match="form paper must have one of cl, wcp, pcs-cl, tanh-cl, got relu, tanh"):
        replace(asked, models=("relu", "tanh")).groups()


def test_he_uniform_weights_lie_within_the_textbook_bound():
    """sqrt(6 / fan-in) for the columns that each function has, from the same draws as torch's 1 / sqrt(fan-in)."""
    usual = SyntheticSpec("relu", "gravity", 0.01, "released", seeds=40, epochs=1, learning_rate=1e-30)
    networks = [train([replace(usual, start=start)])[0] for start in ("released", "he-uniform")]
    for part, fan_in in (("first", 4), ("last", 32)):
        torch_own, he = (getattr(network, part) for network in networks)
        bound = (6 / fan_in) ** 0.5
        assert 0.97 * bound < float(he.weight.detach().abs().max()) <= bound * (1 + 1e-6)
        torch.testing.assert_close(he.weight, torch_own.weight * 6**0.5)
        assert torch.equal(he.bias, torch_own.bias)


def test_the_squared_error_is_torchs():
    spec = SyntheticSpec("tanh", "step", 0.01, "released", 1, 1, loss="mse", learning_rate=1e-30)
    network, _, run = train([spec])
    x, y = spec.data("train")
    wanted = torch.nn.functional.mse_loss(network(stack_specs([spec], [x])), y)
    torch.testing.assert_close(run.losses[0, 0].double(), wanted.double(), rtol=1e-4, atol=0)


def test_no_two_trainings_share_their_randomness():
    cohorts = [cohort for group in SyntheticRequest().groups() for cohort in group]
    seeds = {g.initial_seed() for each in cohorts for what in ("start", "order") for g in each.generators(what)}
    assert len(seeds) == 2 * 1540


@pytest.mark.parametrize("model", [name for name in ARCHITECTURES if "2x" not in name])
def test_no_result_depends_on_its_companions(model):
    cohorts = [SyntheticSpec(model, dataset, 0.01, "released", 5, 1) for dataset in DATASETS]
    together = train_together(cohorts)
    assert train_together(cohorts[2:3]) == together[2:3]
    assert train_together(cohorts[::-1])[::-1] == together


def test_a_folder_filled_in_two_requests(small, tmp_path):
    run(SyntheticRequest(("cl-extrapolate",), ("step",), (0.01,), "released", 2, 3), tmp_path)
    run(SMALL, tmp_path)
    assert contents(tmp_path) == contents(small)


def test_what_is_missing_is_made_again_and_the_rest_is_left(small, tmp_path):
    run(SMALL, tmp_path)
    lost, kept = tmp_path / "released/0.01/relu-step.json", tmp_path / "released/0.01/relu-pendulum.json"
    lost.unlink()
    before = kept.stat().st_mtime_ns
    steps = run(SMALL, tmp_path)
    assert [step.done for step in steps] == [3, 4]
    assert kept.stat().st_mtime_ns == before
    assert contents(tmp_path) == contents(small)
    assert [step.fraction for step in run(SMALL, tmp_path)] == [1.0]


def test_worker_processes_give_the_same(small, tmp_path):
    run(SMALL, tmp_path, workers=2)
    assert contents(tmp_path) == contents(small)


def test_another_spec_in_the_folder_is_refused_before_anything_runs(small):
    before = contents(small)
    with pytest.raises(LabError, match="seeds is 2 there and 10 here"):
        run(SyntheticRequest(("relu",), ("step", "jump"), (0.01,), "released", 10, 3), small)
    assert contents(small) == before


def test_the_explosions_of_the_paper_are_counted():
    (result,) = train_together([SyntheticSpec("cubic", "gravity", 0.01, "released", 3, 20)])
    assert [seed["nan"] for seed in result["seeds"]] == [True] * 3
    assert [seed["rmse"] for seed in result["seeds"]] == [None] * 3
    assert result["slice"] == [None] * 101
    assert "activations" not in result
    (result,) = train_together([SyntheticSpec("cl", "gravity", 0.01, "released", 1, 5, learning_rate=1.0)])
    assert result["seeds"][0]["nan"]
    assert result["activations"] is None
    json.dumps(result, allow_nan=False)


def words_of(**changes):
    return [word for name, value in (ARGUMENTS | changes).items() for word in (f"--{name}", *value.split())]


def command(*arguments, capsys):
    code = run_command([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_the_command_runs_and_reports(tmp_path, capsys):
    code, _, shown = command("run", "synthetic", *words_of(), "--results", tmp_path, capsys=capsys)
    assert code == 0
    assert "2 of 2 runs" in shown
    assert sorted(path.name for path in tmp_path.rglob("*.json")) == ["relu-prelu.json", "relu-step.json"]
    code, shown, _ = command("report", "synthetic", "--results", tmp_path, capsys=capsys)
    assert code == 0
    assert "ReLU" in shown


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"models": "relu6"}, ["relu6", "cl-extrapolate"]),
        ({"datasets": "pendulums"}, ["pendulums", "gravity"]),
        ({"noise": "-0.1"}, ["noise", "-0.1"]),
        ({"noise": "nan"}, ["noise", "nan"]),
        ({"seeds": "0"}, ["seeds", "0"]),
        ({"epochs": "0"}, ["epochs", "0"]),
        ({"workers": "0"}, ["workers", "0"]),
        ({"recipe": "mine"}, ["mine", "paper", "released"]),
        ({"seeds": "many"}, ["many"]),
        ({"seeds": "1.5"}, ["seeds", "integer", "1.5"]),
        ({"workers": "2", "dask": "tcp://127.0.0.1:9"}, ["--workers", "--dask"]),
        ({"speed": "9"}, ["--speed"]),
    ],
)
def test_bad_arguments_get_one_sentence(change, words, tmp_path, capsys):
    code, _, said = command("run", "synthetic", *words_of(**change), "--results", tmp_path, capsys=capsys)
    assert code == 2
    assert said.startswith("chebact: ")
    assert said.count("\n") == 1
    assert all(word in said for word in words)
    assert not list(tmp_path.rglob("*"))


def test_a_damaged_record_stops_both_commands(tmp_path, capsys):
    path = tmp_path / "paper" / "0.01" / "relu-step.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"format": 1, "exper')
    for words in (["run", "synthetic", *words_of()], ["report", "synthetic"]):
        code, _, said = command(*words, "--results", tmp_path, capsys=capsys)
        assert code == 2
        assert "relu-step.json is not a complete record" in said
        assert path.read_text() == '{"format": 1, "exper'


def test_two_levels_of_noise_have_two_places(tmp_path):
    levels = (0.01, 0.0100000001, 0.0, -0.0)
    (group,) = SyntheticRequest(("relu",), ("step",), levels, seeds=2).groups()
    assert len({cohort.path(tmp_path) for cohort in group}) == len(group) == 3
    assert [cohort.path(tmp_path).parent.name for cohort in group] == ["0.01", "0.0100000001", "0"]


def test_rows_are_not_written_among_the_records_of_reproduce(tmp_path, capsys):
    words = ["reproduce", "--results", tmp_path, "--json", tmp_path / "rows.json"]
    code, _, said = command(*words, capsys=capsys)
    assert (code, said.count("\n")) == (2, 1)
    assert "where only records may be" in said


def test_a_results_folder_that_is_a_file_gets_one_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("chebact.lab.engine.run_all", lambda *_, **__: pytest.fail("it was trained"))
    (tmp_path / "file").write_text("")
    code, _, said = command("run", "synthetic", *words_of(), "--results", tmp_path / "file", capsys=capsys)
    assert code == 2
    assert said.splitlines()[-1].startswith("chebact: cannot write")


def test_without_the_laboratorys_packages_the_command_says_how_to_get_them():
    code = "import sys; sys.modules['rich'] = None; from chebact.__main__ import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "chebact: the command line needs rich: pip install 'chebact[lab]'\n"


def test_a_record_says_which_trainer_made_it(small, monkeypatch):
    assert read_record(small / "released" / "0.01" / "relu-step.json").results["trainer"] == "fused"
    monkeypatch.setenv("CHEBACT_KERNEL", "reference")
    cohorts = [SyntheticSpec("cl-extrapolate", dataset, 0.01, "released", 5, 1) for dataset in ("step", "jump")]
    together = train_together(cohorts)
    assert [result["trainer"] for result in together] == ["torch"] * 2
    assert train_together(cohorts[1:]) == together[1:]


def test_the_recommended_recipe_is_a_named_row(tmp_path):
    (group,) = SyntheticRequest(recipes="recommended").groups()
    (spec,) = {replace(spec, dataset="step", noise=0.01) for spec in group}
    assert (spec.model, spec.epochs, spec.init, spec.degree, spec.curvature) == (
        "cl-extrapolate",
        1000,
        "relu",
        2,
        1e-5,
    )
    assert [spec.data("train")[1].sum() for spec in group[:7]] == [
        replace(spec, recipes="released").data("train")[1].sum() for spec in group[:7]
    ]
    run(SyntheticRequest(("cl-extrapolate", "relu"), ("step",), (0.01,), "recommended", 3, 2), tmp_path)
    learned, fixed = (
        read_record(tmp_path / "recommended" / "0.01" / f"{model}-step.json") for model in ("cl-extrapolate", "relu")
    )
    assert learned.results["activations"]["degree"] == 2
    assert "curvature" not in fixed.spec
    seeds = [seed["rmse"] for seed in learned.results["seeds"]]
    assert 0 < learned.results["ensemble"] <= max(seeds)  # the mean of three predictions is no worse than the worst
