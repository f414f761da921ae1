"""Every example runs: doctests of all modules, and the Python blocks of the README and the docs."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import chebact
from chebact import table

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "chebact"
FENCE = re.compile(r"^```python([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NEEDS_OTHERS = {
    "estimators": "sklearn",
    "plotting": "matplotlib",
    "kernels.gpu": "triton",
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


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_python_blocks_of_the_document_run_in_order(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = path.read_text()
    names = {"__name__": "document"}
    for match in FENCE.finditer(text):
        if "no-run" not in match[1]:
            line = text.count("\n", 0, match.start()) + 1
            exec(compile("\n" * line + match[2], str(path), "exec"), names)


def test_every_page_of_the_documents_is_in_the_readme():
    text = (ROOT / "README.md").read_text()
    assert [path.name for path in sorted((ROOT / "docs").glob("*.md")) if f"(docs/{path.name})" not in text] == []


def test_the_records_that_the_page_of_studies_counts_are_there():
    rows = re.findall(r"^\| `(\S+)` \| (\d+) \|", (ROOT / "docs" / "studies.md").read_text(), re.MULTILINE)
    found = {folder: len(list((ROOT / "results" / folder).rglob("*.json"))) for folder, _ in rows}
    assert found == {folder: int(count) for folder, count in rows}
    named = {folder.partition("/")[0] for folder in found} | {"bench", "guide", "images"}
    assert {path.name for path in (ROOT / "results").iterdir()} <= named
