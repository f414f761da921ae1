"""The three networks of the paper as diagrams, written as SVG in the colours of the page."""

from __future__ import annotations

from html import escape

from chebact.lab.page.document import Key, Panel

__all__ = ["DIAGRAM_KEYS", "clinical_diagram", "image_diagram", "synthetic_diagram"]

BOX, GAP = 26, 16  # height of a box and of the arrow to the next, in pixels
DIAGRAM_KEYS = (
    Key("area", "tint-learned", "activation σ"),
    Key("area", "tint-plain", "weights: linear map or convolution"),
    Key("line", "second", "shortcut"),
)


class Drawing:
    """Pieces of an SVG of a given size; y grows downwards."""

    def __init__(self, width: int, height: int, name: str, alt: str) -> None:
        self.width, self.height, self.name, self.alt = width, height, name, alt
        self.pieces: list[str] = []

    def box(self, x: float, y: float, width: float, label: str, tone: str = "plain", height: int = BOX) -> None:
        """A box with its label; x is its middle, y its top."""
        self.pieces.append(
            f'<rect x="{x - width / 2:g}" y="{y:g}" width="{width:g}" height="{height}" rx="5" '
            f'style="fill: var(--tint-{tone}); stroke: var(--edge-{tone})"/>'
        )
        self.text(x, y + height / 2 + 4, label)

    def text(self, x: float, y: float, label: str, *, muted: bool = False, anchor: str = "middle") -> None:
        colour = "muted" if muted else "ink"
        self.pieces.append(
            f'<text x="{x:g}" y="{y:g}" style="font: 11.5px sans-serif; text-anchor: {anchor}; fill: var(--{colour})">'
            f"{escape(label)}</text>"
        )

    def arrow(self, x: float, top: float, bottom: float) -> None:
        """A straight arrow downwards."""
        self.path(f"M{x:g} {top:g}V{bottom:g}")

    def path(self, steps: str, *, shortcut: bool = False, head: bool = True) -> None:
        colour, kind = ("second", "s") if shortcut else ("muted", "a")
        end = f' marker-end="url(#{self.name}-{kind})"' if head else ""
        self.pieces.append(f'<path d="{steps}" style="fill: none; stroke: var(--{colour}); stroke-width: 1.4"{end}/>')

    def join(self, x: float, y: float, sign: str) -> None:
        """The circle in which a shortcut meets what it went around; y is its middle."""
        self.pieces.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="9" '
            'style="fill: var(--paper); stroke: var(--second); stroke-width: 1.4"/>'
        )
        self.text(x, y + 4, sign)

    def shortcut(self, x: float, top: float, bottom: float, reach: float) -> None:
        """A curve on the right from (x, top) to the join at (x, bottom)."""
        self.path(f"M{x:g} {top:g}C{x + reach:g} {top:g} {x + reach:g} {bottom:g} {x + 11:g} {bottom:g}", shortcut=True)

    def panel(self) -> Panel:
        """The finished drawing."""
        heads = "".join(
            f'<marker id="{self.name}-{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0L8 4L0 8z" style="fill: var(--{colour})"/></marker>'
            for kind, colour in (("a", "muted"), ("s", "second"))
        )
        svg = (
            f'<svg class="plot" role="img" aria-label="{escape(self.alt)}" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}"><defs>{heads}</defs>{"".join(self.pieces)}</svg>'
        )
        return Panel(svg, self.alt, self.width)


def stack(drawing: Drawing, x: float, y: float, width: float, labels: list[tuple[str, str]]) -> float:
    """Boxes below each other with arrows between; where the last one ends."""
    for index, (label, tone) in enumerate(labels):
        if index:
            drawing.arrow(x, y, y + GAP - 1)
            y += GAP
        drawing.box(x, y, width, label, tone)
        y += BOX
    return y


def residual_block(drawing: Drawing, x: float, y: float, labels: list[tuple[str, str]], sign: str) -> float:
    """A block with its shortcut, entered at (x, y); where it ends."""
    drawing.path(f"M{x:g} {y:g}V{y + 2 * GAP - 1:g}")
    bottom = stack(drawing, x, y + 2 * GAP, 150, labels)
    drawing.arrow(x, bottom, bottom + GAP - 1)
    drawing.join(x, bottom + GAP + 9, sign)
    drawing.shortcut(x, y + GAP * 0.7, bottom + GAP + 9, 168)
    return bottom + GAP + 18


def synthetic_diagram() -> Panel:
    """Five layers, three blocks, width 32; shortcuts add."""
    alt = (
        "Network of the synthetic experiments: linear map from i inputs to 32; three blocks of an activation and a "
        "linear "
        "map from 32 to 32, each added to its input; an activation; a linear map from 32 to 1."
    )
    drawing = Drawing(250, 560, "net-synthetic", alt)
    drawing.text(95, 16, "i inputs", muted=True)
    drawing.arrow(95, 22, 37)
    drawing.box(95, 38, 150, "Linear i → 32")
    y = 64.0
    for _ in range(3):
        y = residual_block(drawing, 95, y, [("σ", "learned"), ("Linear 32 → 32", "plain")], "+")
    drawing.arrow(95, y, y + GAP - 1)
    y = stack(drawing, 95, y + GAP, 150, [("σ", "learned"), ("Linear 32 → 1", "plain")])
    drawing.height = round(y) + 8
    return drawing.panel()


def clinical_diagram() -> Panel:
    """Six layers, two blocks; shortcuts average."""
    alt = (
        "Network of the DementiaBank experiments: linear map from 66 features to width d, 32 or 64; two blocks of "
        "activation, linear map, activation, linear map, each averaged with its input; a linear map from d to 2."
    )
    drawing = Drawing(250, 600, "net-clinical", alt)
    drawing.text(95, 16, "66 features", muted=True)
    drawing.arrow(95, 22, 37)
    drawing.box(95, 38, 150, "Linear 66 → d")
    y = 64.0
    parts = [("σ", "learned"), ("Linear d → d", "plain")] * 2
    for _ in range(2):
        y = residual_block(drawing, 95, y, parts, "½")
    drawing.arrow(95, y, y + GAP - 1)
    y = stack(drawing, 95, y + GAP, 150, [("Linear d → 2", "plain")])
    drawing.height = round(y) + 8
    return drawing.panel()


def image_diagram() -> Panel:
    """Fourteen layers: a convolution, three stages of two blocks of two branches, pooling, a linear map."""
    alt = (
        "Network of the image experiments: 3x3 convolution to 16 channels; three stages of two blocks with widths "
        "32, 64 "
        "and 128 and strides 1, 2 and 2, ReLU in the first stage and σ in the other two; ReLU, 8x8 mean, linear map "
        "from "
        "128 to 10. A block has two branches of activation, 3x3 convolution, batch norm, twice; the branches are "
        "mixed by "
        "shake-shake or averaged and added to the shortcut."
    )
    drawing = Drawing(450, 470, "net-images", alt)
    drawing.text(80, 16, "image 32 × 32", muted=True)
    drawing.arrow(80, 22, 37)
    stages = [("conv 3×3, 16", "plain")]
    stages += [
        (f"2 blocks, width {width}{stride}", tone)
        for width, stride, tone in ((32, "", "plain"), (64, ", /2", "learned"), (128, ", /2", "learned"))
    ]
    stages += [("ReLU, 8×8 mean", "plain"), ("Linear 128 → 10", "plain")]
    bottom = stack(drawing, 80, 38, 144, stages)
    drawing.text(80, bottom + 20, "blue stages have σ,", muted=True)
    drawing.text(80, bottom + 36, "the first has ReLU", muted=True)
    draw_image_block(drawing)
    drawing.height = 440
    return drawing.panel()


def draw_image_block(drawing: Drawing) -> None:
    """One block, taken apart, on the right."""
    left, right, middle = 228.0, 342.0, 285.0
    drawing.text(middle, 16, "a block", muted=True)
    drawing.path(f"M{middle:g} 22V44", head=False)
    parts = [("σ", "learned"), ("conv 3×3", "plain"), ("BN", "plain")] * 2
    for x in (left, right):
        drawing.path(f"M{middle:g} 44H{x:g}V61")
        bottom = stack(drawing, x, 62, 96, parts)
        drawing.path(f"M{x:g} {bottom:g}V{bottom + 20:g}H{middle:g}", head=False)
    drawing.path(f"M{middle:g} {bottom + 20:g}V{bottom + 27:g}")
    drawing.box(middle, bottom + 28, 150, "shake-shake or mean")
    end = bottom + 28 + BOX
    drawing.arrow(middle, end, end + GAP - 1)
    drawing.join(middle, end + GAP + 9, "+")
    far = 430.0
    drawing.path(f"M{middle:g} 34H{far - 10:g}Q{far:g} 34 {far:g} 44V{end + GAP - 1:g}", shortcut=True, head=False)
    drawing.path(
        f"M{far:g} {end + GAP - 1:g}Q{far:g} {end + GAP + 9:g} {far - 10:g} {end + GAP + 9:g}H{middle + 11:g}",
        shortcut=True,
    )
