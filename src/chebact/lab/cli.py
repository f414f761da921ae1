"""The command line: the names of the commands, and where the function of each lives; it is imported when called."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter, UnusedCliTokensError

from chebact.lab import LabError
from chebact.lab.experiments import EXPERIMENTS
from chebact.lab.options import AllRecords, about, as_default, in_options
from chebact.lab.stopping import Stopped, stop_by_exception

__all__ = ["app", "run_command"]

INTERRUPTED = 130
LONGEST = 500  # characters of a word that is shown; paths may be long

app = App(
    name="chebact",
    help="Chebyshev-Lagrange activations: run the paper's experiments and show the results.",
    suppress_keyboard_interrupt=False,  # run_command says what becomes of the work
    default_parameter=Parameter(show_default=as_default),
)
run = App(name="run", help="Run an experiment; what its results folder already holds is not run again.")
report = App(name="report", help="Show what the records give: tables, and one page with everything.")
bench = App(name="bench", help="Measure what the activations cost, and show what was measured.")
app.command(run)
app.command(report)
app.command(bench)
data = App(name="data", help="Fetch the image sets, and show which of them are there.")
app.command(data)

RESUME = "Stop it at any moment; the same command continues from there."
for row in EXPERIMENTS.values():
    run.command(row.run, name=(row.name, *row.also), help=f"{row.trains}\n\n{RESUME}")
    report.command(row.report, name=(row.name, *row.also), help=row.shows)
report.command("chebact.lab.commands.report:report_everything", name="all", help="The page of all experiments.")
data.command("chebact.lab.images.data_commands:fetch", name="fetch", help="Bring an image set into the data folder.")
data.command("chebact.lab.images.data_commands:show", name="list", help="The image sets, and which of them are there.")
bench.command("chebact.lab.bench.commands:ops", name="ops", help="Time single activations against ReLU.")
bench.command(
    "chebact.lab.bench.commands:degrees",
    name="degrees",
    help="Time the paper's two algorithms and ours over the degrees, with the exponents of their growth.",
)
bench.command("chebact.lab.bench.commands:page", name="page", help="Show what was measured, as tables and pictures.")
app.command(
    "chebact.lab.synthetic.commands:reproduce",
    name="reproduce",
    help="Train the synthetic tables again and show them beside the paper's.",
)
app.command("chebact.lab.fit.commands:fit", name="fit", help="Learn a column of your own table from the others.")
app.command("chebact.lab.fit.commands:predict", name="predict", help="Predict rows with a model of `chebact fit`.")
app.command(
    "chebact.lab.commands.kernels:show", name="kernels", help="Show every kernel: whether it runs here, and why not."
)
app.command(
    "chebact.lab.play.commands:play",
    name="play",
    help="Write and open the playground, where an activation is bent by hand.",
)


@report.default
def report_all(
    *,
    results: AllRecords = Path("results"),
    output: Annotated[Path, about("Folder to write index.html into.")] = Path("report"),
    open: Annotated[bool, Parameter(negative=()), about("Open the page in the browser once it is written.")] = False,
) -> None:
    """What `chebact report` does without another word: the same as `chebact report all`."""
    from chebact.lab.commands.report import Page, report_everything

    report_everything(results=results, page=Page(output, open))


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 when it went well, 2 after an error that is shown as one sentence, and 130 or 143 when it was
    stopped by Ctrl-C or a SIGTERM.
    """
    try:
        with stop_by_exception():
            return run_to_end(arguments)
    except KeyboardInterrupt as stop:
        print_error("stopped; what was done is saved, and the same command continues from there")
        return stop.code if isinstance(stop, Stopped) else INTERRUPTED


def run_to_end(arguments: Sequence[str] | None) -> int:
    """Run one command to its end; 0, or 2 after an error."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        app(words, exit_on_error=False, print_error=False, result_action="return_value")
    except UnusedCliTokensError as error:
        unused, name = " ".join(error.unused_tokens or ()), " ".join(["chebact", *(error.command_chain or ())])
        return print_error(f"{name} does not know what to do with {unused!r}: `{name} --help` lists what it takes")
    except CycloptsError as error:
        return print_error(str(error))
    except LabError as error:
        return print_error(in_options(str(error)))
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and "not enough memory" not in str(error):  # torch's word for it
            raise
        return print_error(
            "this machine does not have the memory for that: ask for less (fewer seeds, a smaller width)"
        )
    return 0


def print_error(sentence: str) -> int:
    words = (word if len(word) <= LONGEST else f"{word[:60]}..." for word in sentence.split())
    print(f"chebact: {' '.join(words)}", file=sys.stderr)
    return 2
