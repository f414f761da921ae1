"""Make docs/quickstart.ipynb from docs/quickstart.md: `.venv/bin/python docs/make_notebook.py`."""

import json
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def cells_of(page: str) -> list[dict]:
    """The cells of a page: its Python blocks as code, all text between them as Markdown."""
    pieces = FENCE.split(page)
    return [
        cell(number, "code" if number % 2 else "markdown", piece.strip("\n"))
        for number, piece in enumerate(pieces)
        if piece.strip()
    ]


def cell(number: int, kind: str, text: str) -> dict:
    made = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
    return made | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def notebook_of(page: str) -> str:
    """The notebook of a page, as text: format 4.5, nothing executed."""
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    content = {"cells": cells_of(page), "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    page = (HERE / "quickstart.md").read_text(encoding="utf-8")
    (HERE / "quickstart.ipynb").write_text(notebook_of(page), encoding="utf-8")
