"""Write docs/api.md from the docstrings: python docs/make_api.py. A test holds the page to them."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).with_name("api.md")
MODULES = (
    "chebact",
    "chebact.functional",
    "chebact.kernels",
    "chebact.networks",
    "chebact.private",
    "chebact.training",
    "chebact.estimators",
)
HEAD = "# API\n\nMade from the docstrings by `python docs/make_api.py`. (N, C, *) is batch, channel, anything.\n"
FIELD = re.compile(r"^    (\w+): ", re.MULTILINE)


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for name in MODULES:
        module = importlib.import_module(name)
        parts.append(f"\n## {name}\n\n{first_paragraph(module)}\n")
        parts += [entry(public, getattr(module, public)) for public in sorted(module.__all__, key=str.lower)]
    return "\n".join(parts)


def entry(name: str, thing: Any) -> str:
    """One public name."""
    if inspect.ismodule(thing):
        text = first_paragraph(thing)
    elif callable(thing):
        text = f"```\n{signature(name, thing)}\n```\n\n{prose(inspect.getdoc(thing) or '')}{methods(thing)}"
    else:
        text = "A table or constant: " + (
            f"{', '.join(map(str, thing))}." if hasattr(thing, "keys") else f"{without_addresses(repr(thing))}."
        )
    return f"### {name}\n\n{text.strip()}\n"


def without_addresses(text: str) -> str:
    """A function in a repr by its name alone: its address differs from run to run."""
    return re.sub(r"<function (\w+) at 0x[0-9a-f]+>", r"\1", text)


def first_paragraph(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").partition("\n\n")[0]


def signature(name: str, thing: Any) -> str:
    """The call, one argument per line where it is long; defaults that are functions by their names."""
    try:
        found = str(inspect.signature(thing))
    except (TypeError, ValueError):
        found = "(...)"
    found = re.sub(r"<function (\S+) at 0x\w+>", r"\1", found)
    found = re.sub(r"(: |-> )'([^']*)'", r"\1\2", found).replace(" -> None", "")
    found = f"{name}{found}"
    return found if len(found) <= 110 else re.sub(r", (?=\*?\w+[:=,])", ",\n    ", found.replace("(", "(\n    ", 1))


def prose(text: str) -> str:
    """A docstring as Markdown: the arguments as a list, the examples in fences."""
    before, _, arguments = text.partition("\nArgs:\n")
    if arguments:
        arguments, _, after = arguments.partition("\n\n")
        rows = FIELD.sub(r"\n- `\1`: ", "\n" + arguments).split("\n- ")[1:]
        text = (
            before.strip()
            + "\n\n"
            + "\n".join("- " + re.sub(r"\s+", " ", row).strip() for row in rows)
            + "\n\n"
            + after
        )
    lines = re.sub(r"(?ms)^(>>> .*?)(?=\n\n|\Z)", r"```pycon\n\1\n```", text)
    return lines.strip() + "\n"


def methods(thing: Any) -> str:
    """The public methods and properties that a class defines itself."""
    if not inspect.isclass(thing):
        return ""
    rows = []
    for name, member in vars(thing).items():
        function = member.fget if isinstance(member, property) else getattr(thing, name)
        hidden = name.startswith("_") or name in ("forward", "extra_repr") or not inspect.getdoc(function)
        if not hidden and (isinstance(member, property) or inspect.isroutine(function)):
            call = f".{name}" if isinstance(member, property) else f".{name}()"
            rows.append(f"- `{call}`: " + first_paragraph(function).replace("\n", " "))
    return "\n" + "\n".join(rows) + "\n" if rows else ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
