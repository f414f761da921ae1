"""The paper's two DementiaBank tables, as printed: percent, mean and deviation over 30 seeds of ten folds each.

`RIGHT` are the counts behind the first: the authors released a score per seed with their code (`linkvsrelu-visual.json`
of github.com/ychnlgy/Chebyshev-Lagrange, MIT licence), and each is a count of recordings divided by 178, 229 or 407.
"""

from __future__ import annotations

from dataclasses import dataclass

from chebact.lab.clinical.classification import Counts, scores_of

__all__ = [
    "ACTIVATION_CELLS",
    "COLUMNS",
    "FEATURES",
    "PATIENTS",
    "RECORDINGS",
    "SYSTEMS",
    "System",
    "printed_cell",
    "published_cell",
    "released_seeds",
]

RECORDINGS, PATIENTS, FEATURES = 407, 178, 66  # recordings in all, recordings of patients, features
COLUMNS = ("accuracy", "sensitivity", "specificity", "micro_f1")

TABLE = """
1-class        32 56.3±0.0 0.0±0.0  100.0±0.0 0.0±0.0
relu           32 82.5±1.2 79.4±1.5 84.9±1.8  79.9±1.3
tanh           32 82.7±1.2 79.1±1.3 85.4±1.5  80.0±1.3
cl-extrapolate 32 84.7±0.8*** 80.7±1.2*** 87.7±1.0*** 82.1±0.9***
1-class        64 56.3±0.0 0.0±0.0  100.0±0.0 0.0±0.0
relu           64 82.9±1.0 79.6±1.4 85.4±1.2  80.3±1.2
tanh           64 83.1±1.1 79.7±1.8 85.7±1.3  80.5±1.3
cl-extrapolate 64 84.6±0.9*** 80.7±1.3** 87.6±1.0*** 82.0±1.1***
"""
RIGHT = {  # of 178 patients and of 229 others, how many are classified right, one number per seed
    ("relu", 32): (
        "135 142 145 138 144 140 144 142 140 143 139 141 143 139 142 141 140 141 144 139 140 139 146 140 148 140 145 "
        "141 141 139",
        "196 193 199 199 193 196 200 196 192 193 199 184 190 195 194 191 197 196 200 191 197 188 196 199 193 195 197 "
        "185 196 194",
    ),
    ("tanh", 32): (
        "141 141 143 139 141 141 144 136 143 141 142 137 141 142 141 141 137 140 143 139 137 141 139 143 145 140 141 "
        "138 142 145",
        "190 193 191 198 192 201 198 193 201 192 199 189 199 198 193 194 196 200 199 196 196 190 196 197 200 196 197 "
        "194 192 199",
    ),
    ("cl-extrapolate", 32): (
        "146 148 147 142 146 147 146 144 142 143 142 139 143 144 142 141 142 145 144 142 141 143 143 146 144 144 141 "
        "142 144 146",
        "201 202 200 202 198 201 201 194 202 200 201 199 201 204 201 199 199 205 204 200 199 204 202 199 201 200 204 "
        "201 201 203",
    ),
    ("relu", 64): (
        "141 142 143 144 143 141 146 139 137 147 142 140 141 143 141 141 139 144 139 136 141 139 141 142 146 143 142 "
        "140 143 144",
        "197 197 195 194 200 192 200 197 198 197 199 195 197 199 198 192 197 196 197 192 196 190 195 192 196 196 197 "
        "190 193 196",
    ),
    ("tanh", 64): (
        "140 148 145 143 138 140 145 136 145 139 147 139 142 140 144 137 137 145 145 139 140 141 142 141 145 141 141 "
        "141 142 147",
        "195 193 200 193 195 201 199 195 194 199 196 194 194 195 192 198 199 196 202 193 196 192 199 195 199 197 199 "
        "200 190 198",
    ),
    ("cl-extrapolate", 64): (
        "146 148 148 143 145 147 146 144 145 142 144 140 143 144 143 141 139 145 144 141 141 143 144 145 144 144 141 "
        "142 140 146",
        "201 203 200 202 199 200 200 194 202 199 202 198 201 203 200 198 199 205 204 199 196 203 202 199 201 201 204 "
        "199 201 202",
    ),
}


@dataclass(frozen=True)
class System:
    """A row of the paper's comparison of systems on DementiaBank; cells as printed, empty where it has none."""

    model: str
    accuracy: str = ""
    micro_f1: str = ""
    macro_f1: str = ""
    best_macro_f1: str = ""


SYSTEMS = (
    System("1-layer neural net", micro_f1="75.9"),
    System("TCN", accuracy="75-77"),
    System("Random forest", micro_f1="79.6"),
    System("SVM", micro_f1="80.6"),
    System("Multiview embeddings + random forest", best_macro_f1="82.4 ± 5.2"),
    System("CL-extrapolate, width 32", "84.7 ± 0.8", "82.1 ± 0.9", "81.8 ± 1.1", "84.0 ± 7.5"),
)


def parse_cells() -> dict[tuple[str, int, str], str]:
    found: dict[tuple[str, int, str], str] = {}
    for line in TABLE.strip().splitlines():
        model, width, *texts = line.split()
        found |= {(model, int(width), metric): text for metric, text in zip(COLUMNS, texts, strict=True)}
    return found


PRINTED = parse_cells()
ACTIVATION_CELLS = {
    cell: (float(mean), float(deviation))
    for cell, text in PRINTED.items()
    for mean, deviation in [text.rstrip("*").split("±")]
}


def printed_cell(model: str, width: int, metric: str) -> str:
    """A cell as the paper prints it, with its stars.

    >>> printed_cell("cl-extrapolate", 64, "sensitivity")
    '80.7 ± 1.3**'
    """
    return PRINTED[model, width, metric].replace("±", " ± ")


def released_seeds(model: str, width: int) -> dict[str, list[float]]:
    """The published score of each of the 30 seeds by metric, in percent, from the counts of `RIGHT`.

    >>> [round(score, 1) for score in released_seeds("tanh", 32)["accuracy"][:3]]
    [81.3, 82.1, 82.1]
    """
    patients, others = ([int(count) for count in text.split()] for text in RIGHT[model, width])
    healthy = RECORDINGS - PATIENTS
    pooled = (Counts(p, healthy - n, n, PATIENTS - p) for p, n in zip(patients, others, strict=True))
    scores = [scores_of([counts]) for counts in pooled]
    return {metric: [100 * (seed[metric] or 0.0) for seed in scores] for metric in COLUMNS}


def published_cell(model: str, width: int | None, metric: str) -> tuple[float, float] | None:
    """Mean and deviation that the paper prints, or None where it has no such cell; 1-class has no width here.

    >>> published_cell("tanh", 64, "accuracy")
    (83.1, 1.1)
    """
    return ACTIVATION_CELLS.get((model, 32 if width is None else width, metric))
