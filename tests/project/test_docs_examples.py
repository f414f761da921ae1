"""Every example runs: doctests of all modules, and the Python blocks of the README and the docs."""

import doctest
import importlib
import importlib.util
import linecache
import re
import tomllib
import warnings
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from support.benchmarks import load_benchmark
from support.other_models import import_or_skip

import chebact
from chebact import table

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "chebact"
FENCE = re.compile(r"^```python([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NEEDS_OTHERS = {
    "plotting": "matplotlib",
    "kernels.gpu": "triton",
    "estimators": "sklearn",
    "lab": "cyclopts",
}


def all_modules():
    """The modules by name, `__main__` aside."""
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name != "__main__":
            yield name


def documents():
    return [path for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if path.exists()]


@pytest.fixture(autouse=True)
def same_table_afterwards():
    rows = dict(chebact.ACTIVATIONS)
    yield
    table._rows.clear()
    table._rows.update(rows)


@pytest.mark.parametrize("name", list(all_modules()))
def test_doctests_of_the_module_pass(name):
    for start, needed in NEEDS_OTHERS.items():
        if name.startswith(start):
            pytest.importorskip(needed, reason=f"{needed} is not installed")
    module = importlib.import_module(f"chebact.{name}".rstrip("."))
    results = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert results.failed == 0


def test_every_public_function_and_class_has_an_example():
    without = [
        name
        for name in chebact.__all__
        if callable(getattr(chebact, name)) and ">>>" not in (getattr(chebact, name).__doc__ or "")
    ]
    assert not without


RUN = [path for path in documents() if path.name != "quickstart.md"]  # its notebook is run by test_quickstart


@pytest.mark.parametrize("path", RUN, ids=lambda path: str(path.relative_to(ROOT)))
def test_python_blocks_of_the_document_run_in_order(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = path.read_text()
    if "import timm" in text and importlib.util.find_spec("timm"):
        import_or_skip("timm")  # which needs help where torchvision is missing
    names = {"__name__": "document"}
    for match in FENCE.finditer(text):
        needed = [word.removeprefix("needs:") for word in match[1].split() if word.startswith("needs:")]
        if "provokes" in match[1].split() or not all(map(importlib.util.find_spec, needed)):
            continue
        line = text.count("\n", 0, match.start()) + 1
        with warnings.catch_warnings(action="ignore") if needed else nullcontext():  # of other libraries
            text, name = "\n" * line + match[2], f"{path}#{line}"
            linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)  # as a notebook does
            exec(compile(text, name, "exec"), names)


def provoked_messages():
    """The quoted messages of the FAQ, each with the code below it."""
    text = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
    return re.findall(r"^> ([^\n]+)\n\n```python provokes\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(("message", "code"), provoked_messages(), ids=lambda text: text[:30])
def test_the_faq_quotes_what_the_library_says(message, code):
    names = {**vars(chebact), "torch": torch}
    with pytest.raises((ValueError, TypeError, RuntimeError), match=re.escape(message)):
        exec(code, names)


def test_every_message_of_the_faq_has_its_code():
    assert len(provoked_messages()) == (ROOT / "docs" / "faq.md").read_text(encoding="utf-8").count("\n> ") > 5


def test_the_numbers_of_the_readme_are_on_the_pages_that_it_names():
    rows = [line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if "](docs/" in line]
    rows = [line for line in rows if line.startswith("|")]
    assert 5 <= len(rows) <= 9
    for row in rows:
        page = (ROOT / re.search(r"\((docs/\S+?)\)", row)[1]).read_text(encoding="utf-8")
        measured = re.findall(r"\d+\.\d+(?: ± \d+\.\d+)?", row.partition(") |")[2])
        assert measured
        assert [number for number in measured if number not in page] == []


def test_the_page_of_the_interface_is_made_from_the_docstrings():
    page = ROOT / "docs" / "api.md"
    assert page.read_text(encoding="utf-8") == make_api().page()


def make_api():
    return load_benchmark("make_api", folder="docs")


def test_the_page_of_the_interface_has_every_public_name():
    made = make_api()
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for name in made.MODULES:
        for public in importlib.import_module(name).__all__:
            assert f"### {public}\n" in text


def test_links_of_the_documents_lead_somewhere():
    for path in documents():
        for link in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
            assert link.startswith("http") or (path.parent / link).exists(), f"{path.name}: {link}"


def test_the_index_lists_every_decision():
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"^\d+\. \[.+\]\((.+)\)$", (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == sorted(path.name for path in folder.glob("0*.md"))


def test_the_version_has_one_home():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/chebact/__init__.py"
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {chebact.__version__}\n" in citation


def test_every_page_of_the_documents_is_in_the_readme():
    text = (ROOT / "README.md").read_text()
    assert [path.name for path in sorted((ROOT / "docs").glob("*.md")) if f"(docs/{path.name})" not in text] == []


def test_the_records_that_a_page_counts_are_there():
    rows = re.findall(r"^\| `(\S+)` \| (\d+) \|", (ROOT / "docs" / "my-study.md").read_text(), re.MULTILINE)
    found = {folder: len(list((ROOT / "results" / folder).rglob("*.json"))) for folder, _ in rows}
    assert found == {folder: int(count) for folder, count in rows}
    named = {folder.partition("/")[0] for folder in found} | {"bench", "guide", "images", "recipe", "arena", "private"}
    assert {path.name for path in (ROOT / "results").iterdir()} <= named
