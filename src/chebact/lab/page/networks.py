"""The networks as drawings: each subject has one, `network.svg`, in the colours of the page."""

from __future__ import annotations

from importlib.resources import files

from chebact.lab.page.document import Key, Panel, Picture

__all__ = ["network_picture"]

KEYS = (
    Key("area", "tint-learned", "activation σ"),
    Key("area", "tint-plain", "weights: linear map or convolution"),
    Key("line", "second", "shortcut"),
)


def network_picture(experiment: str, caption: str, drawing: str | None = None) -> Picture:
    """The drawing of a subject's network, or of another's that is the same, as large as it was drawn."""
    drawn = drawing or experiment
    text = (files(f"chebact.lab.{drawn}") / "network.svg").read_text(encoding="utf-8")
    text = text.replace(f"net-{drawn}-", f"net-{experiment}-")  # an id may stand once on a page
    return Picture(f"{experiment}-network", caption, (Panel(text, caption, 0),), KEYS)
