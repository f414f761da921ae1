"""The commands that measure time, and those that show what was measured."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from chebact.lab import LabError
from chebact.lab.bench.contract import run_contract_tests, why_not_tested
from chebact.lab.bench.figures import draw_costs
from chebact.lab.bench.files import machine_path, read_rows, write_rows
from chebact.lab.bench.machine import busy, machine_record, told
from chebact.lab.bench.ops import CASES, Contender, Row, contenders, measure
from chebact.lab.bench.page import as_table, markdown, short_markdown, sizes
from chebact.lab.bench.peers import PEERS, found_peers, peer_versions
from chebact.lab.commands.report import NO_FILES, FileOptions, View, write_files
from chebact.lab.options import Several
from chebact.lab.output import check_outputs, wide_console
from chebact.lab.page.theme import image_kind
from chebact.lab.stopping import Stopped

__all__ = ["ops", "page"]

SECTION, SHORT = "bench-ops", "bench-short"
WIDTH = 100  # of the tables where no terminal says otherwise
WARNING = 300  # characters of one that are shown
STOPPED = 130
MOST_ELEMENTS = 2**31  # 8 GB of float32


def ops(
    *,
    json: Path | None = None,
    peers: Annotated[bool, Parameter(negative=())] = False,
    cases: Annotated[tuple[str, ...], Several] = CASES,
    budget: float = 4.0,
    tests: bool = True,
) -> None:
    """Time the activations against torch.relu: forward, forward and backward, and the bytes kept between the two.

    Parameters
    ----------
    json
        Write the rows to this file as a JSON list, and the machine beside it: FILE.machine.json.
    peers
        Also time other libraries of learned activations; `python3 dev.py bench --peers` installs them first.
    cases
        Sizes of x, channels second: rows and channels, or those of an image batch.
    budget
        Seconds to spend on the forward passes of a case and layout; training gets twice that.
    tests
        Run the contract tests of the kernels first, where they are at hand; nothing is timed when they fail.
    """
    for case in cases or ("",):
        check_case(case)
    if not 0 < budget < math.inf:
        raise LabError(f"a budget of {budget:g} came: more than 0 seconds are wanted, and a finite number")
    check_outputs(files=(json,))
    console, notes = wide_console(WIDTH), Console(stderr=True)
    extra = peers_asked_for(notes) if peers else []
    machine = machine_record({row.name: peer_versions()[row.name] for row in extra})  # before the tests load it
    try:
        if tests:
            run_tests(notes)
        heading(machine, console)
        if busy(machine):
            notes.print(busy(machine), highlight=False)
        rows = timed(cases, contenders(extra), budget, console, notes)
    except KeyboardInterrupt as stop:
        print("chebact: stopped; nothing was written, a measurement is made in one go", file=sys.stderr)
        raise SystemExit(stop.code if isinstance(stop, Stopped) else STOPPED) from None
    if json is not None:
        write_rows(json, rows, machine)
        notes.print(f"rows in {json}, machine in {machine_path(json)}", highlight=False, soft_wrap=True)


def page(rows: Path, /, *, files: FileOptions = NO_FILES, plot: Path | None = None) -> None:
    """Show what `chebact bench ops --json` wrote, in the terminal, as files, as blocks of documents and as a plot.

    The blocks are bench-ops (all tables) and bench-short (one).

    Parameters
    ----------
    rows
        The file with the rows; that of the machine lies beside it.
    plot
        Draw the cost of training, by activation and by degree, into this PNG or SVG file.
    """
    kind = None if plot is None else image_kind(plot)
    check_outputs(files=(*files.paths, plot), documents=files.update)
    found, machine = read_rows(rows)
    drawings = {} if plot is None or kind is None else {plot: partial(draw_costs, found, kind)}
    plain = [row.as_json() for row in found]
    blocks = {SECTION: markdown(found, machine)}
    also = {SHORT: short_markdown(found, machine)}
    write_files(View(plain, partial(show, found, machine), blocks, also, drawings, WIDTH), files)


def check_case(case: str) -> None:
    """Raise a LabError where a word is not a size."""
    try:
        axes = sizes(case)
    except ValueError:
        axes = ()
    if len(axes) not in (2, 4) or min(axes) < 1:
        raise LabError(f"the case {case!r} came: sizes such as 256x256 or 128x64x16x16 are wanted, with 2 or 4 axes")
    if math.prod(axes) > MOST_ELEMENTS:
        raise LabError(f"a case must have at most {MOST_ELEMENTS} elements, got {case}; choose smaller sizes")


def peers_asked_for(notes: Console) -> list[Contender]:
    """The other libraries that work here; what is left out is said, and having none of them is an error."""
    found, sentences = found_peers()
    if not found:
        names = ", ".join(peer.name for peer in PEERS)
        raise LabError(
            f"--peers needs one of {names}, and none can be used here: run `python3 dev.py bench --peers`, which "
            f"installs them ({sentences[0]})"
        )
    for sentence in sentences:
        notes.print(sentence, highlight=False, markup=False)
    return found


def run_tests(notes: Console) -> None:
    """Run the contract tests, or say why they are not run; each case is compared with the reference in any event."""
    reason = why_not_tested()
    if reason is not None:
        notes.print(f"the contract tests of the kernels are left out: {reason}", highlight=False)
        return
    with notes.status("the contract tests of the kernels"):
        run_contract_tests()
    notes.print("the contract tests of the kernels are green", highlight=False)


def timed(
    cases: Sequence[str], activations: list[Contender], budget: float, console: Console, notes: Console
) -> list[Row]:
    """Measure, and show each case when it is done."""
    rows: list[Row] = []
    with fallen_back() as warnings:

        def show_last() -> None:
            if warnings:
                raise LabError(f"nothing was written, since a kernel failed: {shorten(warnings[0], WARNING)}")
            if rows:
                last = (rows[-1].case, rows[-1].layout)
                console.print(as_table([row for row in rows if (row.case, row.layout) == last]))

        def tell(place: str) -> None:  # in plain lines: a bar that moves would take its time from what is timed
            show_last()
            notes.print(f"timing {place}", highlight=False)

        try:
            for row in measure(tuple(cases), activations, budget=budget, tell=tell):
                rows.append(row)  # noqa: PERF402 - tell looks at them meanwhile
        except RuntimeError as error:  # a kernel that is wrong or cannot run, or torch out of memory
            raise LabError(str(error).partition("\n")[0]) from error  # torch adds where in its own code it was
        show_last()
    return rows


@contextmanager
def fallen_back() -> Iterator[list[str]]:
    """The warnings of the kernels from here on: one that fails gives way to the reference, whose times are not its."""
    warnings: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("chebact")
    logger.addHandler(handler)
    try:
        yield warnings
    finally:
        logger.removeHandler(handler)


def show(rows: Sequence[Row], machine: dict[str, Any], console: Console) -> None:
    """Print what was measured before."""
    heading(machine, console)
    for _, group in groupby(rows, key=lambda row: (row.case, row.layout)):
        console.print(as_table(list(group)))


def heading(machine: dict[str, Any], console: Console) -> None:
    console.print(told(machine), highlight=False, markup=False, soft_wrap=True)
