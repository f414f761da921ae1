"""The report page as text: from whole and from partial records, with nothing from outside and nothing unescaped."""

import io
import re
import sys
import types
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from support.report_records import small_records, write_all

from chebact.lab.captures import share_outside
from chebact.lab.cli import run_command
from chebact.lab.commands import report
from chebact.lab.experiments import EXPERIMENTS
from chebact.lab.page.document import Finding, Section, Words, pictures_in
from chebact.lab.page.overview import overview_section
from chebact.lab.page.page import as_html, sections_of
from chebact.lab.page.results import Results, read_results
from chebact.lab.page.sheet import Cell, Head, Sheet, as_markdown, as_rich
from chebact.lab.page.shrink import share_styles, shrink
from chebact.lab.page.theme import DARK, LIGHT, PAGE_DARK, PAGE_LIGHT
from chebact.lab.synthetic.section import synthetic_section
from chebact.lab.synthetic.theory import FUNCTIONS
from chebact.networks import ARCHITECTURES

BAD = '<script>alert("1")</script> & ADJP_->_JJ/'


class Page(HTMLParser):
    """The elements of a page, its text, and whether all that was opened is closed."""

    VOID = ("meta", "link", "br", "use", "path", "rect", "circle", "line", "polygon", "stop")

    def __init__(self, text):
        super().__init__()
        self.elements, self.words, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    return small_records(tmp_path_factory.mktemp("records"))


@pytest.fixture(scope="module")
def sections(records):
    return sections_of(Results(Path("elsewhere"), records))


@pytest.fixture(scope="module")
def text(sections):
    return as_html(sections, "the foot")


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def words_of(page):
    return " ".join(" ".join(page.words).split())


def test_the_page_is_whole_and_refers_to_nothing_outside(text, page):
    assert not page.open
    assert len(text) < 10e6
    addresses = re.findall(r"\b(?:https?:)?//[\w.-]+", re.sub(r'xmlns(:\w+)?="[^"]*"', "", text))
    assert not addresses
    links = [a for _, a in page.elements if {"href", "src", "xlink:href"} & set(a)]
    targets = [value for a in links for name, value in a.items() if name in ("href", "src", "xlink:href")]
    assert all(target.startswith(("#", "data:")) for target in targets)
    assert not page.all("img")


def test_every_id_is_there_once_and_every_reference_finds_its_own(text, page):
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'url\(#([^)"]+)\)', text)) | {
        value[1:]
        for _, a in page.elements
        for value in a.values()
        if value and value.startswith("#") and len(value) > 1
    }
    names = {a.get("aria-labelledby") for _, a in page.elements} - {None}
    assert used | names <= set(ids)


def test_every_figure_says_what_it_shows(page):
    figures = page.all("svg")
    assert len(figures) > 30
    assert all(a["role"] == "img" and len(a["aria-label"]) > 20 for a in figures)
    assert len(page.all("figcaption")) == len(page.all("figure"))


def test_figures_are_drawn_in_the_colours_of_the_theme_alone(text):
    assert set(LIGHT) == set(DARK)
    assert set(PAGE_LIGHT) == set(PAGE_DARK)
    drawings = re.findall(r"<svg.*?</svg>", text, re.DOTALL)
    assert not {code for drawing in drawings for code in re.findall(r"#[0-9a-f]{6}\b", drawing)}
    known = set(LIGHT) | set(PAGE_LIGHT)
    assert {name for drawing in drawings for name in re.findall(r"var\(--([\w-]+)\)", drawing)} <= known


def contrast(one, other):
    """The contrast of two colours as the accessibility guidelines define it."""

    def light(code):
        parts = [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT | PAGE_LIGHT, DARK | PAGE_DARK], ids=["light", "dark"])
def test_colours_can_be_told_from_the_paper(colours):
    for name in ("ink", "muted", "learned", "other"):  # text
        assert contrast(colours[name], colours["paper"]) >= 4.5, name
    for name in ("second", "third", "fourth", "fifth"):  # lines
        assert contrast(colours[name], colours["paper"]) >= 3, name
    for tone in ("better", "worse", "far", "nan"):
        assert contrast(colours["ink"], colours[tone]) >= 4.5
        assert contrast(colours["muted"], colours[tone]) >= 4.5 or tone == "nan"
    for tone in ("better", "worse", "far"):
        assert contrast(colours[f"{tone}-ink"], colours[tone]) >= 4.5


def test_names_from_records_are_escaped(records):
    bad = [replace(record, run={**record.run, "host": BAD}) for record in records]
    section = Section("x", BAD, (Words((BAD,), (BAD,)), Sheet("t", BAD, (Head(BAD),), ((Cell(BAD, BAD, BAD),),))), BAD)
    text = as_html(
        [overview_section(Results(Path(BAD), bad), [EXPERIMENTS[name] for name in ("synthetic", "images")]), section],
        BAD,
    )
    assert "<script>alert" not in text
    page = Page(text)
    assert len(page.all("script")) == 1
    assert words_of(page).count('<script>alert("1")</script> & ADJP_->_JJ/') >= 9


def test_partial_results_are_shown_and_what_is_missing_is_said(page):
    words = words_of(page)
    assert "Noise 0.01, released recipes: 73 of the paper's 77 cells are missing" in words
    assert "CL altogether" in words or "CL, WCP" in words
    assert "chebact run clinical" in words
    assert "CIFAR-10 with the paper's 100 epochs on all images: not run yet" in words
    assert "Cost against degree: not measured yet. chebact bench ops" in words
    assert "ReLU" in words


@pytest.mark.parametrize("drop", ["activations", "slices", "loud"])
def test_records_without_a_part_leave_a_sentence(records, drop):
    if drop == "activations":
        own = [
            replace(record, results={name: part for name, part in record.results.items() if name != "activations"})
            for record in records
        ]
        words = "no record of CL-extrapolate at noise 0.01 keeps any"
    elif drop == "slices":
        own = [record for record in records if record.spec["noise"] == 0.04]
        words = "The slices at noise 0.01: their records are missing"
    else:
        own = [record for record in records if record.spec["noise"] == 0.01]
        words = "The samples at noise 0.04: their records are missing"
    assert words in words_of(Page(as_html([synthetic_section(Results(Path("r"), own))], "")))


def test_no_records_at_all_still_give_a_page():
    sections = sections_of(Results(Path("r"), []))
    assert [section.name for section in sections] == [
        "findings", "synthetic", "theory", "clinical", "images", "arena", "studies", "private", "cost", "runs",
    ]  # fmt: skip
    assert "Not run yet." in words_of(Page(as_html(sections, "")))


def test_every_figure_of_the_paper_is_there(sections):
    sections = {section.name: section for section in sections}
    names = {picture.name: picture for picture in pictures_in(sections["synthetic"].blocks)}
    assert len(names["before-after-released"].panels) == 4
    assert len(names["slices-released"].panels) == 4  # two data sets, two models each
    assert len(names["samples-released"].panels) == 2
    assert {"rmse-released-0-01", "rmse-released-0-04", "curves-released"} <= set(names)
    for name in ("synthetic", "clinical", "images"):  # the experiments of the paper
        assert f"{name}-network" in {picture.name for picture in pictures_in(sections[name].blocks)}
    assert len(next(pictures_in(sections["theory"].blocks)).panels) == len(FUNCTIONS)


def test_the_share_outside_from_a_histogram():
    x = np.random.default_rng(0).normal(size=20_000) * 1.3
    counts, edges = np.histogram(x, bins=60)
    assert share_outside(edges[0], edges[-1], counts.tolist()) == pytest.approx(np.mean(np.abs(x) > 1), abs=0.01)
    assert share_outside(0.0, 0.0, [500]) == 0
    assert share_outside(3.0, 3.0, [500]) == 1


def test_parameters_are_counted_as_the_paper_says(page):
    words = words_of(page)
    assert "CL-extrapolate 3 1 3,841 3,841 3,800" in words
    assert "PCS-CL 3 1 6,785 7,937 6,785" in words
    assert len(ARCHITECTURES) == 11


SHEET = Sheet(
    "name",
    "caption",
    (Head("model"), Head("score *", right=True)),
    ((Cell("a|b"), Cell("0.8***", 0.8, "0.7 ± 0.1", mark="best")), (Cell("c"), Cell("-", mark="worst"))),
)


def test_one_sheet_is_text_and_markdown():
    """A Markdown table as the CommonMark extension reads it: pipes in cells are escaped, and so are stars."""
    assert as_markdown(SHEET).splitlines() == [
        r"| model | score \* |",
        "|---|--:|",
        r"| a\|b | **0.8\*\*\*** (0.7 ± 0.1) |",
        "| c | *-* |",
    ]
    console = Console(width=60, file=io.StringIO())
    console.print(as_rich(SHEET, "a [title]"))
    lines = [line.strip(" │┃") for line in console.file.getvalue().splitlines()]
    assert lines[0] == "a [title]"
    assert "0.8*** *" in console.file.getvalue()
    assert "(0.7 ± 0.1)" in lines[5]


def test_the_command_writes_one_page_and_says_where(records, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_all(records, tmp_path / "results")
    assert run_command(["report", "synthetic", "--results", "results", "--json", "rows.json"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results", "rows.json"]  # no page: a file was asked for
    assert run_command(["report", "synthetic", "--results", "results", "--noise", "0.01"]) == 0
    assert "report/index.html" in capsys.readouterr().err
    assert [path.name for path in (tmp_path / "report").iterdir()] == ["index.html"]
    captions = [a["aria-labelledby"] for a in Page((tmp_path / "report" / "index.html").read_text()).all("table")]
    assert [name for name in captions if name.startswith("synthetic")] == ["synthetic-released-0-01-caption"]
    assert run_command(["report", "--output", "other"]) == 0
    assert (tmp_path / "other" / "index.html").stat().st_size > 1e5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["all", "--results", "nowhere"], "there is no results folder nowhere"),
        (["all", "--results", "empty"], "there are no records below empty"),
        (["all", "--output", "file"], "cannot write into file: it is a file"),
        (["everything"], "does not know what to do with 'everything'"),
    ],
)
def test_what_cannot_be_reported_gets_one_sentence(arguments, words, records, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    write_all(records[:1], tmp_path / "results")
    assert run_command(["report", *arguments]) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(r"chebact: [^\n]*\n", said)
    assert words in said


def test_without_the_packages_for_drawing_the_command_says_how_to_get_them(records, tmp_path, capsys, monkeypatch):
    write_all(records[:1], tmp_path / "results")
    monkeypatch.setattr(report, "find_spec", lambda name: None if name == "jinja2" else name)
    assert run_command(["report", "--results", str(tmp_path / "results"), "--output", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == "chebact: the page needs jinja2: pip install 'chebact[lab]'\n"
    assert not (tmp_path / "out").exists()


def test_the_same_records_give_the_same_page(records, text):
    assert as_html(sections_of(Results(Path("elsewhere"), records)), "the foot") == text


def test_a_damaged_record_stops_the_report(records, tmp_path):
    write_all(records[:2], tmp_path)
    path = next(tmp_path.rglob("*.json"))
    path.write_text(path.read_text()[:-20])
    with pytest.raises(Exception, match="not a complete record"):
        read_results(tmp_path)


def test_the_command_says_what_it_draws_and_opens_the_page(records, tmp_path, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr(report.webbrowser, "open", lambda address: opened.append(address) or True)
    write_all(records[:1], tmp_path / "results")
    words = ["--results", str(tmp_path / "results"), "--output", str(tmp_path / "out")]
    assert run_command(["report", *words, "--open"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith("drawing: ")] == [
        f"drawing: {title}" for title in [*(row.title for row in EXPERIMENTS.values()), "What it costs"]
    ]
    assert opened == [(tmp_path / "out" / "index.html").as_uri()]


def test_a_fourth_experiment_is_one_row(records, monkeypatch):
    """The page draws what a row of the table names, and knows no subject beside it."""
    ours = Section("fourth", "A fourth", (Words(("drawn",)),), finding=Finding("42", "of the fourth."), shows="All.")
    module = types.ModuleType("other.fourth.section")
    module.sections = lambda results: [ours] if results.records_of("fourth") else []
    monkeypatch.setitem(sys.modules, "other.fourth.section", module)
    row = replace(EXPERIMENTS["images"], name="fourth", title="A fourth", package="other")
    monkeypatch.setitem(EXPERIMENTS, "fourth", row)
    own = replace(records[0], experiment="fourth")
    sections = sections_of(Results(Path("elsewhere"), [own]), ["fourth"])
    assert [section.name for section in sections] == ["findings", "fourth", "runs"]
    words = words_of(Page(as_html(sections, "")))
    assert "A fourth 42 of the fourth." in words
    assert "What this shows. All." in words


def test_a_section_under_another_has_its_link_there_and_not_in_the_navigation():
    sections = [Section("all", "All", ()), Section("one", "One", (), under="all"), Section("end", "End", ())]
    text = as_html(sections, "")
    links = [re.findall(r'href="#(\w+)"', found) for found in re.findall(r"<nav.*?</nav>", text, re.DOTALL)]
    assert links == [["all", "end"], ["one"]]
    assert '<h3 id="one-title">One</h3>' in text


def test_a_drawing_in_fewer_bytes_keeps_its_coordinates_ids_and_styles():
    drawing = (
        '<g><g/></g><defs><path id="m1" d="M -0.004 1.256 \nL 1e-07 30 \nz"/></defs>'
        '<use xlink:href="#m1" x="12.3456" y="7" style="fill: red; "/><use xlink:href="#m1" style="fill: red"/>'
        '<text transform="rotate(-0 1 2)">1.23456</text><path transform="scale(0.015625)" d="M 1 2"/>'
        '<path transform="rotate(-90 1.23456 2)" style="fill: blue"/>'
    )
    short = shrink(drawing)
    assert short == (
        '<defs><path id="0" d="M0 1.26L0 30z"/></defs><use href="#0" x="12.35" y="7" style="fill:red"/>'
        '<use href="#0" style="fill:red"/><text>1.23456</text><path transform="scale(0.015625)" d="M1 2"/>'
        '<path transform="rotate(-90 1.23 2)" style="fill:blue"/>'
    )
    page = share_styles(f'<style></style><p style="fill:red"></p><svg class="plot">{short}</svg>')
    assert page.startswith('<style>svg.plot .s0 { fill:red }\n</style><p style="fill:red"></p>')
    assert page.count('class="s0"') == 2
    assert page.count('style="fill:blue"') == 1
