"""Physics-informed networks: Poisson's and Burgers' equation with learned activations against tanh, same budget.

    python examples/pde.py [--adam 300] [--lbfgs 120] [--seed 0] [--picture pde.png]

The loss holds second derivatives of the network, so they go through every activation; float64, Adam, then L-BFGS. The
boundary values are built in. The second derivative of a learned curve jumps to zero at the ends of its interval. The
picture shows that jump in u_xx; a wider interval with a higher degree helps.
"""

import argparse
import time
from functools import partial
from pathlib import Path

import numpy
import torch
from torch import nn

from chebact import ChebyshevLagrange

WIDTH, NU = 20, 0.02
ACTIVATIONS = {
    "tanh": lambda width: nn.Tanh(),
    "learned, degree 3, [-1, 1]": partial(ChebyshevLagrange, degree=3),
    "learned, degree 3, [-3, 3]": partial(ChebyshevLagrange, degree=3, interval=(-3.0, 3.0)),
    "learned, degree 7, [-1, 1]": partial(ChebyshevLagrange, degree=7),
    "learned, degree 7, [-3, 3]": partial(ChebyshevLagrange, degree=7, interval=(-3.0, 3.0)),
}
JUMPS, SMOOTH = "learned, degree 3, [-1, 1]", "learned, degree 7, [-3, 3]"
COLOURS = {"tanh": "tab:blue", JUMPS: "#a63603", SMOOTH: "tab:orange"}  # the others are lighter


def network(make, seed):
    torch.manual_seed(seed)
    return nn.Sequential(
        *(nn.Linear(2, WIDTH), make(WIDTH), nn.Linear(WIDTH, WIDTH), make(WIDTH), nn.Linear(WIDTH, 1))
    ).double()


def derivative(value, of):
    return torch.autograd.grad(value.sum(), of, create_graph=True)[0]


class Poisson:
    """u_xx + u_yy = f on [-1, 1]^2, u = 0 at the edges; u = sin(pi x) sin(pi y)."""

    name, second, low = "Poisson", "y", -1.0

    def solution(self, net, x, y):
        return (1 - x**2) * (1 - y**2) * net(torch.stack([x, y], 1))[:, 0]

    def residual(self, net, x, y):
        u = self.solution(net, x, y)
        source = -2 * torch.pi**2 * self.exact(x, y)
        return derivative(derivative(u, x), x) + derivative(derivative(u, y), y) - source

    def exact(self, x, y):
        return torch.sin(torch.pi * x) * torch.sin(torch.pi * y)

    def places(self, count):
        return torch.rand(count, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 2 - 1


class Burgers:
    """u_t + u u_x = nu u_xx on [-1, 1] x [0, 1], u = -sin(pi x) at t = 0 and 0 at both ends; exact by Cole and Hopf."""

    name, second, low = "Burgers", "t", 0.0

    def solution(self, net, x, t):
        return -torch.sin(torch.pi * x) + t * (1 - x**2) * net(torch.stack([x, 2 * t - 1], 1))[:, 0]

    def residual(self, net, x, t):
        u = self.solution(net, x, t)
        slope = derivative(u, x)
        return derivative(u, t) + u * slope - NU * derivative(slope, x)

    def exact(self, x, t):
        points, weights = numpy.polynomial.hermite.hermgauss(100)
        shift = x.numpy()[:, None] - 2 * numpy.sqrt(NU * t.clamp(min=1e-12).numpy())[:, None] * points
        kernel = weights * numpy.exp(-numpy.cos(numpy.pi * shift) / (2 * numpy.pi * NU) - 1 / (2 * numpy.pi * NU))
        return torch.from_numpy(-(numpy.sin(numpy.pi * shift) * kernel).sum(1) / kernel.sum(1))

    def places(self, count):
        both = torch.rand(count, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        return torch.stack([both[:, 0] * 2 - 1, both[:, 1]], 1)


def train_(problem, net, adam, lbfgs, points):
    """Adam, then L-BFGS, on the mean squared residual; gives the seconds that it took."""
    start = time.perf_counter()
    x, y = (column.clone().requires_grad_() for column in problem.places(points).T)

    def loss():
        return problem.residual(net, x, y).square().mean()

    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(adam):
        optimizer.param_groups[0]["lr"] = 5e-3 * (1 - 0.9 * step / adam)
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=lbfgs, max_eval=2 * lbfgs, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    optimizer.step(closure)
    return time.perf_counter() - start


@torch.no_grad()
def compare(problem, net, size=81):
    """The relative error in the mean square on a grid, and the grids of the network and of the truth."""
    lines = (torch.linspace(low, 1, size, dtype=torch.float64) for low in (-1, problem.low))
    x, y = (grid.flatten() for grid in torch.meshgrid(*lines, indexing="ij"))
    ours, exact = problem.solution(net, x, y), problem.exact(x, y)
    error = ((ours - exact).square().mean() / exact.square().mean()).sqrt().item()
    return error, ours.view(size, size).numpy(), exact.view(size, size).numpy()


LINE = torch.linspace(-0.95, 0.95, 381, dtype=torch.float64)


def bend(problem, net=None, step=1e-3):
    """The second derivative u_xx along the line y or t = 0.5: of a network, or of the truth by differences."""
    half = torch.full_like(LINE, 0.5)
    if net is None:
        return (
            (problem.exact(LINE + step, half) + problem.exact(LINE - step, half) - 2 * problem.exact(LINE, half))
            / step**2
        ).numpy()
    x = LINE.clone().requires_grad_()
    return derivative(derivative(problem.solution(net, x, half), x), x).detach().numpy()


def draw_picture(results, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 9.6), layout="constrained")
    parts = figure.subfigures(4, 1, height_ratios=(1.2, 1, 1.2, 1), hspace=0.03)
    for (above, below), problem in zip((parts[:2], parts[2:]), (Poisson(), Burgers()), strict=True):
        draw_maps(above, problem, results[problem.name])
        bends, errors = below.subplots(1, 2)
        draw_bends(bends, problem, results[problem.name])
        draw_errors(errors, results[problem.name])
    figure.savefig(path, dpi=160)


def draw_maps(figure, problem, found):
    """The solution, and the errors of tanh and of the best curve on one scale."""
    best = min((name for name in found if name != "tanh"), key=lambda name: found[name]["error"])
    (first, *others), exact = figure.subplots(1, 3), found["tanh"]["exact"]
    errors = {name: abs(found[name]["ours"] - exact) for name in ("tanh", best)}
    most = max(error.max() for error in errors.values())
    shown = draw_map(first, problem, exact, f"{problem.name}:\nexact solution", cmap="RdBu_r", vmin=-1, vmax=1)
    figure.colorbar(shown, ax=first, location="bottom", label="u", ticks=[-1, 0, 1])
    for axes, (name, error) in zip(others, errors.items(), strict=True):
        title = "error: " + name.replace(", ", ",\n", 1)
        shown = draw_map(axes, problem, error, title, cmap="viridis", vmin=0, vmax=most)
        axes.set(ylabel="", yticklabels=[])
    bar = figure.colorbar(shown, ax=others, location="bottom", label="|error| of u", aspect=40)
    bar.ax.locator_params(nbins=5)


def draw_map(axes, problem, values, title, **style):
    axes.set_title(title, fontsize=9)
    axes.set(xlabel="x", ylabel=problem.second, xticks=[-1, 0, 1], yticks=[problem.low, (problem.low + 1) / 2, 1])
    return axes.imshow(values.T, origin="lower", extent=(-1, 1, problem.low, 1), aspect="auto", **style)


def draw_bends(axes, problem, found):
    """What the jump of the second derivative leaves, beside a curve of higher degree on a wider interval."""
    for name in (JUMPS, SMOOTH):
        axes.plot(LINE, found[name]["bend"] - bend(problem), color=COLOURS[name], label=name)
    axes.set_title(f"error of $u_{{xx}}$ at {problem.second} = 0.5", fontsize=9)
    axes.set(xlabel="x", xticks=[-1, 0, 1])
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.4, -0.3), frameon=False)


def draw_errors(axes, found):
    """The relative errors, each with its number."""
    for place, (name, row) in enumerate(found.items()):
        axes.barh(place, row["error"], color=COLOURS.get(name, "#fdd0a2"), height=0.6)
        axes.annotate(f"{row['error']:.2g}", (row["error"], place), (3, 0), textcoords="offset points", va="center")
    axes.set_title("relative error of u", fontsize=9)
    axes.set_yticks(range(len(found)), [name.replace("learned, ", "") for name in found], fontsize=8)
    axes.set_xlim(0, 1.5 * max(row["error"] for row in found.values()))
    axes.locator_params(axis="x", nbins=3)
    axes.invert_yaxis()
    axes.grid(alpha=0.3, axis="x")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--adam", type=int, default=300, help="steps of Adam, at least 1")
    parser.add_argument("--lbfgs", type=int, default=120, help="iterations of L-BFGS after Adam, at least 1")
    parser.add_argument("--points", type=int, default=400, help="points at which the equation has to hold, at least 1")
    parser.add_argument("--seed", type=int, default=0, help="of the weights, at least 0")
    parser.add_argument("--picture", metavar="FILE", help="draw the results: a .png, .svg or .pdf file")
    given = parser.parse_args(arguments)
    for name, least in (("adam", 1), ("lbfgs", 1), ("points", 1), ("seed", 0)):
        if not least <= getattr(given, name) < 2**63:
            parser.error(f"--{name} must be at least {least} and below 2^63, got {getattr(given, name)}")
    path = Path("none.png" if given.picture is None else given.picture).resolve()
    if path.is_dir() or not path.parent.is_dir() or path.suffix.lower() not in (".png", ".svg", ".pdf"):
        parser.error(f"--picture must be a .png, .svg or .pdf file in a folder that exists, got {given.picture!r}")
    results = {}
    for problem in (Poisson(), Burgers()):
        found = results[problem.name] = {}
        for name, make in ACTIVATIONS.items():
            net = network(make, given.seed)
            seconds = train_(problem, net, given.adam, given.lbfgs, given.points)
            error, ours, exact = compare(problem, net)
            grids = {"ours": ours, "exact": exact, "bend": bend(problem, net)}
            found[name] = {"error": error, "seconds": seconds, **grids}
            print(f"{problem.name}, {name}: relative error {error:.2e} in {seconds:.1f} s", flush=True)
    if given.picture:
        draw_picture(results, given.picture)
    return results


if __name__ == "__main__":
    main()
