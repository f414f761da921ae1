"""Messages have one form: "NAME must be WHAT, got VALUE (TYPE); do THIS"."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "chebact"
EXEMPT = ("CLClassifier needs samples",)  # a wording that scikit-learn's own checks look for
FILES = sorted(path for path in SOURCE.rglob("*.py") if "lab" not in path.relative_to(SOURCE).parts)


def literal_text(node):
    """The literal parts of a string expression, joined."""
    return "".join(
        part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def raised_messages(tree):
    """The messages of every TypeError and ValueError that are written out; `must_be` makes the others."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            name, message = getattr(node.exc.func, "id", ""), node.exc.args[0]
            if name in ("TypeError", "ValueError") and isinstance(message, ast.Constant | ast.JoinedStr):
                yield node.lineno, literal_text(message)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_messages_name_the_argument_and_what_it_got(path):
    found = raised_messages(ast.parse(path.read_text(encoding="utf-8")))
    messages = [(line, text) for line, text in found if not text.startswith(EXEMPT)]
    assert not [each for each in messages if " must " not in each[1] or ", got " not in each[1]]
