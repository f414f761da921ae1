"""The commands that measure time, and those that show what was measured."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from textwrap import shorten
from typing import Annotated

import torch
from cyclopts import Parameter
from rich.console import Console

from chebact.lab import LabError
from chebact.lab.bench.contract import run_contract_tests, why_not_tested
from chebact.lab.bench.degrees import measure_degrees
from chebact.lab.bench.figures import draw_costs
from chebact.lab.bench.files import machine_path, read_rows, write_rows
from chebact.lab.bench.growth import growth_markdown, growth_sheets, has_growth
from chebact.lab.bench.machine import Machine, describe_this_machine
from chebact.lab.bench.ops import CASES, Contender, contenders, measure
from chebact.lab.bench.page import as_table, markdown, short_markdown
from chebact.lab.bench.peers import find_peers, peer_versions
from chebact.lab.bench.rows import Row, parse_sizes
from chebact.lab.commands.report import NO_FILES, FileOptions, View, write_files
from chebact.lab.options import Several, about
from chebact.lab.output import check_outputs, wide_console
from chebact.lab.page.sheet import as_rich
from chebact.lab.page.theme import image_kind
from chebact.lab.peers import PEERS
from chebact.lab.stopping import Stopped

__all__ = ["degrees", "ops", "page"]

SECTION, SHORT, BY_DEGREE = "bench-ops", "bench-short", "bench-degrees"
WIDTH = 100  # of the tables where no terminal says otherwise
WARNING = 300  # characters of one that are shown
STOPPED = 130
MAX_ELEMENTS = 2**31  # 8 GB of float32
JSON = "Write the rows to this file as a JSON list, and the machine beside it: FILE.machine.json."
OTHERS = "Also time other libraries of learned activations; `python3 dev.py bench --peers` installs them first."
BUDGET = "Seconds to spend on the forward passes of a case and layout; training gets twice that."
DEGREES_BUDGET = "Seconds to spend on the forward passes of values and of slopes each; training gets twice that."
TESTS = "Run the contract tests of the kernels first, where they are at hand; nothing is timed when they fail."
PLOT = "Draw the cost of training, by activation and by degree, into this PNG or SVG file."


def ops(
    *,
    json: Annotated[Path | None, about(JSON)] = None,
    peers: Annotated[bool, Parameter(negative=()), about(OTHERS)] = False,
    cases: Annotated[
        tuple[str, ...], Several, about("Sizes of x, channels second: rows and channels, or those of an image batch.")
    ] = CASES,
    budget: Annotated[float, about(BUDGET)] = 4.0,
    tests: Annotated[bool, about(TESTS)] = True,
) -> None:
    """Time the activations against torch.relu: forward, forward and backward, and the bytes kept between the two."""
    for case in cases or ("",):
        check_case(case)
    extra = require_peers(Console(stderr=True)) if peers else []
    versions = {row.name: peer_versions()[row.name] for row in extra}
    measure_all(partial(time_cases, cases, contenders(extra), budget), json, budget, tests=tests, versions=versions)


def degrees(
    *,
    json: Annotated[Path | None, about(JSON)] = None,
    budget: Annotated[float, about(DEGREES_BUDGET)] = 20.0,
    tests: Annotated[bool, about(TESTS)] = True,
) -> None:
    """Time the paper's two algorithms and ours at the degrees 1 to 30 on one thread, and fit how the times grow."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a second thread helps from some size on, which would bend the curve
    try:
        measure_all(partial(time_degrees, budget), json, budget, tests=tests)
    finally:
        torch.set_num_threads(threads)


def measure_all(
    take: Callable[[Console, Console], list[Row]],
    json: Path | None,
    budget: float,
    *,
    tests: bool,
    versions: Mapping[str, str | None] | None = None,
) -> None:
    """Test the kernels, describe the machine, measure by `take`, which gets the consoles, and write the rows."""
    if not 0 < budget < math.inf:
        raise LabError(f"budget must be a finite number of seconds above 0, got {budget:g}")
    check_outputs(files=(json,))
    console, notes = wide_console(WIDTH), Console(stderr=True)
    machine = describe_this_machine(versions)  # before the tests load it
    try:
        if tests:
            run_tests(notes)
        print_machine(machine, console)
        if warning := machine.load_warning():
            notes.print(warning, highlight=False)
        rows = take(console, notes)
    except KeyboardInterrupt as stop:
        print("chebact: stopped; nothing was written, a measurement is made in one go", file=sys.stderr)
        raise SystemExit(stop.code if isinstance(stop, Stopped) else STOPPED) from None
    if json is not None:
        write_rows(json, rows, machine)
        notes.print(f"rows in {json}, machine in {machine_path(json)}", highlight=False, soft_wrap=True)


def page(
    rows: Annotated[Path, about("The file with the rows; that of the machine lies beside it.")],
    /,
    *,
    files: FileOptions = NO_FILES,
    plot: Annotated[Path | None, about(PLOT)] = None,
) -> None:
    """Show what `chebact bench ops --json` wrote, in the terminal, as files, as blocks of documents and as a plot.

    The blocks are bench-ops (all tables) and bench-short (one); of what `chebact bench degrees --json` wrote,
    bench-degrees.
    """
    kind = None if plot is None else image_kind(plot)
    check_outputs(files=(*files.paths, plot), documents=files.update)
    found, machine = read_rows(rows)
    if has_growth(found):
        if plot is not None:
            raise LabError(f"--plot must be left out for rows by degree, which have tables only, got {plot}")
        growth = {BY_DEGREE: growth_markdown(found, machine)}
        plain = [row.as_json() for row in found]
        write_files(View(plain, partial(show_growth, found, machine), growth, width=WIDTH), files)
        return
    drawings = {} if plot is None or kind is None else {plot: partial(draw_costs, found, kind)}
    plain = [row.as_json() for row in found]
    blocks = {SECTION: markdown(found, machine)}
    also = {SHORT: short_markdown(found, machine)}
    write_files(View(plain, partial(show, found, machine), blocks, also, drawings, WIDTH), files)


def check_case(case: str) -> None:
    """A LabError unless a word is a size."""
    try:
        axes = parse_sizes(case)
    except ValueError:
        axes = ()
    if len(axes) not in (2, 4) or min(axes) < 1:
        raise LabError(f"a case must be sizes such as 256x256 or 128x64x16x16, of 2 or 4 axes, got {case!r}")
    if math.prod(axes) > MAX_ELEMENTS:
        raise LabError(f"a case must have at most {MAX_ELEMENTS} elements, got {case}; choose smaller sizes")


def require_peers(notes: Console) -> list[Contender]:
    """The other libraries that work here; those that do not are named, and a LabError if there are none."""
    found, sentences = find_peers()
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
    """Run the contract tests, or say why they are not run; each case is compared with the reference anyway."""
    reason = why_not_tested()
    if reason is not None:
        notes.print(f"the contract tests of the kernels are left out: {reason}", highlight=False)
        return
    with notes.status("the contract tests of the kernels"):
        run_contract_tests()
    notes.print("the contract tests of the kernels are green", highlight=False)


def time_cases(
    cases: Sequence[str], activations: list[Contender], budget: float, console: Console, notes: Console
) -> list[Row]:
    """Measure the cases, and show each when it is done."""
    rows: list[Row] = []
    with collect_warnings() as warnings:

        def show_last() -> None:
            if warnings:
                raise LabError(f"nothing was written, since a kernel failed: {shorten(warnings[0], WARNING)}")
            if rows:
                last = (rows[-1].case, rows[-1].layout)
                console.print(as_table([row for row in rows if (row.case, row.layout) == last]))

        def tell(case: str) -> None:  # in plain lines: a progress bar would take time from what is timed
            show_last()
            notes.print(f"timing {case}", highlight=False)

        try:
            for row in measure(tuple(cases), activations, budget=budget, tell=tell):
                rows.append(row)  # noqa: PERF402 - tell looks at them meanwhile
        except RuntimeError as error:  # a kernel that is wrong or cannot run, or torch out of memory
            raise LabError(str(error).partition("\n")[0]) from error  # torch adds where in its own code it was
        show_last()
    return rows


def time_degrees(budget: float, console: Console, notes: Console) -> list[Row]:
    """Measure all degrees, and show the exponents."""
    with collect_warnings() as warnings:
        try:
            rows = list(
                measure_degrees(budget=budget, tell=lambda case: notes.print(f"timing {case}", highlight=False))
            )
        except RuntimeError as error:
            raise LabError(str(error).partition("\n")[0]) from error
    if warnings:
        raise LabError(f"nothing was written, since a kernel failed: {shorten(warnings[0], WARNING)}")
    print_growth(rows, console)
    return rows


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """The warnings of the kernels meanwhile: after a failure the reference runs, and its times are no result."""
    warnings: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("chebact")
    logger.addHandler(handler)
    try:
        yield warnings
    finally:
        logger.removeHandler(handler)


def show(rows: Sequence[Row], machine: Machine, console: Console) -> None:
    """Print what was measured."""
    print_machine(machine, console)
    for _, group in groupby(rows, key=lambda row: (row.case, row.layout)):
        console.print(as_table(list(group)))


def show_growth(rows: Sequence[Row], machine: Machine, console: Console) -> None:
    """Print the exponents and the times of some degrees."""
    print_machine(machine, console)
    print_growth(rows, console)


def print_growth(rows: Sequence[Row], console: Console) -> None:
    for sheet in growth_sheets(rows):
        console.print(as_rich(sheet, sheet.caption))


def print_machine(machine: Machine, console: Console) -> None:
    console.print(str(machine), highlight=False, markup=False, soft_wrap=True)
