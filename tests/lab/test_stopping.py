"""A run that is told to stop ends at once and takes its worker processes along; what was finished stays."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

from chebact.lab import LabError
from chebact.lab.cli import run_command
from chebact.lab.stopping import Stopped, stop_by_exception
from chebact.lab.store import read_record
from chebact.lab.workers import run_all

PROCESSES = Path("/proc")
# Cubic explodes on Jump within a few epochs, which ends its training; the others would take hours.
WORDS = ["--models", "cubic", "relu", "tanh", "--datasets", "jump", "--noise", "0.01", "--epochs", "100000"]
# A shell without job control has what it runs in the background ignore Ctrl-C, and children inherit that.
START = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from chebact.__main__ import main"
)
KILL = (signal.SIGTERM, False, 143)  # the signal, whether the whole group gets it, the exit code
OTHERS = {
    "Ctrl-C": (signal.SIGINT, True, 130),
    "kill the group": (signal.SIGTERM, True, 143),
    "kill -9": (getattr(signal, "SIGKILL", None), False, -9),
}
LAST = "\nchebact: stopped; what was done is saved, and the same command continues from there\n"

listed = pytest.mark.skipif(not (PROCESSES / "self" / "stat").exists(), reason="the system does not list its processes")


def alive(session):
    """The processes of a session that still run."""
    found = []
    for path in PROCESSES.glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().rpartition(")")
        except OSError:
            continue  # it has just ended
        state, _, _, own = rest.split()[:4]
        if int(own) == session and state != "Z":
            found.append(name)
    return found


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def started(folder):
    """A run on two worker processes, in a session of its own."""
    words = ["run", "synthetic", *WORDS, "--seeds", "1", "--workers", "2", "--results", str(folder / "results")]
    with (folder / "said").open("w") as said:
        command = [sys.executable, "-c", f"{START}; sys.exit(main())", *words]
        return subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)


def stopped(process, folder, number, group, code):
    """Stop it when the first cohort is done, and see what is left; what it said."""
    done = folder / "results" / "paper" / "0.01" / "cubic-jump.json"
    try:
        assert wait_for(done.exists, 120), (folder / "said").read_text()
        assert len(alive(process.pid)) >= 3
        (os.killpg if group else os.kill)(process.pid, number)
        assert process.wait(20) == code
    finally:
        process.kill()
        process.wait()
    assert wait_for(lambda: not alive(process.pid), 10)
    assert read_record(done).spec["model"] == "cubic"
    assert [path.name for path in (folder / "results").rglob("*") if path.is_file()] == [done.name]
    return (folder / "said").read_text()


@listed
@pytest.mark.fork
def test_a_run_ends_at_once_with_its_workers_and_keeps_what_is_done(tmp_path):
    said = stopped(started(tmp_path), tmp_path, *KILL)
    assert said.endswith(LAST)
    assert said.count("chebact: ") == 1
    assert "Traceback" not in said
    assert "Warning" not in said


@pytest.mark.slow
@listed
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.fork
def test_so_it_does_by_other_ways_to_stop(tmp_path, name):
    said = stopped(started(tmp_path), tmp_path, *OTHERS[name])
    assert said.endswith(LAST) or name == "kill -9"
    assert "Traceback" not in said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_exit_code_is_that_of_the_signal(number, code, monkeypatch, capsys):
    before = signal.getsignal(number)
    monkeypatch.setattr("chebact.lab.cli.app", lambda *_, **__: signal.raise_signal(number))
    monkeypatch.setattr("chebact.lab.stopping.SIGNALS", (number,))
    signal.signal(number, signal.SIG_DFL)
    try:
        assert run_command(["kernels"]) == code
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert capsys.readouterr().err.count("\n") == 1


def test_what_the_process_ignores_stays_ignored_and_other_threads_are_let_be():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with stop_by_exception():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    passed = []

    def enter():
        with stop_by_exception():
            passed.append(True)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert passed == [True]


def twice():
    try:
        signal.raise_signal(signal.SIGTERM)
    finally:
        signal.raise_signal(signal.SIGTERM)


def test_a_signal_that_comes_twice_is_one_wish():
    with pytest.raises(Stopped), stop_by_exception():
        twice()


@pytest.mark.fork
def test_a_worker_that_is_killed_gets_one_sentence(monkeypatch):
    class Parallel:
        def __init__(self, **_):
            pass

        def __call__(self, pieces):
            yield 1
            raise TerminatedWorkerError("A worker process managed by the executor was unexpectedly terminated.")

    monkeypatch.setattr("joblib.Parallel", Parallel)
    results = run_all(abs, [1, 2], workers=2)
    assert next(results) == 1
    with pytest.raises(LabError, match=r"a worker process was killed.*`workers`"):
        next(results)
