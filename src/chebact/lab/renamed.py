"""Options that had another name in the version before: they work for one more, and a note says what to type."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["RENAMED", "current_names"]

RENAMED: dict[tuple[str, ...], dict[str, str]] = {
    ("run", "synthetic"): {"--recipes": "--recipe"},
    ("run", "images"): {
        "--activation": "--models",
        "--dataset": "--datasets",
        "--output": "--results",
        "--form": "--recipe",
    },
    ("report", "synthetic"): {"--recipes": "--recipe"},
    ("report", "clinical"): {"--data": "--datasets"},
    ("report", "images"): {"--dataset": "--datasets"},
    ("reproduce",): {"--recipes": "--recipe"},
}
"""The old names by command."""


def current_names(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words of a command line with today's names of options, and a note for each that was an old one.

    >>> current_names(["run", "synthetic", "--recipes=paper"])
    (['run', 'synthetic', '--recipe=paper'], ['--recipes is called --recipe now; the next version has only that'])
    """
    names = next((new for command, new in RENAMED.items() if tuple(words[: len(command)]) == command), {})
    current, notes = [], []
    for word in words:
        option, equals, value = word.partition("=")
        current.append(f"{names.get(option, option)}{equals}{value}")
        if option in names:
            notes.append(f"{option} is called {names[option]} now; the next version has only that")
    return current, list(dict.fromkeys(notes))
