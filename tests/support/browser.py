"""Real headless Chromium for tests of pages: the system's own, driven by playwright, which downloads nothing.

`CHEBACT_BROWSER` names the program; with it, a browser that is missing or does not start is a failure. Without it one
is looked for, and where none is to be had the tests are skipped and say why.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = ["--disable-dev-shm-usage", "--force-color-profile=srgb", "--font-render-hinting=none"]
HARMLESS = ("data:", "blob:", "about:")
PHONE = (390, 844)
TIMEOUT = 15_000  # ms: a page here needs far less, and the default of 30 s is long to wait for a failure


def program() -> str | None:
    """The browser that was asked for, or the first that is installed."""
    asked = os.environ.get("CHEBACT_BROWSER")
    return asked or next((path for name in PROGRAMS if (path := shutil.which(name))), None)


def unavailable(reason: str) -> None:
    """Leave the test with a reason, or fail where a browser was asked for by name."""
    if os.environ.get("CHEBACT_BROWSER"):
        pytest.fail(f"CHEBACT_BROWSER asks for a browser: {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A running browser (playwright's Browser); one a module, because its event loop must not outlive the module."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        unavailable("no browser tests: playwright is not installed")
    path = program()
    if path is None:
        unavailable("no browser tests: no Chromium is installed (on Debian: `apt install chromium`)")
    with sync_playwright() as playwright:
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        try:
            browser = playwright.chromium.launch(
                executable_path=path, args=FLAGS + (["--no-sandbox"] if root else []), chromium_sandbox=not root
            )
        except Error as error:
            unavailable(f"no browser tests: {path} does not start: {str(error).splitlines()[0]}")
        yield browser
        browser.close()


@dataclass
class Watched:
    """What a page did that a self-contained page must not do."""

    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def watch(self, page: Any, own: Path) -> None:
        """Note errors, and requests for anything but the file itself."""
        page.on("console", lambda said: self.errors.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.note(request.url, own))

    def note(self, address: str, own: Path) -> None:
        if address.split("#")[0].split("?")[0] == own.as_uri() or address.startswith(HARMLESS):
            return
        self.requests.append(address)


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """A function that opens a file as a page and gives playwright's Page.

    After the test no page may have said an error or a warning, or asked for anything but its own file.
    """
    contexts, watched = [], Watched()

    def open_file(
        path: Path, *, size: tuple[int, int] = (1280, 900), dark: bool = False, touch: bool = False, hash: str = ""
    ) -> Any:
        path = Path(path).resolve()
        context = chromium.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            has_touch=touch,
            is_mobile=touch,
            reduced_motion="reduce",
            offline=True,  # a file needs no network, and a page that wants one must fail
        )
        contexts.append(context)
        context.set_default_timeout(TIMEOUT)
        page = context.new_page()
        watched.watch(page, path)
        page.goto(path.as_uri() + (f"#{hash}" if hash else ""), wait_until="load")
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert not watched.errors, watched.errors
    assert not watched.requests, watched.requests
