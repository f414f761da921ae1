"""The command line: the names of the commands, and where the function of each lives; it is imported when called."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from cyclopts import App, CycloptsError, UnusedCliTokensError

from chebact.lab import LabError
from chebact.lab.stopping import Stopped, stop_by_exception

__all__ = ["app", "run_command"]

INTERRUPTED = 130
LONGEST = 500  # characters of a word that is shown; paths may be long

app = App(
    name="chebact",
    help="Chebyshev-Lagrange activations: run the paper's experiments and show what came out.",
    suppress_keyboard_interrupt=False,  # run_command says what becomes of the work
)
run = App(name="run", help="Run an experiment; what its results folder already holds is not run again.")
report = App(name="report", help="Show what the records give: tables, and one page with everything.")
bench = App(name="bench", help="Measure what the activations cost, and show what was measured.")
app.command(run)
app.command(report)
app.command(bench)
data = App(name="data", help="Fetch the image sets, and show which of them are there.")
app.command(data)

TRAIN = "Train what is missing of the synthetic experiment. Stop it at any moment; the same command goes on from there."
run.command("chebact.lab.synthetic.commands:run", name="synthetic", help=TRAIN)
report.command(
    "chebact.lab.synthetic.commands:report",
    name="synthetic",
    help="The synthetic tables, each cell beside the published one, and the page with the figures.",
)
report.command("chebact.lab.commands.report:everything", name="all", help="The page of all experiments.")
report.command("chebact.lab.commands.report:pictures", name="pictures", help="The pictures of the README.")
run.command("chebact.lab.images.commands:run", name="images")
report.command("chebact.lab.images.commands:report", name="images")
data.command("chebact.lab.images.data_commands:fetch", name="fetch")
data.command("chebact.lab.images.data_commands:show", name="list")
run.command(
    "chebact.lab.clinical.commands:run",
    name="clinical",
    help="Train what is missing of the clinical experiment, on generated data or on your own table of recordings.",
)
report.command(
    "chebact.lab.clinical.commands:report",
    name="clinical",
    help="The clinical tables, with the tests between models, and the page.",
)
app.command(
    "chebact.lab.synthetic.commands:reproduce", name="reproduce", help="Train the synthetic tables anew and show them."
)
bench.command("chebact.lab.bench.commands:ops", name="ops")
bench.command("chebact.lab.bench.commands:page", name="page")
app.command(
    "chebact.lab.commands.kernels:show", name="kernels", help="Show every kernel: whether it runs here, and why not."
)
app.command(
    "chebact.lab.play.commands:play",
    name="play",
    help="Write and open the playground, where an activation is bent by hand.",
)


@report.default
def report_all(*, results: Path = Path("results"), output: Path = Path("report")) -> None:
    """What `chebact report` does without another word: the same as `chebact report all`.

    Parameters
    ----------
    results
        Folder of the records of all experiments.
    output
        Folder to write index.html into.
    """
    from chebact.lab.commands.report import everything

    everything(results=results, output=output)


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 when it went well, 2 after an error that is shown as one sentence, and 130 or 143 when it was
    stopped by Ctrl-C or a SIGTERM.
    """
    try:
        with stop_by_exception():
            return finished(arguments)
    except KeyboardInterrupt as stop:
        failed("stopped; what was done is saved, and the same command goes on from there")
        return stop.code if isinstance(stop, Stopped) else INTERRUPTED


def finished(arguments: Sequence[str] | None) -> int:
    """Run one command to its end; 0, or 2 after an error."""
    try:
        app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except UnusedCliTokensError as error:
        words, place = " ".join(error.unused_tokens or ()), " ".join(["chebact", *(error.command_chain or ())])
        return failed(f"{place} does not know what to do with {words!r}: `{place} --help` lists what it takes")
    except CycloptsError as error:
        return failed(str(error))
    except LabError as error:
        return failed(str(error))
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "not enough memory" not in str(error):  # torch's word for it
            raise
        return failed("this machine does not have the memory for that: ask for less (fewer seeds, a smaller width)")
    return 0


def failed(sentence: str) -> int:
    words = (word if len(word) <= LONGEST else f"{word[:60]}..." for word in sentence.split())
    print(f"chebact: {' '.join(words)}", file=sys.stderr)
    return 2
