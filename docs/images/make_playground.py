"""Make docs/images/playground.png: `.venv/bin/python docs/images/make_playground.py`, with Chromium and playwright."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from chebact.lab.play.page import render

HERE = Path(__file__).resolve().parent
ADDRESS = "n=5&tails=extrapolate&f=gelu(x)&y=0.84,0.62,0.16,-0.02,-0.36,-0.159"


def main() -> None:
    browser = os.environ.get("CHEBACT_BROWSER") or shutil.which("chromium")
    if browser is None:
        sys.exit("no Chromium is installed: on Debian `apt install chromium`")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "playground.html"
        file.write_text(render(), encoding="utf-8")
        root = hasattr(os, "geteuid") and os.geteuid() == 0
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"] if root else [])
        page = chromium.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
        page.goto(f"{file.as_uri()}#{ADDRESS}")
        page.locator('.handle[data-node="5"]').hover()
        page.wait_for_timeout(300)
        page.screenshot(path=HERE / "playground.png")
        chromium.close()


if __name__ == "__main__":
    main()
