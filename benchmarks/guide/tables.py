"""The tables of docs/guide.md, made from the records."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from outcomes import (
    Cell,
    Outcome,
    Outcomes,
    at_step,
    cells_of,
    choose_default,
    chosen,
    geometric,
    kind_of,
    standings,
)
from settings import DEFAULT, Model, chebact

NAMES = {"relu": "ReLU", "gelu": "GELU", "silu": "SiLU", "tanh": "tanh"}
ONE_STEP = 0.01
COLUMNS = {
    "plain, Adam": [("plain", "adam")],
    "plain, SGD": [("plain", "sgd")],
    "residual, Adam": [("residual", "adam")],
    "residual, SGD": [("residual", "sgd")],
    "CNN": [("cnn", "adam"), ("cnn", "sgd")],
    "transformer": [("transformer", "adam")],
    "paper's": [("paper", "paper")],
}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown, the first column text and the others numbers."""
    head = list(head)
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def start(model: Model) -> str:
    return f'`init="{model.init}"`' if model.learned else f"{NAMES[model.activation]} itself"


def percent(value: float) -> str:
    """A share of the best constant's error, in per cent."""
    return "100" if value > 0.995 else f"{100 * value:#.2g}".rstrip(".")


def marked(outcome: Outcome) -> str:
    """The error in per cent, with the number of stalled trainings where there are any."""
    stalled = f" ({outcome.stalled} of {len(outcome.test)} stalled)" if outcome.stalled else ""
    return percent(outcome.error) + stalled


def init_table(outcomes: Outcomes) -> str:
    """All starts in all kinds of networks."""
    cells = cells_of(outcomes, "init")
    columns = {
        name: [cell for cell in cells if (kind_of(cell), cell.optimizer) in wanted] for name, wanted in COLUMNS.items()
    }
    rows = standings(outcomes)
    taken = choose_default(rows)
    lines = []
    for row in rows:
        groups = [geometric(chosen(outcomes[cell][row.model]).error for cell in of) for of in columns.values()]
        name = f"**{start(row.model)}**" if row == taken else start(row.model)
        worst = f"{row.worst:.1f}" if row.model.learned else ""
        lines.append(
            [
                name,
                f"{row.stalled} of {row.trainings}",
                *map(percent, groups),
                percent(row.error),
                percent(row.adam),
                worst,
            ]
        )
    return table(["start", "stalled", *columns, "all", "Adam alone", "worst"], lines)


def depth_table(outcomes: Outcomes) -> str:
    """Plain stacks with Adam at torch's own step size, by depth."""
    cells = cells_of(outcomes, "init", network="plain", optimizer="adam")
    models = list(outcomes[cells[0]])
    lines = [[start(model), *(marked(at_step(outcomes[cell][model], 0.001)) for cell in cells)] for model in models]
    return table(["start", *(f"{cell.depth} layers" for cell in cells)], lines)


def norm_table(outcomes: Outcomes) -> str:
    """Without a norm, with layer norm and with batch norm before each activation."""
    columns = [("plain", "none"), ("plain", "layer"), ("plain", "batch"), ("residual", "none"), ("residual", "layer")]
    columns += [("residual", "batch"), ("cnn", "none"), ("cnn", "batch")]
    cells = [norm_cell(outcomes, *column) for column in columns]
    models = list(outcomes[norm_cell(outcomes, "plain", "layer")])
    lines = [[start(model), *(marked(chosen(outcomes[cell][model])) for cell in cells)] for model in models]
    titles = {"none": "no norm", "layer": "layer norm", "batch": "batch norm"}
    return table(["start", *(f"{'CNN' if kind == 'cnn' else kind}, {titles[norm]}" for kind, norm in columns)], lines)


def norm_cell(outcomes: Outcomes, network: str, norm: str) -> Cell:
    study = "init" if norm == "none" else "norm"
    depth = {} if network == "cnn" else {"depth": 6}
    (cell,) = cells_of(outcomes, study, network=network, norm=norm, optimizer="adam", **depth)
    return cell


def toy_table(outcomes: Outcomes) -> str:
    """The README's toy: step size chosen for each model, and one for all."""
    clean, noisy = cells_of(outcomes, "toy")
    lines = []
    for model in outcomes[clean]:
        line = [toy_name(model)]
        for cell in (clean, noisy):
            tuned, same = chosen(outcomes[cell][model]), at_step(outcomes[cell][model], ONE_STEP)
            line += [spread(tuned), f"{tuned.step:g}", spread(same)]
        lines.append(line)
    head = [
        f"{data}, {what}" for data in ("clean", "noise 0.1") for what in ("step chosen", "step", f"step {ONE_STEP:g}")
    ]
    return table(["activation", *head], lines)


def toy_steps_table(outcomes: Outcomes) -> str:
    """The toy without noise at every step size."""
    clean, _ = cells_of(outcomes, "toy")
    steps = [one.step for one in next(iter(outcomes[clean].values()))]
    lines = [[toy_name(model), *(spread(at_step(of, step)) for step in steps)] for model, of in outcomes[clean].items()]
    return table(["activation", *(f"step {step:g}" for step in steps)], lines)


def toy_name(model: Model) -> str:
    return f"chebact, degree {model.degree}" if model.learned else NAMES[model.activation]


def spread(outcome: Outcome) -> str:
    """Mean and standard deviation of the RMSE over the seeds."""
    rmse = [outcome.constant * value for value in outcome.test if value is not None]
    lost = len(outcome.test) - len(rmse)
    text = f"{statistics.mean(rmse):.4f} ± {statistics.stdev(rmse):.4f}"
    return text + (f", {lost} NaN" if lost else "")


def degree_table(outcomes: Outcomes) -> str:
    """Degrees 1 to 9."""
    cells = cells_of(outcomes, "degree")
    names = [
        f"{cell.network}, {cell.depth} layers, {f'noise {cell.noise:g}' if cell.noise else 'clean'}" for cell in cells
    ]
    models = list(outcomes[cells[0]])
    lines = [[str(model.degree), *(marked(chosen(outcomes[cell][model])) for cell in cells)] for model in models]
    return table(["degree", *names], lines)


def step_table(outcomes: Outcomes) -> str:
    """The step size of the heights as a multiple of that of the weights."""
    cells = cells_of(outcomes, "step")
    columns = [(cell, init) for init in (DEFAULT, "zeros") for cell in cells]
    scales = sorted({model.heights_step for model in outcomes[cells[0]]})
    lines = [
        [f"{scale:g}", *(marked(chosen(outcomes[c][chebact(init, heights_step=scale)])) for c, init in columns)]
        for scale in scales
    ]
    optimizers = {"adam": "Adam", "sgd": "SGD"}
    return table(["multiple", *(f"{init}, {c.network}, {optimizers[c.optimizer]}" for c, init in columns)], lines)


def decay_table(outcomes: Outcomes) -> str:
    """Weight decay on the weights alone, and on the heights too."""
    amounts = sorted({cell.decay for cell in cells_of(outcomes, "decay")})
    columns = [(network, init) for network in ("plain", "residual") for init in (DEFAULT, "zeros")]
    lines = []
    for amount in amounts:
        for reaches in (False, True):
            line = [f"{amount:g}, {'weights and heights' if reaches else 'weights alone'}"]
            for network, init in columns:
                (cell,) = cells_of(outcomes, "decay", network=network, decay=amount)
                line.append(marked(chosen(outcomes[cell][chebact(init, heights_decay=reaches)])))
            lines.append(line)
    return table(["decay", *(f'{network}, `init="{init}"`' for network, init in columns)], lines)


def interval_table(outcomes: Outcomes) -> str:
    """Inputs of other sizes and other intervals; in brackets the share of the inputs outside."""
    cells = cells_of(outcomes, "interval")
    lines = []
    for model in outcomes[cells[0]]:
        name = f"nodes on ±{model.half_width:g}" if model.learned else start(model)
        line = [name]
        for cell in cells:
            one = chosen(outcomes[cell][model])
            line.append(marked(one) + (f" [{100 * one.result['outside']:.0f}]" if model.learned else ""))
        lines.append(line)
    return table(["activation", *(f"{cell.network}, inputs ±{cell.scale:g}" for cell in cells)], lines)


def tables(outcomes: Outcomes) -> dict[str, str]:
    """Every table by the name of its block."""
    makers = (
        *(toy_table, toy_steps_table, init_table, depth_table, degree_table, step_table),
        *(decay_table, interval_table, norm_table),
    )
    return {f"guide-{maker.__name__.removesuffix('_table').replace('_', '-')}": maker(outcomes) for maker in makers}
