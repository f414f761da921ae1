"""The report in real Chromium: it opens without a word of complaint, its tables sort, and it fits a phone and paper."""

from pathlib import Path

import pytest
from support.browser import PHONE
from support.report_records import small_records

from chebact.lab.page.page import as_html, sections_of
from chebact.lab.page.results import Results

OPEN = "document.querySelectorAll('details').forEach(fold => fold.open = true)"
SIZES = [PHONE, (1280, 800), (1920, 1080)]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    records = small_records(tmp_path_factory.mktemp("records"))
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(as_html(sections_of(Results(Path("elsewhere"), records)), "the foot"), encoding="utf-8")
    return path


def column(page, table, index):
    return page.eval_on_selector_all(f"#{table} tbody tr", f"rows => rows.map(row => row.cells[{index}].dataset.sort)")


def test_figures_are_there_and_drawn(open_page, written):
    page = open_page(written)
    assert page.title().startswith("Chebyshev-Lagrange activations")
    page.evaluate(OPEN)
    boxes = page.eval_on_selector_all(
        "svg.plot", "all => all.map(svg => { const b = svg.getBoundingClientRect(); return [b.width, b.height] })"
    )
    assert len(boxes) > 30
    assert all(width > 150 and height > 100 for width, height in boxes)
    names = page.eval_on_selector_all("svg.plot", "all => all.map(svg => svg.getAttribute('aria-label'))")
    assert all(names)
    text = page.eval_on_selector_all("svg.plot text", "all => all.map(t => parseFloat(getComputedStyle(t).fontSize))")
    assert min(text) >= 8


@pytest.mark.parametrize("how", ["mouse", "keyboard"])
def test_tables_sort(open_page, written, how):
    page, table = open_page(written), "parameters"
    page.evaluate(OPEN)
    first = column(page, table, 0)
    button = page.locator(f"#{table} thead button").nth(3)
    head = page.locator(f"#{table} thead th").nth(3)

    def press():
        if how == "mouse":
            button.click()
        else:
            button.focus()
            page.keyboard.press("Enter")

    press()
    assert head.get_attribute("aria-sort") == "ascending"
    numbers = [float(text) for text in column(page, table, 3)]
    assert numbers == sorted(numbers)
    press()
    assert head.get_attribute("aria-sort") == "descending"
    assert [float(text) for text in column(page, table, 3)] == sorted(numbers, reverse=True)
    page.locator(f"#{table} thead button").nth(0).click()
    assert head.get_attribute("aria-sort") is None
    assert column(page, table, 0) == first  # the models in the paper's order again


def test_cells_without_a_number_come_last_either_way(open_page, written):
    page, table = open_page(written), "synthetic-released-0-01"
    button = page.locator(f"#{table} thead button").nth(1)
    for _ in range(2):
        button.click()
        found = column(page, table, 1)
        assert found[-1] == ""  # ReLU was not run on Pendulum
        assert all(found[:-1])


def test_the_colours_follow_the_system_and_the_button(open_page, written):
    def paper(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = open_page(written), open_page(written, dark=True)
    assert paper(light) == "rgb(253, 253, 251)"
    assert paper(dark) == "rgb(20, 23, 28)"
    strokes = "[...document.querySelectorAll('#bound svg path')].map(path => getComputedStyle(path).stroke)"
    place = light.evaluate(strokes).index("rgb(29, 95, 196)")  # a learned curve
    assert dark.evaluate(strokes)[place] == "rgb(125, 178, 255)"
    button = light.locator("#scheme")
    seen = []
    for _ in range(3):
        button.click()
        seen.append((button.inner_text(), paper(light)))
    assert [text for text, _ in seen] == ["colours: light", "colours: dark", "colours: auto"]
    assert seen[1][1] == "rgb(20, 23, 28)"


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_it_without_scrolling_sideways(open_page, written, dark):
    page = open_page(written, size=PHONE, touch=True, dark=dark)
    page.evaluate(OPEN)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    alone = "all => all.filter(s => !s.closest('.panels.even') && s.getBoundingClientRect().right > 390).length"
    assert page.eval_on_selector_all("svg.plot", alone) == 0
    strips = "all => all.every(box => box.getBoundingClientRect().right <= 390)"  # panels in a row scroll in their box
    assert page.eval_on_selector_all(".panels", strips)


def test_the_keyboard_reaches_content_sections_folds_and_tables(open_page, written):
    page = open_page(written)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#content"
    fold = page.locator("details > summary").first
    fold.focus()
    page.keyboard.press("Enter")
    assert fold.evaluate("summary => summary.parentElement.open")
    assert page.evaluate("[...document.querySelectorAll('.scroll')].every(box => box.tabIndex === 0)")
    assert page.evaluate("[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))")


def test_on_paper_everything_is_open_and_light(open_page, written):
    page = open_page(written, dark=True)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate("[...document.querySelectorAll('details')].every(fold => fold.open)")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(253, 253, 251)"
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not page.evaluate("[...document.querySelectorAll('details')].some(fold => fold.open)")


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_first_screen_has_the_findings(open_page, written, size):
    page = open_page(written, size=size)
    tops = page.eval_on_selector_all(".findings li", "all => all.map(box => box.getBoundingClientRect().bottom)")
    assert tops
    assert tops[0] <= size[1]
    if size != PHONE:
        assert max(tops) <= size[1]


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_no_table_is_clipped_without_a_word(open_page, written, size):
    page = open_page(written, size=size)
    page.evaluate(OPEN)
    page.wait_for_timeout(50)
    boxes = page.eval_on_selector_all(
        ".scroll", "all => all.map(b => [b.scrollWidth, b.clientWidth, b.querySelector('.more').hidden])"
    )
    assert len(boxes) > 3
    for inside, outside, silent in boxes:
        assert inside <= outside + 1 if silent else inside > outside
        assert silent or size == PHONE  # on a screen of 1280 or more all tables fit
    if size == PHONE:
        first = page.locator("#synthetic-released-0-01 tbody th").first
        page.eval_on_selector("#synthetic-released-0-01", "table => { table.parentElement.scrollLeft = 200 }")
        assert first.bounding_box()["x"] >= 0  # the names of the rows stay


def test_every_entry_of_a_legend_is_drawn_in_its_figure(open_page, written):
    page = open_page(written)
    lost = page.evaluate(
        """[...document.querySelectorAll('figure:not(:has(svg.net))')].flatMap(figure => {
            const drawn = new Set([...figure.querySelectorAll('svg *')].flatMap(part => {
                const style = getComputedStyle(part);
                return [style.fill, style.stroke];
            }));
            return [...figure.querySelectorAll('.keys i')].filter(key => {
                key.style.color = key.style.getPropertyValue('--k');
                return !drawn.has(getComputedStyle(key).color);
            }).map(key => figure.id + ' ' + key.style.color)
        })"""
    )
    assert lost == []


def test_numbers_stand_to_the_right_in_digits_of_one_width(open_page, written):
    page = open_page(written)
    cell = "#synthetic-released-0-01 tbody td"
    style = page.eval_on_selector(cell, "c => [getComputedStyle(c).textAlign, getComputedStyle(c).fontVariantNumeric]")
    assert style == ["right", "tabular-nums"]
