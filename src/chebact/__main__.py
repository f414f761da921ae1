"""`python -m chebact` and the command `chebact`."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]

NEEDED = ("cyclopts", "rich", "joblib")


def main() -> int:
    """Run the command line; without the packages of the laboratory, say how to get them."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        command = "pip install 'chebact[lab]'"
        print(f"chebact: the command line needs {', '.join(missing)}: {command}", file=sys.stderr)
        return 2
    from chebact.lab.cli import run_command

    return run_command()


if __name__ == "__main__":
    sys.exit(main())
