"""The seven synthetic regression tasks: recipes, samples and the slices that are plotted.

Two forms of each recipe are kept. `"paper"` is what the paper prints; `"released"` is what the published figures were
made with. They differ for Arrhenius, Jump and Step. `"recommended"` has the released functions and another training.
The inputs are uniform on [-1, 1] and each task has exactly the columns it needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

__all__ = [
    "DATASETS",
    "RECIPE_FORMS",
    "Recipe",
    "RecipeForm",
    "plotted_slice",
    "published_split",
    "recipe",
    "sample",
    "target",
]

PUBLISHED_SEED = 5

RecipeForm = Literal["paper", "released", "recommended"]
RECIPE_FORMS: tuple[RecipeForm, ...] = get_args(RecipeForm)

Formula = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Recipe:
    """One task: how many input columns it has and how the target comes from x of shape (features, ...)."""

    title: str
    features: int
    smooth: bool
    paper: Formula
    released: Formula
    symmetric: bool = False  # the columns after the first may change places

    @property
    def has_two_forms(self) -> bool:
        """Whether the paper prints another formula than the published figures were made with."""
        return self.paper is not self.released

    def formula(self, form: RecipeForm) -> Formula:
        """The formula of that form; a ValueError for another word."""
        if form not in RECIPE_FORMS:
            raise ValueError(f"recipes must be one of {', '.join(RECIPE_FORMS)}, got {form!r} ({type(form).__name__})")
        return self.paper if form == "paper" else self.released


def pendulum(x: Tensor) -> Tensor:
    return -x[1] * x[2] * torch.sin(2 * math.pi * x[0])


def arrhenius_paper(x: Tensor) -> Tensor:
    return x[1] * torch.exp(-x[2] * x[0] / 4)


def arrhenius_released(x: Tensor) -> Tensor:
    return x[1] * torch.exp(-x[2] * x[0]) / 4


def gravity(x: Tensor) -> Tensor:
    return x[1] * x[2] * x[3] / (0.2 + x[0] ** 2)


def sigmoid(x: Tensor) -> Tensor:
    return 2 * x[1] / (1 + torch.exp(-10 * x[2] * (x[0] - x[3] + 0.5))) + x[4] - 0.5


def prelu(x: Tensor) -> Tensor:
    return torch.where(x[0] < 0, 0.1 * x[0] * x[1], x[0] * x[2])


def jump_paper(x: Tensor) -> Tensor:
    line = 4 * x[2] * x[0]
    return torch.where(x[0] < x[1] - 0.75, line, 0.1 * x[3] * (line - x[2] / 2))


def jump_released(x: Tensor) -> Tensor:
    line, threshold = 4 * x[2] * x[0], x[1] - 0.75
    return torch.where(x[0] < threshold, line, 0.1 * x[3] * (line - threshold / 2))


def stairs(x0: Tensor, edges: tuple[float, ...], heights: tuple[float, ...]) -> Tensor:
    """The height of the stair at x0: heights[i] below edges[i], heights[-1] from the last edge on."""
    x0 = (
        x0 if x0.is_floating_point() else x0.to(torch.get_default_dtype())
    )  # an edge of an integer type would be rounded
    stair = torch.bucketize(x0, torch.tensor(edges, dtype=x0.dtype, device=x0.device), right=True)
    return torch.tensor(heights, dtype=x0.dtype, device=x0.device)[stair]


def step_paper(x: Tensor) -> Tensor:
    return stairs(x[0], (-0.8, -0.4, 0.0, 0.4), (-0.8, -0.4, 0.0, 0.4, 0.8))


def step_released(x: Tensor) -> Tensor:
    return stairs(x[0], (-0.8, -0.4, 0.4, 0.8), (-0.8, -0.4, 0.0, 0.4, 0.8))


DATASETS: dict[str, Recipe] = {
    "pendulum": Recipe("Pendulum", 3, True, pendulum, pendulum, symmetric=True),
    "arrhenius": Recipe("Arrhenius", 3, True, arrhenius_paper, arrhenius_released),
    "gravity": Recipe("Gravity", 4, True, gravity, gravity, symmetric=True),
    "sigmoid": Recipe("Sigmoid", 5, True, sigmoid, sigmoid),
    "jump": Recipe("Jump", 4, False, jump_paper, jump_released),
    "prelu": Recipe("PReLU", 3, False, prelu, prelu),
    "step": Recipe("Step", 1, False, step_paper, step_released, symmetric=True),
}


def recipe(dataset: str) -> Recipe:
    """The row of `DATASETS`, or a ValueError that lists the names.

    >>> recipe("gravity").features
    4
    """
    if dataset not in DATASETS:
        kind = type(dataset).__name__
        raise ValueError(f"dataset must be one of {', '.join(DATASETS)}, got {dataset!r} ({kind})")
    return DATASETS[dataset]


def target(dataset: str, x: Tensor, recipes: RecipeForm = "paper", columns: Sequence[int] | None = None) -> Tensor:
    """The noiseless target of x (..., features), of shape (..., 1).

    `columns` is the order in which the recipe takes the columns of x: x0 is column `columns[0]`, and so on.

    >>> target("pendulum", torch.tensor([[0.25, -1.0, 0.5]]))
    tensor([[0.5000]])
    >>> target("prelu", torch.tensor([[0.5, 1.0, 3.0]]), columns=(0, 2, 1))
    tensor([[0.5000]])
    """
    row = recipe(dataset)
    if x.ndim == 0 or x.shape[-1] != row.features:
        raise ValueError(f"x must have shape (..., {row.features}) for {dataset}, got {tuple(x.shape)}")
    order = list(range(row.features) if columns is None else columns)
    if sorted(order) != list(range(row.features)):
        raise ValueError(f"columns must be an order of 0 to {row.features - 1} for {dataset}, got {order}")
    return row.formula(recipes)(x.movedim(-1, 0)[order]).unsqueeze(-1)


def sample(
    dataset: str,
    points: int,
    *,
    noise: float = 0.0,
    recipes: RecipeForm = "paper",
    generator: torch.Generator | None = None,
    dtype: torch.dtype = torch.float32,
) -> tuple[Tensor, Tensor]:
    """Draw x (points, features) uniform on [-1, 1] and y (points, 1), its target plus Gaussian noise of that deviation.

    The draws are made in float64 and are the same for every noise, recipe form and dtype.

    >>> x, y = sample("step", 1000, noise=0.01, generator=torch.Generator().manual_seed(0))
    >>> x.shape, y.shape
    (torch.Size([1000, 1]), torch.Size([1000, 1]))
    """
    check_amounts(points, noise)
    x = torch.rand(points, recipe(dataset).features, generator=generator, dtype=torch.float64) * 2 - 1
    disturbance = torch.randn(points, 1, generator=generator, dtype=torch.float64) * noise
    return x.to(dtype), (target(dataset, x, recipes) + disturbance).to(dtype)


def published_split(
    dataset: str,
    *,
    noise: float = 0.0,
    recipes: RecipeForm = "paper",
    points: int = 1000,
    columns: Sequence[int] | None = None,
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """The draw behind the published figures: x and y of the training points with noise, of the test points without.

    Inputs and noise are the same for every repeat: x of both parts at once from a generator with seed 5 and, after
    100 points that served a plot only, the noise. x is (points, features), y (points, 1), in float32. `columns` is the
    order in which the recipe takes the columns (see `target`): the published repeats shuffled those after the first
    without a seed, so that Arrhenius, Jump, PReLU and Sigmoid had another target in each.

    >>> (x, y), (test_x, test_y) = published_split("gravity", noise=0.01)
    >>> x.shape, test_y.shape
    (torch.Size([1000, 4]), torch.Size([1000, 1]))
    """
    check_amounts(points, noise)
    generator = torch.Generator().manual_seed(PUBLISHED_SEED)
    x = torch.rand(2 * points, recipe(dataset).features, generator=generator) * 2 - 1
    torch.rand(100, x.shape[1], generator=generator)
    y = target(dataset, x, recipes, columns)
    disturbance = torch.randn(points, generator=generator).unsqueeze(1) * noise
    return (x[:points], y[:points] + disturbance), (x[points:], y[points:])


def check_amounts(points: int, noise: float) -> None:
    if points < 0:
        raise ValueError(f"points must be 0 or more, got {points}")
    if not (noise >= 0 and math.isfinite(noise)):
        raise ValueError(f"noise must be a finite deviation of 0 or more, got {noise}")


def plotted_slice(
    dataset: str, points: int = 101, recipes: RecipeForm = "paper", dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """The slice that the paper plots: x0 from -1 to 1, every other column 0.5; x (points, features) and y (points, 1).

    >>> x, y = plotted_slice("gravity", 5)
    >>> x[:, 0].tolist(), x[0, 1:].tolist()
    ([-1.0, -0.5, 0.0, 0.5, 1.0], [0.5, 0.5, 0.5])
    """
    check_amounts(points, noise=0)
    x = torch.full((points, recipe(dataset).features), 0.5, dtype=torch.float64)
    x[:, 0] = torch.linspace(-1, 1, points, dtype=torch.float64)
    return x.to(dtype), target(dataset, x, recipes).to(dtype)
