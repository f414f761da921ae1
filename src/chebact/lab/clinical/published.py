"""The paper's two DementiaBank tables, as printed: percent, mean and deviation over 30 seeds of ten folds each."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "ACTIVATION_CELLS",
    "COLUMNS",
    "FEATURES",
    "PATIENTS",
    "RECORDINGS",
    "SYSTEMS",
    "System",
    "published_cell",
]

RECORDINGS, PATIENTS, FEATURES = 407, 178, 66  # recordings in all, recordings of patients, features
COLUMNS = ("accuracy", "sensitivity", "specificity", "micro_f1")

TABLE = """
1-class        32 56.3±0.0 0.0±0.0  100.0±0.0 0.0±0.0
relu           32 82.5±1.2 79.4±1.5 84.9±1.8  79.9±1.3
tanh           32 82.7±1.2 79.1±1.3 85.4±1.5  80.0±1.3
cl-extrapolate 32 84.7±0.8 80.7±1.2 87.7±1.0  82.1±0.9
1-class        64 56.3±0.0 0.0±0.0  100.0±0.0 0.0±0.0
relu           64 82.9±1.0 79.6±1.4 85.4±1.2  80.3±1.2
tanh           64 83.1±1.1 79.7±1.8 85.7±1.3  80.5±1.3
cl-extrapolate 64 84.6±0.9 80.7±1.3 87.6±1.0  82.0±1.1
"""


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


def parse_cells() -> dict[tuple[str, int, str], tuple[float, float]]:
    found = {}
    for line in TABLE.strip().splitlines():
        model, width, *texts = line.split()
        for metric, text in zip(COLUMNS, texts, strict=True):
            mean, deviation = text.split("±")
            found[model, int(width), metric] = (float(mean), float(deviation))
    return found


ACTIVATION_CELLS = parse_cells()


def published_cell(model: str, width: int | None, metric: str) -> tuple[float, float] | None:
    """Mean and deviation that the paper prints, or None where it has no such cell; 1-class has no width here.

    >>> published_cell("tanh", 64, "accuracy")
    (83.1, 1.1)
    """
    return ACTIVATION_CELLS.get((model, 32 if width is None else width, metric))
