"""One self-contained page from the records: sections in, HTML out."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Literal

from chebact.lab.bench.section import cost_section
from chebact.lab.clinical.section import clinical_section
from chebact.lab.images.section import images_section
from chebact.lab.page.document import Section
from chebact.lab.page.networks import networks_section
from chebact.lab.page.overview import overview_section
from chebact.lab.page.results import Results
from chebact.lab.page.theme import DARK, LIGHT, PAGE_DARK, PAGE_LIGHT
from chebact.lab.page.theory import theory_section
from chebact.lab.synthetic.section import synthetic_section

__all__ = ["KINDS", "Kind", "as_html", "sections_of"]

Kind = Literal["all", "synthetic", "clinical", "images"]
SECTIONS = {"synthetic": synthetic_section, "clinical": clinical_section, "images": images_section}
KINDS: dict[Kind, tuple[str, ...]] = {
    "all": tuple(SECTIONS),
    "synthetic": ("synthetic",),
    "clinical": ("clinical",),
    "images": ("images",),
}
TITLE = "Chebyshev-Lagrange activations: the paper, made again"
LEAD = (
    "Every table and figure of “Variations on the Chebyshev-Lagrange Activation Function” (Li, Rudzicz, Novikova, "
    "2019), "
    "made from the records of our own trainings and set beside the published numbers."
)


def sections_of(results: Results, kind: Kind) -> list[Section]:
    """The sections of a page, in its order."""
    experiments = KINDS[kind]
    sections = [overview_section(results, experiments)]
    sections += [SECTIONS[name](results) for name in experiments]
    sections.append(networks_section(experiments))
    if "synthetic" in experiments:
        sections += [theory_section(), cost_section(results)]
    return sections


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
