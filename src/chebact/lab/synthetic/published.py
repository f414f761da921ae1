"""The paper's two synthetic tables, as printed: RMSE mean and deviation over ten seeds, or how many of the ten turned
NaN.

Two deviations look like slips of the pen and are kept as printed: PCS-CL at noise 0.01, 0.3 for Jump and 0.002 for
Arrhenius.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PARAMETERS", "SEEDS", "SYNTHETIC", "Published", "published_cell"]

SEEDS = 10
PARAMETERS = {  # as printed; the counts themselves are in the report
    **dict.fromkeys(("relu", "tanh", "cubic"), 3300),
    **dict.fromkeys(("relu-2x-depth", "relu-2x-layers"), 6500),
    **dict.fromkeys(("cl", "wcp", "tanh-cl", "cl-regression", "cl-extrapolate"), 3800),
    "pcs-cl": 6785,
}


@dataclass(frozen=True)
class Published:
    """A cell: mean and deviation as printed or, where the paper gives only a count, the number of NaN among ten."""

    mean: float | None
    std: float | None
    nan: int
    decimals: int


COLUMNS = ("pendulum", "arrhenius", "gravity", "sigmoid", "jump", "prelu", "step")

TABLES: dict[float, str] = {
    0.01: """
relu            0.1518±0.0297 0.0054±0.0003 0.098±0.069 0.065±0.010 0.17±0.15 0.0063±0.0006 0.040±0.010
relu-2x-depth   0.1941±0.0207 0.0052±0.0004 0.187±0.115 0.058±0.007 0.17±0.12 0.0079±0.0053 0.035±0.010
relu-2x-layers  0.1597±0.0203 0.0048±0.0003 0.062±0.049 0.043±0.005 0.12±0.03 0.0058±0.0004 0.030±0.013
tanh            0.0327±0.0102 0.0036±0.0005 0.075±0.059 0.111±0.013 0.09±0.03 0.0085±0.0041 0.050±0.005
cubic           10/10         4/10          10/10       10/10       10/10     9/10          7/10
cl              8/10          0.0029±0.0007 10/10       10/10       10/10     0.0071±0.0005 0.109±0.018
wcp             9/10          0.0032±0.0010 10/10       10/10       10/10     0.0066±0.0006 0.091±0.025
pcs-cl          0.0348±0.0021 0.0045±0.002  0.022±0.002 0.035±0.010 0.11±0.3  0.0060±0.0005 0.069±0.007
tanh-cl         0.1642±0.0749 0.0056±0.0015 0.048±0.009 0.041±0.011 0.12±0.03 0.0060±0.0008 0.088±0.018
cl-regression   0.0208±0.0022 0.0035±0.0002 0.042±0.003 0.027±0.004 0.08±0.02 0.0045±0.0003 0.020±0.001
cl-extrapolate  0.0113±0.0006 0.0030±0.0002 0.022±0.002 0.019±0.004 0.09±0.02 0.0040±0.0003 0.030±0.002
""",
    0.04: """
relu            0.140±0.045 0.0143±0.0016 0.073±0.014 0.069±0.007 0.12±0.01 0.0155±0.0009 0.052±0.017
relu-2x-depth   0.204±0.020 0.0142±0.0014 0.202±0.165 0.069±0.008 0.17±0.14 0.0170±0.0040 0.033±0.009
relu-2x-layers  0.139±0.042 0.0139±0.0010 0.076±0.056 0.052±0.005 0.11±0.02 0.0159±0.0045 0.035±0.011
tanh            0.049±0.020 0.0088±0.0009 0.073±0.053 0.122±0.027 0.10±0.03 0.0155±0.0072 0.054±0.014
cubic           10/10       4/10          10/10       10/10       10/10     9/10          7/10
cl              4/10        0.0082±0.0007 10/10       10/10       10/10     1/10          0.099±0.020
wcp             8/10        0.0091±0.0012 10/10       10/10       10/10     2/10          0.104±0.021
pcs-cl          0.041±0.003 0.0119±0.0009 0.032±0.005 0.043±0.005 0.10±0.02 0.0111±0.0008 0.070±0.006
tanh-cl         0.191±0.048 0.0121±0.0018 0.056±0.010 0.049±0.012 0.12±0.02 0.0116±0.0007 0.091±0.016
cl-regression   0.035±0.003 0.0133±0.0012 0.062±0.006 0.049±0.006 0.08±0.02 0.0152±0.0015 0.024±0.001
cl-extrapolate  0.028±0.001 0.0115±0.0011 0.040±0.003 0.040±0.004 0.10±0.02 0.0142±0.0013 0.034±0.002
""",
}


def parse_cell(text: str) -> Published:
    if "/" in text:
        return Published(None, None, int(text.split("/")[0]), 4)
    mean, std = text.split("±")
    return Published(float(mean), float(std), 0, len(mean.partition(".")[2]))


def parse_cells() -> dict[tuple[str, str, float], Published]:
    rows = [(noise, line.split()) for noise, table in TABLES.items() for line in table.strip().splitlines()]
    return {
        (words[0], dataset, noise): parse_cell(word)
        for noise, words in rows
        for dataset, word in zip(COLUMNS, words[1:], strict=True)
    }


SYNTHETIC = parse_cells()


def published_cell(model: str, dataset: str, noise: float) -> Published | None:
    """The paper's cell, or None where it has none.

    >>> published_cell("cl-extrapolate", "pendulum", 0.01)
    Published(mean=0.0113, std=0.0006, nan=0, decimals=4)
    """
    return SYNTHETIC.get((model, dataset, noise))
