"""Put generated text between markers in a document, so that its tables always come from the records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from chebact.files import write_atomic
from chebact.lab import LabError

__all__ = ["fill_blocks", "update_document"]

BLOCK = re.compile(r"(<!-- begin: (?P<name>\S+) -->\n).*?(<!-- end: (?P=name) -->)", re.DOTALL)


def fill_blocks(text: str, sections: Mapping[str, str]) -> str:
    r"""The text with every marked block whose name is a section replaced by that section.

    >>> fill_blocks("<!-- begin: a -->\nold\n<!-- end: a -->", {"a": "new"})
    '<!-- begin: a -->\nnew\n<!-- end: a -->'
    """

    def block(found: re.Match[str]) -> str:
        name = found["name"]
        return found[1] + sections[name].rstrip("\n") + "\n" + found[3] if name in sections else found[0]

    return BLOCK.sub(block, text)


def update_document(path: Path, sections: Mapping[str, str]) -> None:
    """Fill the marked blocks of a file; a file without any of these blocks is an error."""
    try:
        text = path.read_text(encoding="utf-8")
        names = {found["name"] for found in BLOCK.finditer(text)}
        if not names & set(sections):
            wanted = " or ".join(f"<!-- begin: {name} -->" for name in sections) or "any block of these records"
            raise LabError(f"{path} has no block {wanted}")
        write_atomic(path.resolve(), fill_blocks(text, sections).encode())
    except UnicodeDecodeError as error:
        raise LabError(f"cannot update {path}: it is not text in UTF-8") from error
    except OSError as error:
        raise LabError(f"cannot update {path}: {error.strerror}") from error
