"""The colours of the report in light and in dark, and matplotlib figures as SVG that follows them.

A figure is drawn in the light colours, each of which is one name of the theme; in the page every such colour becomes
the CSS variable of that name, so one drawing serves both schemes and the printer.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chebact.lab import LabError
from chebact.lab.page.document import Panel
from chebact.lab.page.shrink import shrink

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "DARK",
    "LIGHT",
    "PAGE_DARK",
    "PAGE_LIGHT",
    "as_file",
    "as_image",
    "as_panel",
    "canvas",
    "grid",
    "image_kind",
]

COLOURS = {  # of figures, in light and in dark
    "paper": ("#fdfdfb", "#14171c"),
    "ink": ("#1b1f27", "#e8eaee"),
    "muted": ("#5e6673", "#a3abb8"),
    "line": ("#c9ced6", "#454c58"),
    "grid": ("#e7eaee", "#282d35"),
    "shade": ("#eef0f3", "#1f242b"),
    "learned": ("#1d5fc4", "#7db2ff"),
    "second": ("#0a8068", "#4fd0b0"),
    "other": ("#c2500c", "#ff9d5c"),
    "third": ("#8b3fb8", "#d29bf5"),
    "fourth": ("#b5366f", "#ff8fbc"),
    "fifth": ("#8a6d00", "#e6c44d"),
    "faint": ("#9aa2ae", "#717a88"),
}
PAGE_COLOURS = {  # of the page only, in which no figure is drawn: boxes of diagrams, cells of tables
    "tint-plain": ("#f3f4f6", "#232830"),
    "edge-plain": ("#b9bfc9", "#59616e"),
    "tint-learned": ("#dbe8fb", "#1c3357"),
    "edge-learned": ("#6f9fe0", "#6a9be0"),
    "better": ("#dcf1e3", "#163826"),
    "worse": ("#fdeed8", "#40300f"),
    "far": ("#fbdcd6", "#4a201a"),
    "nan": ("#eeedf3", "#292833"),
    "better-ink": ("#0f6b35", "#86dba6"),
    "worse-ink": ("#8a4b00", "#f0be70"),
    "far-ink": ("#a32112", "#ff9d8c"),
    "code": ("#f1f2f4", "#20252c"),
}
LIGHT, DARK = ({name: pair[scheme] for name, pair in COLOURS.items()} for scheme in (0, 1))
PAGE_LIGHT, PAGE_DARK = ({name: pair[scheme] for name, pair in PAGE_COLOURS.items()} for scheme in (0, 1))
DPI = 72  # then a point is a pixel of the page
FONT = 11


@contextmanager
def canvas(width: int, height: int, *, margins: tuple[int, int, int, int] = (40, 14, 30, 26)) -> Iterator[Axes]:
    """Axes on a figure of this size in pixels, in the report's style; margins are left, right, bottom, top."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    left, right, bottom, top = margins
    with rc_context(drawing_settings()):
        figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
        figure.patch.set_alpha(0)
        box = (left / width, bottom / height, (width - left - right) / width, (height - bottom - top) / height)
        yield figure.add_axes(box)


@contextmanager
def grid(width: int, height: int, rows: int, columns: int) -> Iterator[tuple[Figure, list[list[Axes]]]]:
    """Rows and columns of axes on one figure of this size in pixels, for a separate file."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(drawing_settings()):
        figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI)
        ends = (46 / width, 32 / height, 1 - 13.8 / width, 1 - 32 / height)
        figure.subplots_adjust(*ends, wspace=0.26, hspace=0.38)
        yield figure, figure.subplots(rows, columns, squeeze=False).tolist()


def drawing_settings() -> Any:
    """matplotlib's parameters within a drawing."""
    return {
        "font.size": FONT,
        "axes.titlesize": FONT,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "axes.labelsize": FONT - 1,
        "xtick.labelsize": FONT - 1,
        "ytick.labelsize": FONT - 1,
        "axes.facecolor": "none",
        "axes.edgecolor": LIGHT["line"],
        "axes.labelcolor": LIGHT["muted"],
        "text.color": LIGHT["ink"],
        "xtick.color": LIGHT["line"],
        "ytick.color": LIGHT["line"],
        "xtick.labelcolor": LIGHT["muted"],
        "ytick.labelcolor": LIGHT["muted"],
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "grid.color": LIGHT["grid"],
        "grid.linewidth": 0.8,
        "lines.linewidth": 1.8,
        "axes.formatter.useoffset": False,
        "axes.formatter.limits": (-3, 4),
    }


def as_panel(axes: Axes, name: str, alt: str) -> Panel:
    """The axes' figure for the page: an <svg> whose colours are variables and whose ids begin with its name."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    text = svg_text(figure, name, fonts="none")
    text = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->|<defs>\s*</defs>", "", text, flags=re.DOTALL)
    text = re.sub(r"font-family:[^;\"]*;?|font: (\d+)", lambda found: f"font: {found[1]}" if found[1] else "", text)
    text = re.sub(r"(font: [\d.]+px)[^;\"]*", r"\1 sans-serif", text)
    for colour, code in LIGHT.items():
        text = text.replace(code, f"var(--{colour})")
    text = used_ids(re.sub(r">\s+<", "><", text))
    width, height = (round(size * DPI) for size in figure.get_size_inches())
    body = text[text.index(">", text.index("<svg")) + 1 :]
    head = (
        f'<svg class="plot" role="img" aria-label="{escape(alt)}" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}">'
    )
    return Panel(head + prefix_ids(shrink(body).strip(), name), alt, width)


def as_file(figure: Figure, name: str, colours: dict[str, str]) -> bytes:
    """The figure as a separate SVG file in one of the two schemes, letters as outlines, on the scheme's background."""
    figure.patch.set(facecolor=LIGHT["paper"], alpha=1)
    text = svg_text(figure, name, fonts="path")
    for colour, code in LIGHT.items():
        text = text.replace(code, f"@{colour}@")
    for colour, code in colours.items():
        text = text.replace(f"@{colour}@", code)
    return text.encode()


def image_kind(path: Path) -> str:
    """`png` or `svg`, by the ending of the name; a LabError for any other."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise LabError(f"the file of a figure must end in .png or .svg, got {path.name!r}")
    return kind


def as_image(figure: Figure, kind: str) -> bytes:
    """The figure as the content of a `png` or `svg` file in the light colours."""
    if kind == "svg":
        return as_file(figure, "chebact", LIGHT)
    figure.patch.set(facecolor=LIGHT["paper"], alpha=1)
    content = io.BytesIO()
    figure.savefig(content, format=kind, dpi=2 * DPI)
    return content.getvalue()


def svg_text(figure: Figure, name: str, fonts: str) -> str:
    """The SVG text, the same for the same drawing."""
    from matplotlib import rc_context

    content = io.StringIO()
    with rc_context({"svg.hashsalt": name, "svg.fonttype": fonts, "path.simplify": True}):
        figure.savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()


def used_ids(text: str) -> str:
    """Only the ids that something refers to."""
    used = set(re.findall(r'(?:url\(#|href="#)([^)"]+)', text))
    return re.sub(r' id="([^"]*)"', lambda found: found[0] if found[1] in used else "", text)


def prefix_ids(text: str, name: str) -> str:
    """The text with ids that begin with the figure's name, so that figures of a page keep apart."""
    return re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{name}-", text)
