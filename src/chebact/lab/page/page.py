"""One self-contained page from the records: sections in, HTML out."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from chebact.lab.experiments import EXPERIMENTS, MEASURED, load
from chebact.lab.page.document import Section
from chebact.lab.page.overview import overview_section
from chebact.lab.page.results import Results
from chebact.lab.page.theme import DARK, LIGHT, PAGE_DARK, PAGE_LIGHT

__all__ = ["as_html", "sections_of"]

TITLE = "Chebyshev-Lagrange activations: the paper, made again"
LEAD = (
    "Every table and figure of “Variations on the Chebyshev-Lagrange Activation Function” (Li, Rudzicz, Novikova, "
    "2019), made from the records of our own trainings and set beside the published numbers."
)


def sections_of(results: Results, experiments: Sequence[str] | None = None) -> list[Section]:
    """The sections of a page of these experiments, in its order; of all, and of what was measured, by default."""
    rows = [EXPERIMENTS[name] for name in (EXPERIMENTS if experiments is None else experiments)]
    places = [row.sections for row in rows] + ([MEASURED] if experiments is None else [])
    return [overview_section(results, rows), *(section for place in places for section in load(place)(results))]


def as_html(sections: Sequence[Section], foot: str) -> str:
    """The page: texts are escaped, and only what this package wrote itself goes in as it is."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    here = files("chebact.lab.page")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=False)
    environment.filters["ours"] = Markup
    template = environment.from_string((here / "page.html.jinja").read_text(encoding="utf-8"))
    css = (here / "page.css").read_text(encoding="utf-8")
    css = css.replace("{{light}}", variables(LIGHT | PAGE_LIGHT)).replace("{{dark}}", variables(DARK | PAGE_DARK))
    js = (here / "page.js").read_text(encoding="utf-8")
    return template.render(title=TITLE, lead=LEAD, sections=sections, foot=foot, css=css, js=js)


def variables(colours: dict[str, str]) -> str:
    return "".join(f"  --{name}: {code};\n" for name, code in colours.items())
