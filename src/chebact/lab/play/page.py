"""The playground as one file: template, style and scripts put together, the learned activations as data inside."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

from jinja2 import Environment
from markupsafe import Markup

from chebact.checks import TAILS
from chebact.lab.play.shapes import Shapes

__all__ = ["render"]

SCRIPTS = (
    "maths", "text", "jets", "formula", "analysis", "state", "drawing", "plot", "picture", "handles", "learned", "app",
)  # fmt: skip


def render(sets: Sequence[Shapes] = (), source: str = "") -> str:
    """The page. `source` says where the sets come from; both are data to the page, whatever they hold."""
    style = part("page.css")
    scripts = [part(f"{name}.js") for name in SCRIPTS]
    template = Environment(autoescape=True, keep_trailing_newline=True).from_string(part("page.html"))
    return template.render(
        title=f"{source} · chebact playground" if source else "chebact playground",
        policy=policy(style, scripts),
        style=Markup(style),
        scripts=[Markup(script) for script in scripts],
        tails=TAILS,
        data={"source": source, "sets": [shapes.as_json() for shapes in sets]},
    )


def policy(style: str, scripts: Sequence[str]) -> str:
    """What the page may do: run these scripts and no other, and ask nobody for anything."""
    allowed = " ".join(fingerprint(script) for script in scripts)
    return f"default-src 'none'; img-src data:; style-src {fingerprint(style)}; script-src {allowed}"


def fingerprint(text: str) -> str:
    """How a Content-Security-Policy names an inline text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def part(name: str) -> str:
    """One of the files beside this one."""
    return files("chebact.lab.play").joinpath(name).read_text(encoding="utf-8")
