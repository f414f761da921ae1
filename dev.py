"""Developer commands: `python3 dev.py COMMAND [ARGUMENTS]`. Only Python 3.11 and pip are required.

  setup              create .venv and install torch, then chebact with everything that its tests need
  test [ARGS]        the tests; ARGS are passed to pytest
  slow [ARGS]        the tests marked slow
  check [ARGS]       format, lint, types and tests, as the continuous integration does; ARGS are passed to pytest
  format             format the sources and apply the safe fixes of the linter
  bench [ARGS]       time the activations (`chebact bench ops`); with --peers also other libraries, in .venv-peers
  arena [ARGS]       many models on many tables (`chebact run arena`), those of other libraries too, in .venv-peers
  reproduce [ARGS]   the main result of the paper (`chebact reproduce`)
  clean [--all]      remove caches and built files; --all also removes the environments

Every command except clean first creates or updates the environment if necessary, and runs in the project folder.
"""

import sys

# An older Python 3 must be able to parse this file to reach this line, so it uses the syntax of Python 3.6.
if sys.version_info < (3, 11):
    sys.exit(
        "dev.py: this is Python %d.%d, and chebact needs Python 3.11 or newer: "
        "start dev.py with one that is new enough, as in `python3.11 dev.py test`." % tuple(sys.version_info[:2])
    )

import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PEERS_VENV = ROOT / ".venv-peers"
EXTRAS = "lab,dask,onnx,private,test"
OLDEST_TORCH = (2, 6)
PEERS = ("torchortho==0.1.2", "deepsplines==1.0.0", "rational-activations==0.2.0", "torchcurves==0.3.3")
MORE_PEERS = ("pykan==0.2.8", "pytabkit==1.7.3")  # other networks for tables, and what they import
NEEDED_BY_PEERS = (
    "dill==0.4.1",
    "lightning-utilities==0.15.3",
    "pytorch-lightning==2.6.6",
    "torchmetrics==1.9.0",
    "tqdm==4.70.1",
)
WITHOUT_DEPENDENCIES = ("timm",)  # it requires torchvision, whose wheels do not import beside torch for CPUs
SETUP_VERSION = "2"  # increase it when the steps below change; then every environment is updated
LINES_SHOWN = 12
UNREACHABLE = (  # messages of pip for an index that does not answer; its last lines are about conflicts then
    "after connection broken by",
    "Could not fetch URL",
    "Temporary failure in name resolution",
)
INTERRUPTED = 130
PATIENCE = 10  # seconds for a command to end after Ctrl-C


class SetupError(Exception):
    """The reason why the setup failed, as one sentence for the user."""


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; errors are printed as one sentence."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(__doc__)
        return 0 if arguments else 2
    command = COMMANDS.get(arguments[0])
    if command is None:
        return complain(f"there is no command {arguments[0]!r}: use one of {', '.join(COMMANDS)}.", code=2)
    try:
        return command(list(arguments[1:]))
    except SetupError as error:
        return complain(str(error))
    except OSError as error:
        return complain(f"{arguments[0]} was stopped by the system: {error}.")
    except KeyboardInterrupt:
        return complain("interrupted; run the same command again to go on.", code=INTERRUPTED)


def complain(sentence: str, code: int = 1) -> int:
    """Print one sentence on stderr and return the exit code."""
    print(f"dev.py: {sentence}", file=sys.stderr)
    return code


# The commands


def setup(arguments: list[str]) -> int:
    """Create or update the environment."""
    refuse(arguments, "setup")
    python = prepare()
    print(f"ready: {python.relative_to(ROOT)}")
    return 0


def test(arguments: list[str]) -> int:
    """Run the tests that are not slow."""
    return run_in(prepare(), "pytest", *in_parallel(arguments))


def slow(arguments: list[str]) -> int:
    """Run the slow tests, one after the other: some of them measure time."""
    return run_in(prepare(), "pytest", "-m", "slow", *arguments)


def check(arguments: list[str]) -> int:
    """Run all four checks, even if some fail, and list those that failed."""
    python = prepare()
    steps = {
        "format": ["ruff", "format", "--check", "."],
        "lint": ["ruff", "check", "."],
        "types": ["mypy"],
        "tests": ["pytest", *in_parallel(arguments)],
    }
    failed = [name for name, step in steps.items() if run_in(python, *step) != 0]
    if failed:
        return complain(f"check failed at {', '.join(failed)}: see the output above.")
    return 0


def reformat(arguments: list[str]) -> int:
    """Bring the sources into the house format."""
    refuse(arguments, "format")
    python = prepare()
    fixed = run_in(python, "ruff", "check", "--fix", ".")
    return run_in(python, "ruff", "format", ".") or fixed


def bench(arguments: list[str]) -> int:
    """Time the activations, beside other libraries where --peers asks for them."""
    python = prepare_peers() if "--peers" in arguments else prepare()
    return run_in(python, "chebact", "bench", "ops", *arguments)


def arena(arguments: list[str]) -> int:
    """Run the arena with the models of other libraries."""
    return run_in(prepare_peers(), "chebact", "run", "arena", *arguments)


def reproduce(arguments: list[str]) -> int:
    """Reproduce the main result of the paper."""
    return run_in(prepare(), "chebact", "reproduce", *arguments)


def clean(arguments: list[str]) -> int:
    """Remove caches and built files."""
    refuse([word for word in arguments if word != "--all"], "clean")
    for name in (
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".hypothesis",
        "build",
        "dist",
        "src/chebact/libraries",
    ):
        shutil.rmtree(ROOT / name, ignore_errors=True)
    for folder in ("src", "tests", "benchmarks", "docs"):
        for cache in list((ROOT / folder).rglob("__pycache__")):
            shutil.rmtree(cache, ignore_errors=True)
    if "--all" in arguments:
        for environment in (VENV, PEERS_VENV):
            shutil.rmtree(environment, ignore_errors=True)
    return 0


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "setup": setup,
    "test": test,
    "slow": slow,
    "check": check,
    "format": reformat,
    "bench": bench,
    "arena": arena,
    "reproduce": reproduce,
    "clean": clean,
}


def refuse(arguments: list[str], command: str) -> None:
    """Stop if a command got arguments that it does not take."""
    if arguments:
        raise SetupError(f"{command} does not take {' '.join(arguments)!r}: `python3 dev.py help` lists what it takes.")


def in_parallel(arguments: list[str]) -> list[str]:
    """Run pytest in two processes, unless the arguments set the number.

    A file stays in one process, in the order of tests/conftest.py: what it compiles and sets up, it does once.
    """
    settled = any(word.startswith(("-n", "-p", "--numprocesses", "--pdb")) for word in arguments)
    return arguments if settled else ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", *arguments]


def run_in(python: Path, module: str, *arguments: str) -> int:
    """Run a module with the Python of an environment, its output going straight to the user.

    When it is stopped, this waits for the module to finish its cleanup: SIGTERM is forwarded, Ctrl-C reaches it anyway.
    """
    with subprocess.Popen([str(python), "-m", module, *arguments], cwd=ROOT) as child:
        before = signal.signal(signal.SIGTERM, lambda number, _: child.send_signal(number))
        try:
            code = ended(child)
        finally:
            signal.signal(signal.SIGTERM, before)
    return code if code >= 0 else 128 - code  # the exit code that a shell reports for a signal


def ended(child: "subprocess.Popen[bytes]") -> int:
    """The exit code of a child process, which gets some seconds after Ctrl-C."""
    try:
        return child.wait()
    except KeyboardInterrupt:
        try:
            return child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            child.terminate()
            return child.wait()


# The environments


def prepare() -> Path:
    """Return the Python of .venv with everything installed; fast if the stamp is up to date."""
    python, stamp, wanted = python_of(VENV), VENV / "chebact-stamp", fingerprint()
    if python.exists() and read(stamp) == wanted:
        return python
    stamp.unlink(missing_ok=True)
    if not is_whole(python):
        make_environment(VENV)
    pins = constraints_for(provide_torch(python))
    say("installing chebact and what its tests need")
    install(python, "-c", str(pins), "-e", f".[{EXTRAS}]")
    install(python, "-c", str(pins), "--no-deps", *WITHOUT_DEPENDENCIES)  # the rest of what it requires is there now
    stamp.write_text(wanted, encoding="utf-8")
    return python


def prepare_peers() -> Path:
    """Return the Python of .venv-peers: other libraries on top of .venv, so that all share one torch."""
    base = prepare()
    libraries = (*PEERS, *MORE_PEERS, *NEEDED_BY_PEERS)
    python, stamp, wanted = python_of(PEERS_VENV), PEERS_VENV / "chebact-stamp", fingerprint(*libraries)
    if python.exists() and read(stamp) == wanted:
        return python
    say("making .venv-peers with " + ", ".join((*PEERS, *MORE_PEERS)))
    quietly([str(base), "-m", "venv", "--clear", "--without-pip", str(PEERS_VENV)], "making .venv-peers")
    install(base, "--no-deps", *libraries, into=python)
    # A folder named in a .pth file is searched after the environment's own; .pth files inside it are not read,
    # so the sources of chebact need a line too.
    link = site_packages(python) / "chebact-beside.pth"
    link.write_text(f"{site_packages(base)}\n{ROOT / 'src'}\n", encoding="utf-8")
    stamp.write_text(wanted, encoding="utf-8")
    return python


def python_of(environment: Path) -> Path:
    """The interpreter of an environment."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def fingerprint(*more: str) -> str:
    """A hash of everything that decides what is installed, and of the folder, which an editable install contains."""
    parts = [SETUP_VERSION, str(ROOT), *more]
    parts += [read(ROOT / name) for name in ("pyproject.toml", "constraints.txt")]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def read(path: Path) -> str:
    """The text of a file, or an empty string if it does not exist."""
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def is_whole(python: Path) -> bool:
    """Whether an environment has a working pip; an interrupted setup can leave one without."""
    probe = "import importlib.metadata as m, pip._internal.commands.install; m.version('pip')"
    return python.exists() and answer(python, probe) is not None


def make_environment(path: Path) -> None:
    """Create an empty environment with pip; an incomplete one is replaced."""
    seeded = find_spec("ensurepip") is not None
    if find_spec("venv") is None or not (seeded or find_spec("pip")):
        raise SetupError(
            f"{sys.executable} cannot make an environment because its venv module is missing or incomplete: "
            "install it (on Debian and Ubuntu: `apt install python3-venv`) and run the same command again."
        )
    say(f"making {path.name}")
    options = ["--clear"] if seeded else ["--clear", "--without-pip"]
    quietly([sys.executable, "-m", "venv", *options, str(path)], f"making {path.name}")
    if not seeded:  # Debian has ensurepip in a separate package; the outer pip installs pip instead
        install(Path(sys.executable), "pip", into=python_of(path))


def provide_torch(python: Path) -> str:
    """Return the version of torch in an environment, after installing the tested one if necessary.

    This is a separate step, so that a torch that the user installed (for a GPU, for example) is kept.
    """
    show = "import torch; print(torch.__version__)"
    version = answer(python, show)
    if version is None or release(version) < OLDEST_TORCH:
        say("installing torch, which takes a while the first time")
        install(python, "-c", str(ROOT / "constraints.txt"), "torch")
        version = answer(python, show)
    if version is None:
        raise SetupError("torch was installed but cannot be imported: remove .venv and run the same command again.")
    return version


def release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: 2.13.0+cpu gives (2, 13, 0)."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def constraints_for(torch: str) -> Path:
    """Write the tested pins; those of torch and triton are replaced if another torch is installed."""
    pins = read(ROOT / "constraints.txt").splitlines()
    if f"torch=={torch.partition('+')[0]}" not in pins:
        pins = [pin for pin in pins if not pin.startswith(("torch==", "triton=="))] + [f"torch=={torch}"]
    path = VENV / "chebact-constraints.txt"
    path.write_text("\n".join(pins) + "\n", encoding="utf-8")
    return path


def install(python: Path, *what: str, into: Path | None = None) -> None:
    """Run the pip of one Python, for itself or for another environment."""
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    target = ["--python", str(into)] if into else []
    named = " ".join(word for word in what if not word.startswith("-") and not word.endswith(".txt"))
    quietly([*pip, *target, "install", *what], f"installing {named}")


def site_packages(python: Path) -> Path:
    """The package folder of an environment."""
    found = answer(python, "import sysconfig; print(sysconfig.get_path('purelib'))")
    if found is None:
        raise SetupError(f"{python.relative_to(ROOT)} does not run: remove that environment and try again.")
    return Path(found)


def answer(python: Path, code: str) -> str | None:
    """The output of a line of Python in an environment, or None if it fails."""
    done = subprocess.run([str(python), "-c", code], cwd=ROOT, capture_output=True, text=True, errors="replace")
    return done.stdout.strip() if done.returncode == 0 else None


def quietly(command: list[str], doing: str) -> None:
    """Run a command and hide its output, unless it fails."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}  # so that errors and output keep their order
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode != 0 and any(word in done.stdout for word in UNREACHABLE):
        raise SetupError(
            f"{doing} failed because the package index cannot be reached: check the network (or the proxy and index "
            "that pip is set to use) and run the same command again."
        )
    if done.returncode != 0:
        last = [line for line in done.stdout.splitlines() if line.strip()][-LINES_SHOWN:]
        sentence = f"{doing} failed with exit code {done.returncode}: mend what its last lines name and run again."
        raise SetupError("\n    ".join([sentence, *last]))


def say(what: str) -> None:
    """Print what is being done."""
    print(f"dev.py: {what} ...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
