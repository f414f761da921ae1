"""The command line: names of commands and, for each, where its function lives. Functions are imported when they are
called.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError

from chebact.lab import LabError

__all__ = ["app", "run_command"]

app = App(
    name="chebact",
    help="Chebyshev-Lagrange activations: run the paper's experiments and show what came out.",
    suppress_keyboard_interrupt=False,  # run_command says what becomes of the work
)
run = App(name="run", help="Run an experiment; what its results folder already holds is not run again.")
report = App(name="report", help="Show what the records of an experiment give.")
app.command(run)
app.command(report)

run.command("chebact.lab.commands.synthetic:run", name="synthetic")
report.command("chebact.lab.commands.synthetic:report", name="synthetic")
app.command("chebact.lab.commands.synthetic:reproduce", name="reproduce")


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 when it went well, 2 after an error that is shown as one sentence, 130 when it was stopped."""
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        return failed(str(error))
    except LabError as error:
        return failed(str(error))
    except KeyboardInterrupt:
        failed("stopped; what was done is saved, and the same command goes on from there")
        return 130
    return 0


def failed(sentence: str) -> int:
    print(f"chebact: {' '.join(sentence.split())}", file=sys.stderr)
    return 2
