"""Drawings of matplotlib in fewer bytes: the same to a hundredth of a pixel, and each style is written once."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["share_styles", "shrink"]

NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")
COORDINATES = re.compile(
    r' (d|x|y|transform(?=="(?:rotate|translate)\([^()]*\)"))="([^"]*)"'
)  # no scales: they are small
PLOT = re.compile(r'<svg class="plot".*?</svg>', re.DOTALL)
STYLE = re.compile(r' style="([^"]*)"')
UNTURNED = re.compile(r' transform="rotate\(-?0(?: [^)]*)?\)"')


def shrink(text: str) -> str:
    r"""The text with coordinates of two decimals and ids of a digit or two, without what draws nothing.

    >>> shrink('<g/><path d="M 1.234567 8 \nL 2.5 9 \n" style="fill: none; stroke: red"/>')
    '<path d="M1.23 8L2.5 9" style="fill:none;stroke:red"/>'
    """
    text = UNTURNED.sub("", text)
    text = COORDINATES.sub(lambda found: f' {found[1]}="{short_coordinates(found[2])}"', text)
    text = STYLE.sub(lambda found: f' style="{short_style(found[1])}"', text)
    text = text.replace(" xlink:href=", " href=")
    before = ""
    while before != text:  # a group may be empty once another is gone
        before, text = text, re.sub(r"<g/>|<g></g>", "", text)
    return number_ids(text)


def short_coordinates(text: str) -> str:
    """Numbers of two decimals at the most, and no blanks around the letters of a path."""
    text = NUMBER.sub(lambda found: f"{round(float(found[0]), 2) + 0.0:.2f}".rstrip("0").rstrip("."), text)
    return re.sub(r"\s*([A-Za-z])(?:\s+|$)", r"\1", " ".join(text.split())).strip()


def short_style(text: str) -> str:
    """Declarations without blanks around their signs, and without empty ones."""
    return ";".join(part for part in re.sub(r"\s*([:;])\s*", r"\1", text.strip()).split(";") if part)


def number_ids(text: str) -> str:
    """The ids, which are all in use, as numbers in the order of the text."""
    names = {name: format(index, "x") for index, name in enumerate(re.findall(r' id="([^"]*)"', text))}
    text = re.sub(r' id="([^"]*)"', lambda found: f' id="{names[found[1]]}"', text)
    return re.sub(r'(url\(#|href="#)([^)"]+)', lambda found: f"{found[1]}{names[found[2]]}", text)


def share_styles(page: str) -> str:
    """The page with a class for every style that its drawings have more than once; the rules are added to its first
    style sheet.
    """
    found = Counter(style for plot in PLOT.findall(page) for style in STYLE.findall(plot))
    classes = {style: f"s{index:x}" for index, (style, count) in enumerate(found.most_common()) if count > 1}

    def shared(style: re.Match[str]) -> str:
        return f' class="{classes[style[1]]}"' if style[1] in classes else style[0]

    page = PLOT.sub(lambda plot: STYLE.sub(shared, plot[0]), page)
    rules = "".join(f"svg.plot .{name} {{ {style} }}\n" for style, name in classes.items())
    return page.replace("</style>", f"{rules}</style>", 1)
