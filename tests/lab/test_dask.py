"""The same cohorts on a real Dask scheduler with two worker processes: the same records, but for times and host."""

import json

import pytest

from chebact.lab import LabError
from chebact.lab.cli import run_command
from chebact.lab.synthetic.run import run_synthetic
from chebact.lab.synthetic.spec import SyntheticRequest

distributed = pytest.importorskip("distributed", reason="distributed is not installed")

pytestmark = pytest.mark.dask
REQUEST = SyntheticRequest(("relu", "tanh", "cl-extrapolate"), ("step", "gravity"), (0.01,), "released", 2, 2)


def without_run(folder):
    """Every record's text up to its last part, which holds times and host."""
    texts = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.json")}
    return {name: text[: text.index('\n"run": ')] for name, text in texts.items()}


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster


def test_a_cluster_gives_the_records_of_one_process(cluster, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    list(run_synthetic(REQUEST, here, workers=1))
    list(run_synthetic(REQUEST, there, dask=cluster.scheduler_address))
    assert without_run(there) == without_run(here)
    assert len(without_run(here)) == 6


def test_the_command_takes_an_address(cluster, tmp_path, capsys):
    words = ["--models", "relu", "--datasets", "step", "--noise", "0.01", "--seeds", "1", "--epochs", "1"]
    address = ["--dask", cluster.scheduler_address, "--results", str(tmp_path)]
    assert run_command(["run", "synthetic", *words, *address]) == 0
    assert json.loads((tmp_path / "paper/0.01/relu-step.json").read_text())["spec"]["seeds"] == 1


def test_a_scheduler_out_of_reach_gets_one_sentence(tmp_path, capsys):
    address = ["--dask", "tcp://127.0.0.1:9", "--results", str(tmp_path)]
    assert run_command(["run", "synthetic", "--models", "relu", "--datasets", "step", *address]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("chebact: no Dask scheduler answers at 'tcp://127.0.0.1:9'")
    assert not list(tmp_path.iterdir())


def test_a_scheduler_without_workers_gets_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("chebact.lab.workers.WAIT", 0.2)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        pytest.raises(LabError, match="has no workers: start one with `dask worker`"),
    ):
        list(run_synthetic(REQUEST, tmp_path, dask=empty.scheduler_address))


def test_a_strange_address_gets_one_sentence(tmp_path):
    with pytest.raises(LabError, match="no Dask scheduler"):
        list(run_synthetic(REQUEST, tmp_path, dask="carrier-pigeon://roof"))
