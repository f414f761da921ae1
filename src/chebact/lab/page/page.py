"""One self-contained page from the records: sections in, HTML out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files

from chebact.lab.experiments import EXPERIMENTS, MEASURED, load
from chebact.lab.page.document import Findings, Section
from chebact.lab.page.overview import overview_section
from chebact.lab.page.results import Results
from chebact.lab.page.shrink import share_styles
from chebact.lab.page.theme import DARK, LIGHT, PAGE_DARK, PAGE_LIGHT

__all__ = ["as_html", "sections_of"]

TITLE = "Chebyshev-Lagrange activations: the paper, reproduced"
LEAD = (
    "The tables and figures of “Variations on the Chebyshev-Lagrange Activation Function” (Li, Rudzicz, Novikova, "
    "2019), made from stored runs and shown beside the published numbers. Where data or hours are missing, the section "
    "says so."
)


def sections_of(
    results: Results, experiments: Sequence[str] | None = None, tell: Callable[[str], None] = lambda title: None
) -> list[Section]:
    """The sections of a page of these experiments, in its order; of all, and of what was measured, by default.

    `tell` is called with the title of what is drawn next.
    """
    rows = [EXPERIMENTS[name] for name in (EXPERIMENTS if experiments is None else experiments)]
    targets = {row.title: row.sections for row in rows} | (MEASURED if experiments is None else {})
    sections: list[Section] = []
    for title, target in targets.items():
        tell(title)
        sections += load(target)(results)
    return [findings_section(sections), *sections, overview_section(results, rows)]


def findings_section(sections: Sequence[Section]) -> Section:
    """The findings of all sections; it comes first."""
    found = tuple((section.name, section.title, section.finding) for section in sections if section.finding)
    return Section("findings", "Findings", (Findings(found),) if found else ())


def as_html(sections: Sequence[Section], foot: str) -> str:
    """The page: texts are escaped, and only what this package wrote itself is inserted unescaped."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    here = files("chebact.lab.page")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=False)
    environment.filters["ours"] = Markup
    environment.filters["joined"] = keep_together
    template = environment.from_string((here / "page.html.jinja").read_text(encoding="utf-8"))
    css = (here / "page.css").read_text(encoding="utf-8")
    css = css.replace("{{light}}", css_variables(LIGHT | PAGE_LIGHT)).replace(
        "{{dark}}", css_variables(DARK | PAGE_DARK)
    )
    js = (here / "page.js").read_text(encoding="utf-8")
    return share_styles(template.render(title=TITLE, lead=LEAD, sections=sections, foot=foot, css=css, js=js))


def keep_together(text: str) -> str:
    """The text with no-break spaces between a number and its deviation, a count and its word."""
    return (
        text.replace(" ± ", "\u00a0±\u00a0")
        .replace(" NaN", "\u00a0NaN")
        .replace(", p ", ", p\u00a0")
        .replace(" ↑", "\u00a0↑")
        .replace(" ↓", "\u00a0↓")
    )


def css_variables(colours: dict[str, str]) -> str:
    return "".join(f"  --{name}: {code};\n" for name, code in colours.items())
