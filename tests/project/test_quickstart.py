"""The notebook of the quickstart is its page, and it trains to the result that the page promises.

The page is not run beside it: every Python block of the page is a cell of the notebook.
"""

import json
import re
from pathlib import Path

import pytest
from support.benchmarks import load_benchmark

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTEBOOK = DOCS / "quickstart.ipynb"


@pytest.fixture(scope="module")
def make_notebook():
    return load_benchmark("make_notebook", folder="docs")


def test_the_notebook_is_made_from_the_page(make_notebook):
    page = (DOCS / "quickstart.md").read_text(encoding="utf-8")
    assert page.count("```python") == page.count("```python\n") == NOTEBOOK.read_text("utf-8").count('"code"') > 5
    assert NOTEBOOK.read_text(encoding="utf-8") == make_notebook.notebook_of(page), "run docs/make_notebook.py"


def test_every_line_of_a_page_is_in_its_notebook_and_python_blocks_are_code(make_notebook):
    page = "# Title\n\n```\npip install .\n```\n\n```python\nx = 1\n```\nText.\n\n```python\nprint(x)\n```\n"
    cells = json.loads(make_notebook.notebook_of(page))["cells"]
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells] == [
        ("markdown", "# Title\n\n```\npip install .\n```"),
        ("code", "x = 1"),
        ("markdown", "Text."),
        ("code", "print(x)"),
    ]


def test_the_notebook_runs_and_ends_below_relu(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = {"__name__": "notebook"}
    for number, cell in enumerate(json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    page = (DOCS / "quickstart.md").read_text(encoding="utf-8")
    printed = {name: float(error) for name, error in re.findall(r"^(\w+): test RMSE ([\d.]+)$", page, re.MULTILINE)}
    assert names["errors"] == pytest.approx(printed, rel=0.4)
    assert names["errors"]["chebact"] < 0.5 * names["errors"]["ReLU"]  # the committed records say a third
    assert capsys.readouterr().out.endswith("True\n")  # what was saved and loaded computes the same
    assert (tmp_path / "learned.png").stat().st_size > 10_000
