"""The built wheel, installed away from the sources: it works, and importing it stays cheap."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.wheel
LAZY = ["numba", "triton", "matplotlib", "sklearn", "pandas", "scipy", "cyclopts", "rich", "joblib"]

IMPORT_PROBE = """
import json, sys, time
import torch
import numpy
before = set(sys.modules)
begin = time.perf_counter()
import chebact
seconds = time.perf_counter() - begin
tops = {name.partition(".")[0] for name in set(sys.modules) - before}
modules = sorted(sys.modules)
print(json.dumps({"seconds": seconds, "file": chebact.__file__, "path": sys.path, "new": sorted(tops), "all": modules}))
"""

USE_PROBE = """
import torch
from chebact import ChebyshevLagrange
y = ChebyshevLagrange(4, init="tanh")(torch.linspace(-3, 3, 20).reshape(5, 4))
y.sum().backward()
print(tuple(y.shape), bool(torch.isfinite(y).all()))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """chebact as a wheel, built with the hatchling that is installed."""
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)], folder)
    (built,) = folder.glob("chebact-*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment with the wheel in it, and torch and the rest borrowed from this one.

    The folder of this environment's packages is named in a .pth file after the install: pip sees nothing of it, and
    the .pth file of the editable install in there is not read, so the sources stay out of sight.
    """
    home = tmp_path_factory.mktemp("clean")
    venv.create(home, with_pip=False, symlinks=os.name != "nt")
    interpreter = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [sys.executable, "-m", "pip", "--python", str(interpreter), "install", "--no-deps", "--no-index"]
    run([*pip, "--disable-pip-version-check", str(wheel)], home)
    own = run([str(interpreter), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], home).strip()
    Path(own, "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return interpreter


def run(command: list[str], folder: Path) -> str:
    """What a command prints, run in a folder without the sources and with no say from outside about the path."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def imported(python: Path, folder: Path) -> dict[str, object]:
    """What `import chebact` did in a fresh interpreter that had torch and numpy already."""
    result: dict[str, object] = json.loads(run([str(python), "-c", IMPORT_PROBE], folder))
    return result


@pytest.fixture(scope="module")
def first_import(python: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What one of these imports did, for all tests that only look."""
    return imported(python, tmp_path_factory.mktemp("import"))


def test_the_wheel_holds_the_package_and_its_types_and_no_tests(wheel: Path, tmp_path: Path) -> None:
    names = run([sys.executable, "-m", "zipfile", "--list", str(wheel)], tmp_path)
    assert "chebact/py.typed" in names
    assert "chebact/__init__.py" in names
    assert "licenses/LICENSE" in names
    play = ROOT / "src" / "chebact" / "lab" / "play"
    assert all(f"chebact/lab/play/{path.name}" in names for path in play.iterdir() if path.is_file())
    assert "tests/" not in names


def test_the_wheel_is_what_gets_imported(python: Path, first_import: dict[str, object]) -> None:
    assert Path(str(first_import["file"])).is_relative_to(python.parents[1])
    assert str(ROOT / "src") not in first_import["path"]  # type: ignore[operator]


def test_the_wheel_works_without_the_sources(python: Path, tmp_path: Path) -> None:
    assert run([str(python), "-c", USE_PROBE], tmp_path).split("\n")[0] == "(5, 4) True"


def test_the_command_is_installed(python: Path, tmp_path: Path) -> None:
    command = python.with_name("chebact.exe" if os.name == "nt" else "chebact")
    assert "kernels" in run([str(command), "--help"], tmp_path)


def test_the_playground_comes_with_the_wheel(python: Path, tmp_path: Path) -> None:
    command = python.with_name("chebact.exe" if os.name == "nt" else "chebact")
    run([str(command), "play", "--no-open", "--output", "play.html"], tmp_path)
    assert "chebact.maths" in (tmp_path / "play.html").read_text(encoding="utf-8")


def test_importing_loads_nothing_heavy(first_import: dict[str, object]) -> None:
    assert [name for name in LAZY if name in first_import["all"]] == []  # type: ignore[operator]
    ours = {"chebact", "torch", "numpy"}
    assert set(first_import["new"]) - ours <= set(sys.stdlib_module_names)  # type: ignore[call-overload]


@pytest.mark.slow  # other processes are in the way of a measurement
def test_importing_adds_less_than_a_tenth_of_a_second(python: Path, tmp_path: Path) -> None:
    assert min(float(str(imported(python, tmp_path)["seconds"])) for _ in range(3)) < 0.1
