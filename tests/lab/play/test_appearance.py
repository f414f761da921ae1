"""The playground can be read on every screen, in real Chromium: contrast, labels, saved drawings."""

import re
from xml.etree import ElementTree

import pytest
from support.browser import PHONE


@pytest.mark.parametrize(("size", "dark"), [(PHONE, True), (PHONE, False), ((1280, 860), True), ((820, 1180), False)])
def test_the_page_fits_and_can_be_read(play, dark, size):
    page = play(size=size, dark=dark, touch=size == PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not page.evaluate(UNNAMED)
    for contrast in page.evaluate(CONTRASTS):
        assert contrast["ratio"] >= 4.5, contrast


UNNAMED = """() => {
  const named = (e) => e.getAttribute("aria-label") || e.textContent.trim() ||
    [...(e.labels ?? [])].some((label) => label.textContent.trim());
  const controls = [...document.querySelectorAll("button, input, select, [role=slider]")];
  return controls.filter((e) => !named(e)).map((e) => e.id);
}"""
CONTRASTS = """() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const back = getComputedStyle(e).backgroundColor;
      if (back !== "rgba(0, 0, 0, 0)") return back;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = "h1, header p, legend, label, dt, dd, summary, code, .key, .chips button";
  return [...document.querySelectorAll(texts)].filter((e) => e.checkVisibility() && !e.closest(".off")).map((e) => {
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    return { text: e.textContent.trim().slice(0, 30), ratio: (a + 0.05) / (b + 0.05) };
  });
}"""


def test_the_drawing_is_saved_as_svg_with_its_own_colours(play, tmp_path):
    page = play("n=5&f=gelu(x)")
    with page.expect_download() as waiting:
        page.click("#save-svg")
    assert waiting.value.suggested_filename == "activation.svg"
    waiting.value.save_as(tmp_path / "a.svg")
    tree = ElementTree.parse(tmp_path / "a.svg").getroot()  # well formed
    text = (tmp_path / "a.svg").read_text()
    assert "var(--" not in text
    width, height = page.evaluate(
        "(() => { const b = document.getElementById('plot').viewBox.baseVal; return [b.width, b.height] })()"
    )
    assert (float(tree.get("width")), float(tree.get("height"))) == (width, height)
    alone = page.context.new_page()
    alone.goto((tmp_path / "a.svg").as_uri())
    stroke = alone.evaluate("[...document.querySelectorAll('path')].map(p => getComputedStyle(p).stroke)")
    shown = page.evaluate("getComputedStyle(document.querySelector('path.curve')).stroke")
    assert shown in stroke


def test_the_drawing_is_saved_as_png_of_twice_the_size(play, tmp_path):
    from PIL import Image

    page = play("n=5&f=gelu(x)")
    with page.expect_download() as waiting:
        page.click("#save-png")
    waiting.value.save_as(tmp_path / "a.png")
    image = Image.open(tmp_path / "a.png").convert("RGB")
    box = page.evaluate(
        "(() => { const b = document.getElementById('plot').viewBox.baseVal; return [b.width, b.height] })()"
    )
    assert list(image.size) == [2 * size for size in box]
    curve = page.evaluate("getComputedStyle(document.querySelector('path.curve')).stroke")
    wanted = tuple(int(part) for part in re.findall(r"\d+", curve)[:3])
    assert wanted in {colour for _, colour in image.getcolors(maxcolors=10**6)}


def test_the_degree_box_says_its_limit(play):
    page = play("n=3&f=x")
    assert page.text_content("#degree-limit") == "1 to 30"
    page.fill("#degree-number", "31")
    assert page.text_content("#said") == "Degree must be an integer from 1 to 30, got 31."
    assert "degree=3" in page.text_content("#python")


@pytest.mark.parametrize("word", ["k", "basis functions φ", "bound for these nodes", "equation (1) as printed"])
def test_words_of_the_panel_are_explained(play, word):
    tips = play().eval_on_selector_all("abbr", "all => all.map(each => [each.textContent, each.title])")
    assert len(dict(tips)[word]) > 20
