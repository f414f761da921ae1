"""The figures of the examples: python benchmarks/examples.py runs what has no record in results/examples, draws the
pictures of those runs and writes the tables of the pages; with --tables it only writes the tables, with --again it runs
everything, or the examples named after it, anew and replaces the records.

A run is a row of `RUNS`: an example and the arguments that it is started with.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from chebact.files import write_atomic
from chebact.lab.engine import now
from chebact.lab.environment import environment, host
from chebact.lab.page.documents import update_document
from chebact.lab.store import Record, holds, read_record

ROOT = Path(__file__).parents[1]
RESULTS, EXAMPLES, DOCS = ROOT / "results" / "examples", ROOT / "examples", ROOT / "docs"


class Run(NamedTuple):
    """A run of an example; the first of each draws its picture."""

    name: str
    example: str
    arguments: tuple[str, ...] = ()

    @property
    def spec(self) -> dict[str, Any]:
        """What its record is of."""
        return {"example": self.example, "arguments": list(self.arguments)}

    @property
    def path(self) -> Path:
        """Where its record is."""
        return RESULTS / f"{self.name}.json"

    @property
    def results(self) -> Any:
        """What its record says."""
        return read_record(self.path).results


SEEDS = (0, 1, 2)
GPT = [Run(f"gpt-{seed}", "gpt", ("--seed", str(seed))) for seed in SEEDS]
WAYS = {
    "float32, eager": GPT[0],
    "float32, `--compile`": Run("gpt-compile", "gpt", ("--compile",)),
    "`--bf16`": Run("gpt-bf16", "gpt", ("--bf16",)),
    "`--bf16 --compile`": Run("gpt-bf16-compile", "gpt", ("--bf16", "--compile")),
}
PDE = [Run(f"pde-{seed}", "pde", ("--seed", str(seed))) for seed in SEEDS]
DIGITS = Run("residual_digits", "residual_digits")
DIGITS_WAYS = (
    "ReLU, 6 epochs",
    'right after the replacement (`interval="fit"`)',
    "then the heights alone, 6 epochs",
    "then everything, 6 epochs",
    "ReLU, twice as long: 6 and then 6 epochs",
    "learned curves from the start, initialised to ReLU: 12 epochs in one schedule",
)
RUNS = [*GPT, *list(WAYS.values())[1:], *PDE, DIGITS]


def load(name: str) -> Any:
    """An example as a module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PLAIN: dict[str, Callable[[Any], dict[str, Any]]] = {
    "gpt": lambda curves: {name: [list(row) for row in curve] for name, curve in curves.items()},
    "pde": lambda found: {
        problem: {name: {"error": row["error"], "seconds": row["seconds"]} for name, row in rows.items()}
        for problem, rows in found.items()
    },
    "residual_digits": lambda scores: scores,
}
"""What an example returns, as JSON keeps it."""


def run_missing(again: Collection[str] = ()) -> None:
    """Run and record what has no record; of the examples in `again` also what has one of the same spec, which is
    replaced at the end.
    """
    drawn = set[str]()
    for run in RUNS:
        picture = [] if run.example in drawn else ["--picture", str(EXAMPLES / f"{run.example}.png")]
        drawn.add(run.example)
        if holds(run.path, run.spec) and run.example not in again:
            continue
        created, start = now(), time.perf_counter()
        results = PLAIN[run.example](load(run.example).main([*run.arguments, *picture]))
        times = {"host": host(), "created": created, "seconds": round(time.perf_counter() - start, 1)}
        write_atomic(run.path, Record("example", run.spec, results, environment(), times).text().encode())
        print(f"{run.name}: {times['seconds']} s", file=sys.stderr, flush=True)


def seconds_of(*runs: Run) -> str:
    """How long runs took, as one number or from the shortest to the longest."""
    seconds = sorted(round(float(read_record(run.path).run["seconds"])) for run in runs)
    return f"{seconds[0]} s" if seconds[0] == seconds[-1] else f"{seconds[0]} to {seconds[-1]} s"


def gpt_seeds() -> str:
    """Loss of both models at equal steps and at equal time, for each seed."""
    lines = [
        "| seed | GELU | learned curves | GELU, equal time | learned curves, equal time | step, learned / GELU |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    at_equal_time = load("gpt").losses_at_equal_time
    for seed, run in zip(SEEDS, GPT, strict=True):
        gelu, learned = run.results.values()
        within = at_equal_time(run.results)[1].values()
        shown = " | ".join(f"{loss:.4f}" for loss in (gelu[-1][2], learned[-1][2], *within))
        lines.append(f"| {seed} | {shown} | {learned[-1][1] / gelu[-1][1]:.2f} |")
    return "\n".join([*lines, "", f"{GPT[0].results['GELU'][-1][0]} steps; a run of both took {seconds_of(*GPT)}."])


def gpt_ways() -> str:
    """Loss and time of both models as they are, compiled, and with products in bfloat16."""
    lines = [
        "| seed 0 | GELU | learned curves | ms per step, GELU | ms per step, learned curves |",
        "|---|--:|--:|--:|--:|",
    ]
    for words, run in WAYS.items():
        gelu, learned = (curve[-1] for curve in run.results.values())
        losses = " | ".join(f"{row[2]:.4f}" for row in (gelu, learned))
        times = " | ".join(f"{1000 * row[1] / row[0]:.1f}" for row in (gelu, learned))
        lines.append(f"| {words} | {losses} | {times} |")
    return "\n".join(lines)


def pde_table() -> str:
    """The error of every activation: the median of the seeds, from the smallest to the largest, and over tanh's."""
    found = [run.results for run in PDE]
    problems = list(found[0])
    lines = [
        "| | " + " | ".join(f"{problem} | / tanh | seconds" for problem in problems) + " |",
        "|---|" + "--:|--:|--:|" * len(problems),
    ]
    for name in found[0][problems[0]]:
        cells = [name.partition(", ")[2] or name]
        for problem in problems:
            errors, seconds = (sorted(each[problem][name][key] for each in found) for key in ("error", "seconds"))
            ratio = median(errors) / median(each[problem]["tanh"]["error"] for each in found)
            cells += [f"{median(errors):.1e} ({errors[0]:.1e} to {errors[-1]:.1e})", f"{ratio:.2g}"]
            cells.append(f"{median(seconds):.1f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"A run of all ten trainings took {seconds_of(*PDE)}."])


def digits_table() -> str:
    """The accuracy of each way: mean, smallest and largest of the seeds."""
    lines = ["| | test accuracy, %, mean of three seeds | lowest to highest |", "|---|--:|--:|"]
    for words, scores in zip(DIGITS_WAYS, DIGITS.results.values(), strict=True):
        lines.append(f"| {words} | {mean(scores):.2f} | {min(scores):.2f} to {max(scores):.2f} |")
    return "\n".join([*lines, "", f"All of it took {seconds_of(DIGITS)}."])


def write_tables(docs: Path = DOCS) -> None:
    """Fill the marked blocks of the pages."""
    update_document(docs / "my-transformer.md", {"gpt-seeds": gpt_seeds(), "gpt-ways": gpt_ways()})
    update_document(docs / "my-pde.md", {"pde": pde_table()})
    update_document(docs / "my-resnet.md", {"digits": digits_table()})


if __name__ == "__main__":
    if "--tables" not in sys.argv:
        run_missing(again=(sys.argv[2:] or tuple(PLAIN)) if "--again" in sys.argv[1:2] else ())
    write_tables()
