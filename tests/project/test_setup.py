"""dev.py: what it says when it cannot go on, and that a second run does nothing twice."""

import ast
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "dev.py"
TWO = "-n 2 --dist loadfile --no-loadscope-reorder"

FAKE_PYTHON = """#!/bin/sh
echo "$*" >> "{log}"
case "$*" in
  *torch.__version__*) echo {torch} ;;
esac
exit {code}
"""


@pytest.fixture
def dev(tmp_path: Path) -> ModuleType:
    """dev.py, copied into a project of its own that has nothing in it but two short files."""
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "constraints.txt").write_text("numpy==2.0\ntorch==2.13.0\ntriton==3.7.1\n")
    copy = tmp_path / "dev.py"
    copy.write_text(SOURCE.read_text())
    spec = importlib.util.spec_from_file_location("dev_copy", copy)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fake_environment(dev: ModuleType, *, torch: str = "2.13.0+cpu", code: int = 0) -> Path:
    """A .venv whose Python writes down how it was called; returns the file it writes to."""
    if os.name == "nt":
        pytest.skip("the stand-in for Python is a shell script")
    log: Path = dev.ROOT / "calls"
    python: Path = dev.python_of(dev.VENV)
    python.parent.mkdir(parents=True)
    python.write_text(FAKE_PYTHON.format(log=log, torch=torch, code=code))
    python.chmod(0o755)
    return log


def only_sentence(capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that was put on stderr."""
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("dev.py: ")
    return lines[0]


def test_an_old_python_can_read_the_file() -> None:
    ast.parse(SOURCE.read_text(), feature_version=(3, 7))


@pytest.mark.parametrize("version", [(3, 6, 15), (3, 10, 99)])
def test_an_old_python_gets_one_sentence(version: tuple[int, int, int]) -> None:
    pretend = f"import runpy, sys; sys.version_info = {version}; runpy.run_path({str(SOURCE)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", pretend], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"this is Python 3.{version[1]}" in done.stderr
    assert "3.11" in done.stderr


def test_only_the_standard_library_is_imported() -> None:
    nodes = list(ast.walk(ast.parse(SOURCE.read_text())))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_an_unknown_command_is_named_with_those_there_are(dev: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert dev.main(["tset"]) == 2
    sentence = only_sentence(capsys)
    assert "'tset'" in sentence
    assert all(name in sentence for name in dev.COMMANDS)


def test_no_command_shows_every_command(dev: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert dev.main([]) == 2
    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in dev.COMMANDS)
    assert dev.main(["--help"]) == 0


@pytest.mark.parametrize("command", ["setup", "format", "clean"])
def test_arguments_without_a_use_are_refused(dev: ModuleType, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert dev.main([command, "--frobnicate"]) == 1
    assert "--frobnicate" in only_sentence(capsys)


@pytest.mark.parametrize("missing", [{"venv"}, {"ensurepip", "pip"}])
def test_a_missing_venv_module_gets_one_sentence(
    dev: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, missing: set[str]
) -> None:
    monkeypatch.setattr(dev, "find_spec", lambda name: None if name in missing else object())
    assert dev.main(["test"]) == 1
    sentence = only_sentence(capsys)
    assert "venv" in sentence
    assert "python3-venv" in sentence


def test_without_ensurepip_the_pip_outside_steps_in(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []
    monkeypatch.setattr(dev, "find_spec", lambda name: None if name == "ensurepip" else object())
    monkeypatch.setattr(dev, "quietly", lambda command, doing: calls.append(command))
    dev.make_environment(dev.VENV)
    made, seeded = calls
    assert "--without-pip" in made
    assert seeded[-2:] == ["install", "pip"]
    assert str(dev.python_of(dev.VENV)) in seeded


def test_a_failed_install_shows_one_sentence_and_the_end_of_the_output(
    dev: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_environment(dev)
    talk = "for line in range(40): print('line', line)\nraise SystemExit('ERROR: the disk is full')"

    def fail(python: Path, *what: str, into: Path | None = None) -> None:
        dev.quietly([sys.executable, "-c", talk], "installing " + what[-1])

    monkeypatch.setattr(dev, "install", fail)
    assert dev.main(["setup"]) == 1
    lines = [line for line in capsys.readouterr().err.splitlines() if not line.endswith("...")]
    assert "installing .[" in lines[0]
    assert "exit code 1" in lines[0]
    assert any("the disk is full" in line for line in lines[1:])
    assert len(lines) == 1 + dev.LINES_SHOWN
    assert not (dev.VENV / "chebact-stamp").exists()


def test_a_failed_install_is_tried_again(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    log = fake_environment(dev)
    monkeypatch.setattr(dev, "install", lambda *what, **where: (_ for _ in ()).throw(dev.SetupError("no")))
    assert dev.main(["setup"]) == 1
    monkeypatch.undo()
    assert dev.main(["setup"]) == 0
    assert "install -c" in log.read_text()


def test_timm_comes_last_and_alone_under_the_same_pins(dev: ModuleType) -> None:
    log = fake_environment(dev)
    dev.prepare()
    project, timm = [line for line in log.read_text().splitlines() if " install " in line]
    assert project.endswith(f"-e .[{dev.EXTRAS}]")
    assert timm.endswith(f"install -c {dev.VENV / 'chebact-constraints.txt'} --no-deps timm")


def test_an_index_without_timm_is_said_and_the_setup_is_tried_again(
    dev: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_environment(dev)
    python = dev.python_of(dev.VENV)
    refused = """  *--no-deps*) echo "ERROR: No matching distribution found for timm"; exit 1 ;;\nesac"""
    python.write_text(python.read_text().replace("esac", refused))
    assert dev.main(["setup"]) == 1
    said = [line for line in capsys.readouterr().err.splitlines() if not line.endswith("...")]
    assert said[0].startswith("dev.py: installing timm failed with exit code 1")
    assert "No matching distribution found for timm" in said[1]
    assert not (dev.VENV / "chebact-stamp").exists()


def test_the_second_run_starts_nothing_but_the_command(dev: ModuleType) -> None:
    log = fake_environment(dev)
    assert dev.main(["setup"]) == 0
    assert "-e .[" in log.read_text()
    log.unlink()
    begin = time.perf_counter()
    assert dev.main(["test", "-k", "nodes"]) == 0
    assert time.perf_counter() - begin < 1
    assert log.read_text().splitlines() == [f"-m pytest {TWO} -k nodes"]


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_changed_file_installs_again(dev: ModuleType, name: str) -> None:
    log = fake_environment(dev)
    dev.prepare()
    log.unlink()
    with (dev.ROOT / name).open("a") as file:
        file.write("# changed\n")
    dev.prepare()
    assert "-e .[" in log.read_text()


def test_another_version_of_the_steps_or_another_folder_changes_the_stamp(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = dev.fingerprint()
    assert dev.fingerprint() == before
    monkeypatch.setattr(dev, "SETUP_VERSION", "another")
    assert dev.fingerprint() != before
    monkeypatch.undo()
    assert dev.fingerprint("peer==1.0") != before
    moved = shutil.copytree(dev.ROOT, tmp_path_factory.mktemp("moved") / "project")
    monkeypatch.setattr(dev, "ROOT", moved)
    assert dev.fingerprint() != before


def test_a_half_made_environment_is_made_again(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_environment(dev, code=1)  # there, and broken: pip cannot be imported
    made: list[Path] = []

    def make(path: Path) -> None:
        made.append(path)
        dev.python_of(path).unlink()
        dev.python_of(path).parent.rmdir()
        fake_environment(dev)

    monkeypatch.setattr(dev, "make_environment", make)
    assert dev.main(["setup"]) == 0
    assert made == [dev.VENV]


@pytest.mark.parametrize(("torch", "installed"), [("2.5.1", True), ("2.6.0", False), ("2.13.0+cpu", False)])
def test_torch_is_installed_only_where_there_is_none_new_enough(dev: ModuleType, torch: str, installed: bool) -> None:
    log = fake_environment(dev, torch=torch)
    dev.prepare()
    steps = [line for line in log.read_text().splitlines() if line.endswith("constraints.txt torch")]
    assert len(steps) == installed


def test_a_torch_that_was_there_keeps_its_version(dev: ModuleType) -> None:
    dev.VENV.mkdir()
    assert dev.constraints_for("2.13.0+cpu").read_text().split() == ["numpy==2.0", "torch==2.13.0", "triton==3.7.1"]
    assert dev.constraints_for("2.14.0+cu130").read_text().split() == ["numpy==2.0", "torch==2.14.0+cu130"]


@pytest.mark.parametrize("own", [["-n0"], ["-n", "4"], ["-p", "no:xdist"], ["--pdb"], ["--numprocesses=1"]])
def test_own_choice_of_processes_wins(dev: ModuleType, own: list[str]) -> None:
    assert dev.in_parallel(own) == own
    assert dev.in_parallel(["--no-header"]) == [*TWO.split(), "--no-header"]


def test_check_runs_every_step_and_names_the_failed_ones(
    dev: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def run_in(python: Path, *step: str) -> int:
        ran.append(" ".join(step))
        return 1 if step[0] == "mypy" else 0

    monkeypatch.setattr(dev, "prepare", lambda: Path("python"))
    monkeypatch.setattr(dev, "run_in", run_in)
    assert dev.main(["check"]) == 1
    assert ran == ["ruff format --check .", "ruff check .", "mypy", f"pytest {TWO}"]
    assert "failed at types:" in only_sentence(capsys)


def test_commands_pass_their_arguments_on(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, ...]] = []

    def run_in(python: Path, *step: str) -> int:
        ran.append((str(python), *step))
        return 3

    monkeypatch.setattr(dev, "prepare", lambda: Path("main"))
    monkeypatch.setattr(dev, "prepare_peers", lambda: Path("peers"))
    monkeypatch.setattr(dev, "run_in", run_in)
    assert dev.main(["reproduce", "--recipe", "paper"]) == 3
    assert dev.main(["bench", "--json", "rows.json"]) == 3
    assert dev.main(["bench", "--peers"]) == 3
    assert dev.main(["arena", "--workers", "1"]) == 3
    assert dev.main(["slow", "-x"]) == 3
    assert ran == [
        ("main", "chebact", "reproduce", "--recipe", "paper"),
        ("main", "chebact", "bench", "ops", "--json", "rows.json"),
        ("peers", "chebact", "bench", "ops", "--peers"),
        ("peers", "chebact", "run", "arena", "--workers", "1"),
        ("main", "pytest", "-m", "slow", "-x"),
    ]


def test_clean_leaves_the_environment_unless_all_is_asked(dev: ModuleType) -> None:
    cache = dev.ROOT / "src" / "chebact" / "__pycache__"
    for folder in (cache, dev.ROOT / ".mypy_cache", dev.VENV):
        folder.mkdir(parents=True)
    assert dev.main(["clean"]) == 0
    assert dev.VENV.exists()
    assert not cache.exists()
    assert not (dev.ROOT / ".mypy_cache").exists()
    assert dev.main(["clean", "--all"]) == 0
    assert not dev.VENV.exists()


def test_constraints_pin_each_distribution_once_and_without_local_parts() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    names = [pin.partition("==")[0].lower() for pin in pins]
    assert all(pin.count("==") == 1 and "+" not in pin and "/" not in pin for pin in pins)
    assert len(set(names)) == len(names)
    assert "torch==2.13.0" in pins
    assert any(pin.startswith("timm==") for pin in pins)


CHILD = """
import os, signal, sys, time
def leave(number, frame):
    time.sleep(0.5)  # to put its work away
    os.write(1, b"put away\\n")  # the signal may come while another line is printed
    sys.exit(128 + number)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, leave)
os.write(1, f"{os.getpid()}\\n".encode())
time.sleep(60)
"""
PARENT = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[1])
import dev
dev.ROOT = Path(sys.argv[2])
sys.exit(dev.run_in(Path(sys.executable), "child"))
"""


@pytest.mark.skipif(os.name == "nt", reason="the system has no signals of this kind")
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130), ("SIGKILL", 137)])
@pytest.mark.fork
def test_a_command_that_is_stopped_puts_its_work_away_first(tmp_path, name, code):
    number = getattr(signal, name)
    (tmp_path / "child.py").write_text(CHILD)
    words = [sys.executable, "-c", PARENT, str(ROOT), str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as parent:
        child = int(parent.stdout.readline())
        if number == signal.SIGTERM:
            parent.send_signal(number)  # to dev.py alone, which passes it on
        elif number == signal.SIGINT:
            os.killpg(parent.pid, number)  # as a terminal does
        else:
            os.kill(child, number)
        said = parent.stdout.read()
    assert parent.returncode == code
    assert said == ("" if number == signal.SIGKILL else "put away\n")


OFFLINE = """Looking in indexes: https://index.invalid/simple
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(Failed to establish a new connection)'
ERROR: Cannot install chebact because these package versions have conflicting dependencies.
ERROR: ResolutionImpossible: for help visit the documentation of pip"""


@pytest.mark.parametrize("said", [OFFLINE, "Could not fetch URL https://index.invalid/simple/torch/: connection error"])
def test_without_a_network_it_is_the_index_that_is_named(
    said: str, dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_environment(dev)
    python = dev.python_of(dev.VENV)
    python.write_text(f"#!/bin/sh\ncat <<'END'\n{said}\nEND\nexit 1\n")
    monkeypatch.setattr(dev, "is_whole", lambda python: True)
    monkeypatch.setattr(dev, "say", lambda what: None)
    assert dev.main(["setup"]) == 1
    assert "the package index cannot be reached" in only_sentence(capsys)
    assert not (dev.VENV / "chebact-stamp").exists()


def test_a_real_conflict_keeps_the_last_lines_of_pip(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake_environment(dev)
    dev.python_of(dev.VENV).write_text("#!/bin/sh\necho 'ERROR: conflicting dependencies'\nexit 1\n")
    monkeypatch.setattr(dev, "is_whole", lambda python: True)
    monkeypatch.setattr(dev, "say", lambda what: None)
    assert dev.main(["setup"]) == 1
    said = capsys.readouterr().err
    assert "conflicting dependencies" in said
    assert "cannot be reached" not in said
