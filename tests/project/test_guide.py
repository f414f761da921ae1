"""The guide says what its records say."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ("beside", "guide-choices", "guide-init")


def run_guide(*arguments):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    command = [sys.executable, str(ROOT / "benchmarks" / "guide"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)


def test_the_tables_of_the_guide_are_made_from_the_records(tmp_path):
    page, committed = tmp_path / "guide.md", (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    emptied = re.sub(r"(<!-- begin: \S+ -->\n).*?(<!-- end:)", r"\1\2", committed, flags=re.DOTALL)
    assert emptied.count("<!-- begin:") == 9
    assert len(emptied) < len(committed)
    page.write_text(emptied, encoding="utf-8")
    run_guide("--update", page)
    assert page.read_text(encoding="utf-8") == committed


def test_the_pictures_are_made_from_the_records(tmp_path):
    run_guide("--pictures", tmp_path)
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {f"{name}-{scheme}.svg" for name in PICTURES for scheme in ("dark", "light")}
    for name in made:
        assert ElementTree.parse(tmp_path / name).getroot().tag.endswith("svg")
        assert (ROOT / "docs" / "images" / name).is_file()


def test_every_setting_has_its_record():
    assert run_guide("--list").stdout == ""
