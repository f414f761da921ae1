"""The page on the paper: every row has a verdict, every number stands on the page it links to, every command runs."""

import re
import shlex
import shutil
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from support.clinical_tables import write_dementiabank
from support.image_sets import SETS, put, small_sets

from chebact.lab.cli import run_command
from chebact.lab.synthetic import commands as synthetic_commands
from chebact.lab.synthetic.spec import SyntheticRequest

__all__ = ["small_sets"]

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGE = DOCS / "paper.md"
VERDICTS = ("same", "within", "deviates", "not here", "background")
CELL = re.compile(r"\|(?=(?:[^`]*`[^`]*`)*[^`]*$)")  # a bar that is not inside of backticks
TINY = ["--seeds", "1", "--epochs", "1"]

SIZES = ("--seeds", "--epochs", "--folds")  # of these the short form counts, of all others what is printed
SOME = (
    *("synthetic/released/0.01/cl-extrapolate-step.json", "synthetic/released/0.01/relu-step.json"),
    *("clinical/generated/**/*-32.json", "images/digits/*30-epochs.json", "studies/shapes/*.json", "bench/*.json"),
)
SHORT = {
    "run synthetic": ["--models", "cl", "--datasets", "step", "--noise", "0.01", *TINY, "--workers", "1"],
    "run clinical": [
        *("--models", "relu", "--baselines", "none", "--widths", "4", "--folds", "3", *TINY),
        *("--trees", "5", "--rounds", "2", "--workers", "1"),
    ],
    "run images": ["--models", "relu", "--subset", "8", "--batch-size", "4", *TINY, "--data", "sets"],
    "data fetch": ["--from", "packed", "--data", "sets-of-mine"],
    "reproduce": ["--workers", "1"],
    "report": [],
    "bench page": ["--text", "table.txt"],
}


@dataclass(frozen=True)
class Row:
    item: str
    where: str
    command: str
    verdict: str


def rows() -> list[Row]:
    """The rows of the tables of four columns."""
    lines = [line.strip().removeprefix("|").removesuffix("|") for line in PAGE.read_text(encoding="utf-8").splitlines()]
    cells = [[cell.strip() for cell in CELL.split(line)] for line in lines if line.startswith(" ")]
    return [Row(*row) for row in cells if len(row) == 4 and row[0] != "item"]


def verdict_of(row: Row) -> str:
    found = re.match(r"\*\*([a-z ]+)\*\*", row.verdict)
    assert found, f"{row.item}: no verdict"
    return found[1]


def test_every_row_has_a_verdict_and_the_page_counts_them():
    counts = Counter(map(verdict_of, rows()))
    assert set(counts) == set(VERDICTS)
    words = ", ".join(f"{counts[name]} **{name}**" for name in VERDICTS)
    assert f"{len(rows())} items: {words}." in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.item[:40])
def test_links_and_numbers_of_the_row_lead_to_their_source(row):
    linked = ""
    for link in re.findall(r"\]\(([^)]+)\)", row.where):
        name, _, anchor = link.partition("#")
        text = (DOCS / name).read_text(encoding="utf-8")
        assert not anchor or anchor in anchors(text), f"{link} has no such heading"
        linked += text
    assert bool(linked) or verdict_of(row) == "background"
    verdict = re.sub(r"`[^`]*`|\]\([^)]+\)", "", row.verdict)
    assert [number for number in re.findall(r"\d+ of \d+|\d*\.\d+", verdict) if number not in linked] == []


def anchors(text: str) -> set[str]:
    """The anchors of headings, as a forge makes them, and the named ones."""
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads} | set(
        re.findall(r'<a id="([^"]+)">', text)
    )


def distinct_commands() -> list[str]:
    found = dict.fromkeys(re.sub("^`|`$", "", row.command) for row in rows() if row.command)
    assert len(found) > 20
    return list(found)


def shorten(words: list[str]) -> list[str]:
    """The words of a command with its sizes made small and with the further options of its short form."""
    command = " ".join(words)
    short = options_of(next(more for start, more in SHORT.items() if command.startswith(start)))
    printed = options_of(words)
    chosen = {**short, **{name: values for name, values in printed.items() if name not in SIZES}}
    return [*printed[""], *(word for name, values in chosen.items() if name for word in (name, *values))]


def options_of(words: list[str]) -> dict[str, list[str]]:
    """The values of each option; those before the first under an empty name."""
    found: dict[str, list[str]] = {"": []}
    for word in words:
        if word.startswith("--"):
            found[word] = []
        else:
            found[[*found][-1]].append(word)
    return found


@pytest.fixture(scope="module")
def some_records(tmp_path_factory):
    """A folder with some of the committed records, since a page of all takes long."""
    folder = tmp_path_factory.mktemp("records")
    for pattern in SOME:
        for path in (ROOT / "results").glob(pattern):
            target = folder / "results" / path.relative_to(ROOT / "results")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    return folder / "results"


@pytest.mark.parametrize("command", distinct_commands())
def test_the_command_runs(command, tmp_path, monkeypatch, small_sets, some_records, capsys):
    """As printed, with a short form for what trains or measures."""
    monkeypatch.chdir(tmp_path)
    if command.startswith("python -c "):
        (code,) = shlex.split(command)[2:]
        exec(compile(code, command, "exec"), {})
        assert capsys.readouterr().out.strip()
        return
    if command.startswith(("chebact report", "chebact bench page")):
        shutil.copytree(some_records, tmp_path / "results")
    for name in ("mnist", "cifar10"):
        put(tmp_path / "sets" / name, SETS[name])
        put(tmp_path / "packed", SETS[name])
    write_dementiabank(tmp_path / "db-34-am.csv")
    write_dementiabank(tmp_path / "fp-34-am.csv", rows=90, subjects="f", seed=4)
    if command == "chebact reproduce":  # which has no options for its size
        small = partial(SyntheticRequest, ("relu",), ("step",), (0.01,), seeds=1, epochs=1)
        monkeypatch.setattr(synthetic_commands, "SyntheticRequest", small)
    words = shlex.split(command)[1:]
    assert run_command(shorten(words)) == 0, capsys.readouterr().err
    made = [path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*") if path.is_file()]
    assert set(made) - {"sets", "packed", "db-34-am.csv", "fp-34-am.csv"} or capsys.readouterr().out
