"""One look per model, the same in every figure of the page."""

from __future__ import annotations

from zlib import crc32

from chebact.lab.page.document import Key

__all__ = ["LOOKS", "look_of", "model_keys"]

LOOKS = {
    "relu": ("other", "-"),
    "relu-2x-depth": ("other", "--"),
    "relu-2x-layers": ("other", ":"),
    "tanh": ("fifth", "-"),
    "cubic": ("faint", "-"),
    "cl": ("faint", "--"),
    "wcp": ("faint", ":"),
    "pcs-cl": ("third", "-"),
    "tanh-cl": ("fourth", "-"),
    "cl-regression": ("second", "-"),
    "cl-extrapolate": ("learned", "-"),
}
SPARE = ("third", "fourth", "second", "fifth")


def look_of(model: str) -> tuple[str, str]:
    """A colour of the theme and a dash of matplotlib; a model without a row gets one by its name.

    >>> look_of("relu"), look_of("relu") == look_of("swish")
    (('other', '-'), False)
    """
    return LOOKS.get(model) or (SPARE[crc32(model.encode()) % len(SPARE)], "-.")


def model_keys(titles: dict[str, str]) -> tuple[Key, ...]:
    """The legend of models with these titles."""
    keys = []
    for model, title in titles.items():
        colour, dash = look_of(model)
        keys.append(Key("line" if dash == "-" else "dash", colour, title + (" (dotted)" if dash == ":" else "")))
    return tuple(keys)
