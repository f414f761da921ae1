"""The browser that other tests rely on: it sees what a page does wrong, and says so where there is no browser."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.browser import Watched

ROOT = Path(__file__).resolve().parents[2]


def written(path: Path, body: str) -> Path:
    head = '<title>t</title><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
    path.write_text(f'<!doctype html><html lang="en">{head}{body}</html>')
    return path


def test_a_page_opens_from_a_file_with_the_size_and_colours_asked_for(open_page, tmp_path):
    page = open_page(written(tmp_path / "a b.html", "<p id=p>there"), size=(390, 844), dark=True, touch=True, hash="q")
    assert page.inner_text("#p") == "there"
    found = page.evaluate("[innerWidth, matchMedia('(prefers-color-scheme: dark)').matches, location.hash]")
    assert found == [390, True, "#q"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<script>throw new Error('thrown')</script>", "errors"),
        ("<script>console.error('said')</script>", "errors"),
        ("<img src='http://outside.invalid/a.png'>", "requests"),
        ("<img src='beside.png'>", "requests"),
    ],
)
def test_errors_and_requests_are_seen(chromium, tmp_path, body, kind):
    path, watched = written(tmp_path / "page.html", body), Watched()
    with chromium.new_context(offline=True) as context:
        page = context.new_page()
        watched.watch(page, path)
        page.goto(path.as_uri())
    assert getattr(watched, kind)


def test_without_a_browser_the_tests_say_so(tmp_path):
    test = tmp_path / "test_page.py"
    test.write_text("def test_page(open_page):\n    pass\n")
    for asked, said, code in (("", "no Chromium is installed", 0), ("/nowhere/chromium", "does not start", 1)):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "support.browser", "-p", "no:cacheprovider", "-rs", str(test)],
            cwd=tmp_path,
            env={"PATH": "/nowhere", "PYTHONPATH": str(ROOT / "tests"), "CHEBACT_BROWSER": asked},
            capture_output=True,
            text=True,
        )
        assert said in done.stdout, done.stdout
        assert done.returncode == code
