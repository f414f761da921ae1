"""The benchmark: its clock and its count of bytes against known cases, its rows, its files, its page, its errors."""

import json
import logging
import struct
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from chebact.kernels import selection
from chebact.lab import LabError, peers
from chebact.lab.bench import commands as bench
from chebact.lab.bench import contract, ops, timing
from chebact.lab.bench.figures import draw_costs
from chebact.lab.bench.files import machine_path, read_rows, write_rows
from chebact.lab.bench.machine import Machine, processor_name
from chebact.lab.bench.page import markdown as as_markdown
from chebact.lab.bench.peers import find_peers
from chebact.lab.bench.rows import Row
from chebact.lab.cli import run_command

KEYS = {"case", "layout", "name", "degree", "forward", "training", "kept_bytes"}
NO_PEERS = (peers.Peer("no-such-library", 3, lambda channels: nn.Identity()),)


@pytest.fixture
def alone(monkeypatch):
    """One thread and the kernel that needs no compiling: short, whatever else the machine does."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setenv("CHEBACT_KERNEL", "reference")
    yield
    torch.set_num_threads(threads)


class Clock:
    """A clock that only the calls move."""

    def __init__(self, monkeypatch):
        self.now, self.called = 0.0, []
        monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=lambda: self.now))

    def call(self, name, *seconds):
        """A function that takes these times in turn."""
        count = iter(range(10**9))

        def function():
            self.called.append(name)
            self.now += seconds[next(count) % len(seconds)]

        return function


def row(name="relu", degree=None, training=1.0, case="4x2", layout="nchw", **more):
    spreads = {"forward_spread": (training * 0.9, training * 1.1), "training_spread": (training * 0.9, training * 1.1)}
    fixed = {"kept_bytes": 64, "forward_us": 1.0, "training_us": 1.0, "rounds": 7}
    return Row(case, layout, name, degree, training, training, **{**fixed, **spreads, **more})


def table():
    """Rows of two cases, one of them in two layouts, one activation missing in the first."""
    places = (("4x2", "nchw"), ("2x3x2x2", "nchw"), ("2x3x2x2", "channels_last"))
    rows = []
    for case, layout in places:
        rows.append(row(case=case, layout=layout))
        rows += [row("cl-extrapolate", n, 1.5 * n, case, layout) for n in (3, 10)]
    return [*rows, row("gelu", None, 123.4, "2x3x2x2", kept_bytes=192)]


def machine_of(**more):
    versions = {"python": "3.11", "torch": "2.13.0", "numba": None}
    place = {"processor": "Abacus", "cores": 2, "load": 0.1, "system": "Linux", "machine": "x86_64", "cpu": "AVX2"}
    return Machine(**{**place, "versions": versions, "threads": 2, "kernel": "cpu", **more})


def test_timings_are_medians_and_quartiles_of_calls_in_turn(monkeypatch):
    clock = Clock(monkeypatch)
    # The first six calls find the number of repeats and warm up, then every other call is not timed.
    rounds = [(9.0, seconds) for seconds in (7.0, 1.0, 5.0, 3.0, 4.0, 6.0, 2.0)]
    uneven = clock.call("uneven", *[1.0] * 6, *(seconds for pair in rounds for seconds in pair))
    found = timing.interleaved({"steady": clock.call("steady", 0.5), "uneven": uneven}, rounds=7)
    assert found["steady"] == timing.Timing(0.5, 0.5, 0.5, 7)
    assert found["uneven"] == timing.Timing(4.0, 2.0, 6.0, 7)
    assert found["uneven"].over(found["steady"]) == 8.0
    orders = [tuple(clock.called[at : at + 4]) for at in range(8, len(clock.called), 4)]
    assert len(orders) == 8
    wanted = {("steady", "steady", "uneven", "uneven"), ("uneven", "uneven", "steady", "steady")}
    assert set(orders) == wanted, "in turns, and no fixed order"


def test_a_short_call_is_repeated_until_it_can_be_timed(monkeypatch):
    clock = Clock(monkeypatch)
    found = timing.interleaved({"short": clock.call("short", 2.0**-12)}, rounds=7)  # 0.002 s hold eight of these
    assert found["short"].seconds == 2.0**-12
    assert len(clock.called) == 4 + 8 * 8, "two calls and one timed find the repeats; a single timed call is warmed up"


# A long call is made twice in its turn, once to warm up.
@pytest.mark.parametrize(("budget", "rounds"), [(1.0, 7), (60.0, 30), (1e6, 101)])
def test_the_budget_sets_the_rounds(monkeypatch, budget, rounds):
    clock = Clock(monkeypatch)
    assert timing.interleaved({"one": clock.call("one", 1.0)}, budget=budget)["one"].rounds == rounds


def test_bytes_kept_are_those_that_autograd_holds():
    x = torch.randn(10, 6, requires_grad=True)
    linear = nn.Linear(6, 5)
    assert timing.kept_bytes(lambda: torch.relu(x)) == 4 * 60  # its result
    assert timing.kept_bytes(lambda: linear(x)) == 4 * (60 + 30)  # its input and its weight
    assert timing.kept_bytes(lambda: x * x) == 4 * 60  # one storage, twice
    assert timing.kept_bytes(lambda: x + 1) == 0


def test_rows_of_a_small_case_in_both_layouts(alone):
    rows = list(ops.measure(("2x3x2x2",), [each for each in ops.contenders() if each.degree in (None, 3)], budget=0.01))
    assert [each.layout for each in rows if each.name == "relu"] == ["nchw", "channels_last"]
    names = ["relu", "prelu", "gelu", "silu", "tanh", "cl-extrapolate", "cl-regression", "paper-algorithm"]
    assert [each.name for each in rows] == names * 2
    for each in rows:
        assert each.as_json().keys() > KEYS
        assert each.rounds >= 7
        assert each.training_spread[0] <= each.training <= each.training_spread[1]
        assert each.name != "relu" or each.forward == each.training == 1
        assert each.name != "cl-extrapolate" or each.kept_bytes == 4 * (24 + 3 * 4)  # x and the values, nothing else


def test_what_differs_from_the_reference_is_not_timed(alone, monkeypatch):
    given = iter(range(10**6))
    monkeypatch.setattr(ops, "_outcome", lambda module, x: (torch.full((3,), float(next(given))),) * 3)
    with pytest.raises(RuntimeError, match="nothing was timed"):
        next(ops.measure(("4x2",), budget=0.01))


def test_the_command_writes_rows_and_machine(alone, tmp_path, capsys):
    path = tmp_path / "ops.json"
    assert run_command(["bench", "ops", "--no-tests", "--cases", "4x2", "--budget", "0.001", "--json", str(path)]) == 0
    written = json.loads(path.read_text())
    assert {each["name"] for each in written} >= {"relu", "cl-extrapolate", "cl-regression"}
    assert all(each.keys() > KEYS and each["case"] == "4x2" for each in written)
    rows, record = read_rows(path)
    assert json.loads(json.dumps([each.as_json() for each in rows])) == written
    assert record.threads == 1
    assert record.kernel == "reference"
    assert record.versions["torch"] == torch.__version__
    assert sorted(each.name for each in path.parent.iterdir()) == ["ops.json", "ops.machine.json"]
    shown = capsys.readouterr().out
    assert "4x2 nchw" in shown
    assert processor_name() in shown


def test_files_come_back_as_they_were(tmp_path):
    path = tmp_path / "ops.json"
    write_rows(path, table(), machine_of())
    rows, record = read_rows(path)
    assert rows == table()
    assert replace(record, rows_sha256="") == machine_of()


def test_rows_and_machine_must_belong_together(tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    write_rows(first, table(), machine_of())
    write_rows(second, table()[:3], machine_of())
    machine_path(first).replace(machine_path(second))
    with pytest.raises(LabError, match="of other rows"):
        read_rows(second)
    with pytest.raises(LabError, match=r"first\.machine\.json: No such file"):
        read_rows(first)
    first.write_text('[{"name": "relu"}]')
    with pytest.raises(LabError, match="must be a list of rows"):
        read_rows(first)


def test_markdown_has_every_row_and_where_it_was_measured():
    text = as_markdown(table(), machine_of(versions={"torch": "2.13.0", "numba": None}))
    assert "Measured on Abacus (Linux x86_64, AVX2), 2 cores, 2 threads; torch 2.13.0; kernel cpu. " in text
    assert "n = 7 rounds" in text
    assert text.count("| | 4x2 | 2x3x2x2 nchw | 2x3x2x2 channels_last |") == 3
    spread = "15.0 (13.5 to 16.5)"
    assert text.count(f"| cl-extrapolate, n = 10 | {spread} | {spread} | {spread} |") == 2
    assert "| gelu | - | 123 (111 to 136) | - |" in text
    assert "| gelu | - | 2.00 | - |" in text


def test_the_page_fills_documents_and_draws(tmp_path):
    path, document, plot = tmp_path / "ops.json", tmp_path / "kernels.md", tmp_path / "ops.png"
    write_rows(path, table(), machine_of())
    document.write_text("before\n<!-- begin: bench-ops -->\nold\n<!-- end: bench-ops -->\nafter\n")
    arguments = ["bench", "page", str(path), "--update", str(document), "--plot", str(plot)]
    assert run_command([*arguments, "--markdown", str(tmp_path / "ops.md")]) == 0
    markdown = as_markdown(table(), machine_of())
    assert (tmp_path / "ops.md").read_text() == markdown
    wanted = f"before\n<!-- begin: bench-ops -->\n{markdown}<!-- end: bench-ops -->\nafter\n"
    assert document.read_text() == wanted
    width, height = struct.unpack(">II", plot.read_bytes()[16:24])
    assert (width, height) > (1000, 500)


def test_the_plot_labels_both_panels_and_is_the_same_every_time():
    image = draw_costs(table(), "svg")
    assert draw_costs(table(), "svg") == image
    text = image.decode()
    for words in ("by activation", "by degree", "degree of the polynomial", "ReLU = 1", "gelu"):
        assert f"<!-- {words}" in text or f"{words} -->" in text


@pytest.mark.parametrize("case", ["3xx", "", "4", "2x3x4", "0x5", "4x-2", "axb"])
def test_a_case_that_is_no_size(case, capsys):
    assert run_command(["bench", "ops", "--no-tests", f"--cases={case}"]) == 2
    assert (
        f"a case must be sizes such as 256x256 or 128x64x16x16, of 2 or 4 axes, got {case!r}" in capsys.readouterr().err
    )


def test_what_cannot_be_written_is_said_before_anything_is_timed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "time_cases", lambda *_: pytest.fail("timed"))
    (tmp_path / "file").touch()
    for path, reason in ((tmp_path, "it is a folder"), (tmp_path / "file" / "ops.json", "there is no folder")):
        assert run_command(["bench", "ops", "--no-tests", "--json", str(path)]) == 2
        complaint = capsys.readouterr().err
        assert complaint.startswith(f"chebact: cannot write {path}: ")
        assert reason in complaint


def test_other_wrong_arguments(tmp_path, capsys):
    for arguments, complaint in (
        (["ops", "--no-tests", "--budget", "0"], "budget must be a finite number of seconds above 0, got 0"),
        (["ops", "--no-tests", "--budget", "nan"], "budget must be a finite number of seconds above 0, got nan"),
        (["ops", "--no-tests", "--budget", "inf"], "budget must be a finite number of seconds above 0, got inf"),
        (
            ["page", str(tmp_path / "none.json")],
            "none.json: No such file or directory; `chebact bench ops --json FILE`",
        ),
        (["page", "ops.json", "--plot", "plot.jpg"], "must end in .png or .svg, got 'plot.jpg'"),
    ):
        assert run_command(["bench", *arguments]) == 2
        assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("fast", "must be one of cpu, gpu, reference"), ("gpu", "'gpu' was requested and cannot run")],
)
def test_a_kernel_that_is_not_to_be_had(name, complaint, monkeypatch, capsys):
    monkeypatch.setenv("CHEBACT_KERNEL", name)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    selection._choose.cache_clear()  # a test before this one may have interpreted the GPU kernel
    monkeypatch.setattr(bench, "time_cases", lambda *_: pytest.fail("timed"))
    assert run_command(["bench", "ops", "--no-tests", "--cases", "4x2"]) == 2
    shown = capsys.readouterr().err
    assert complaint in shown
    assert shown.startswith("chebact: ")
    assert "without it the choice is automatic" in shown


def test_red_contract_tests_stop_everything(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench, "time_cases", lambda *_: pytest.fail("timed"))
    red = tmp_path / "tests" / "kernels" / "test_red.py"
    red.parent.mkdir(parents=True)
    red.write_text("def test_wrong():\n    assert False\n")
    monkeypatch.setattr(contract, "CONTRACT", red)
    monkeypatch.setattr(contract, "find_spec", lambda name: None if name == "xdist" else name)
    assert run_command(["bench", "ops"]) == 2
    complaint = capsys.readouterr().err
    assert "the contract tests of the kernels are not green (1 failed in " in complaint
    assert "so nothing was timed" in complaint
    red.write_text("def test_right():\n    pass\n")
    contract.run_contract_tests()


def test_without_a_source_tree_the_contract_tests_are_left_out(tmp_path, monkeypatch):
    assert contract.CONTRACT.is_file()
    assert contract.why_not_tested() is None
    monkeypatch.setattr(contract, "CONTRACT", tmp_path / "none.py")
    assert "source tree" in contract.why_not_tested()


def test_a_kernel_that_gives_way_to_the_reference_is_no_result(monkeypatch, capsys):
    def measured(cases, rows, *, budget, tell):
        tell("4x2 nchw")
        logging.getLogger("chebact").warning("the kernel 'cpu' failed; the reference runs instead")
        yield row()

    monkeypatch.setattr(bench, "measure", measured)
    assert run_command(["bench", "ops", "--no-tests"]) == 2
    assert "nothing was written, since a kernel failed: the kernel 'cpu' failed" in capsys.readouterr().err
    assert not logging.getLogger("chebact").handlers


def test_stopping_writes_nothing(tmp_path, monkeypatch, capsys):
    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(bench, "time_cases", stopped)
    with pytest.raises(SystemExit) as left:
        run_command(["bench", "ops", "--no-tests", "--json", str(tmp_path / "ops.json")])
    assert left.value.code == 130
    assert "stopped; nothing was written" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_peers_that_are_not_there(monkeypatch, capsys):
    monkeypatch.setattr(bench, "PEERS", NO_PEERS)
    monkeypatch.setattr(bench, "find_peers", lambda: find_peers(NO_PEERS))
    assert run_command(["bench", "ops", "--no-tests", "--peers"]) == 2
    complaint = capsys.readouterr().err
    assert "--peers needs one of no-such-library" in complaint
    assert "run `python3 dev.py bench --peers`" in complaint


def test_peers_that_do_not_work_give_their_reason():
    def leaves(channels):
        raise SystemExit(1)

    tried = [
        peers.Peer("torch", 3, lambda channels: nn.PReLU(channels)),
        peers.Peer("torch", 3, leaves),
        peers.Peer("torch", 3, lambda channels: nn.Flatten()),
        peers.Peer("torch", 3, lambda channels: peers.library("no_such_library")),
    ]
    rows, sentences = find_peers(tuple(tried))
    assert [each.name for each in rows] == ["torch"]
    assert rows[0].only_below > 128 * 64 * 16 * 16
    for reason, sentence in zip(
        ("SystemExit", "it gave (2, 60) for (2, 3, 4, 5)", "ModuleNotFound"), sentences, strict=True
    ):
        assert reason in sentence


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("wrapper", [peers.Rows, peers.ContiguousView])
def test_wrappers_change_nothing_but_the_view(wrapper, layout):
    class Flat(nn.Module):
        """As some of the libraries are: for what is contiguous only."""

        def forward(self, x):
            assert x.is_contiguous()
            return x.view(-1).square().view(x.shape)

    x = torch.randn(2, 3, 4, 5).contiguous(memory_format=layout)
    torch.testing.assert_close(wrapper(Flat())(x), x.square(), rtol=0, atol=0)
    if wrapper is peers.Rows:
        grown = nn.Linear(3, 3, bias=False)
        torch.testing.assert_close(peers.Rows(grown)(x), torch.einsum("nchw,dc->ndhw", x, grown.weight))


def test_a_busy_machine_is_told():
    assert machine_of(load=0.9).load_warning() is None
    assert machine_of(load=None).load_warning() is None
    assert "load 3.5 on 2 cores" in machine_of(load=3.5).load_warning()


def test_neither_command_line_nor_rows_load_matplotlib():
    code = "import sys, chebact.lab.cli, chebact.lab.bench.commands; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
