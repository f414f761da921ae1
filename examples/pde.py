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
    "CL, degree 3, [-1, 1]": partial(ChebyshevLagrange, degree=3),
    "CL, degree 3, [-3, 3]": partial(ChebyshevLagrange, degree=3, interval=(-3.0, 3.0)),
    "CL, degree 7, [-1, 1]": partial(ChebyshevLagrange, degree=7),
    "CL, degree 7, [-3, 3]": partial(ChebyshevLagrange, degree=7, interval=(-3.0, 3.0)),
}


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

    figure = Figure(figsize=(8, 10), layout="constrained")
    problems = {problem.name: problem for problem in (Poisson(), Burgers())}
    for part, (name, found) in zip(figure.subfigures(2, 1, hspace=0.05), results.items(), strict=True):
        draw_problem(part, problems[name], found)
    figure.savefig(path, dpi=110)


def draw_problem(figure, problem, found):
    """One equation: the solution, the errors of tanh and of the best curve, u_xx on a line, the errors of all."""
    best = min((name for name in found if name != "tanh"), key=lambda name: found[name]["error"])
    places = figure.subplot_mosaic([["exact", "tanh", "best"], ["bend", "bend", "errors"]])
    exact, extent = found["tanh"]["exact"], (-1, 1, problem.low, 1)
    places["exact"].imshow(exact.T, origin="lower", extent=extent, aspect="auto", cmap="RdBu_r")
    places["exact"].set_title(f"{problem.name}: exact", fontsize=10)
    most = max(abs(found[name]["ours"] - exact).max() for name in ("tanh", best))
    for place, name in (("tanh", "tanh"), ("best", best)):
        difference = abs(found[name]["ours"] - exact)
        shown = places[place].imshow(
            difference.T, origin="lower", extent=extent, aspect="auto", cmap="viridis", vmin=0, vmax=most
        )
        places[place].set_title(f"|error|: {name}", fontsize=10)
    figure.colorbar(shown, ax=places["best"])
    for place in ("exact", "tanh", "best"):
        places[place].set(xlabel="x", ylabel=problem.second)
    draw_bend(places["bend"], problem, found)
    draw_errors(places["errors"], found, best)


def draw_bend(axes, problem, found):
    """What the jump of the second derivative leaves, beside a curve of higher degree on a wider interval."""
    for name, style in (("CL, degree 3, [-1, 1]", "-"), ("CL, degree 7, [-3, 3]", "--")):
        axes.plot(LINE, found[name]["bend"] - bend(problem), style, linewidth=1.2, label=name)
    axes.set_title(f"error of $u_{{xx}}$ along {problem.second} = 0.5", fontsize=10)
    axes.set_xlabel("x")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="upper right")


def draw_errors(axes, found, best):
    """The relative errors, each with its number."""
    for place, (name, row) in enumerate(found.items()):
        chosen = name in ("tanh", best)
        axes.barh(place, row["error"], color="tab:blue" if chosen else "0.75", height=0.35)
        axes.text(0, place - 0.28, f"{name}: {row['error']:.1e}", fontsize=8, va="bottom")
    axes.set_title("relative error", fontsize=10)
    axes.set(yticks=[], xlim=(0, None))
    axes.invert_yaxis()
    axes.ticklabel_format(axis="x", style="sci", scilimits=(-2, 0))
    axes.grid(alpha=0.3, axis="x")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--adam", type=int, default=300, help="steps of Adam")
    parser.add_argument("--lbfgs", type=int, default=120, help="iterations of L-BFGS, after Adam")
    parser.add_argument("--points", type=int, default=400, help="points at which the equation is asked for")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture")
    given = parser.parse_args(arguments)
    for name in ("adam", "lbfgs", "points"):
        if getattr(given, name) < 1:
            parser.error(f"--{name} must be at least 1, got {getattr(given, name)}")
    if given.picture and not Path(given.picture).resolve().parent.is_dir():
        parser.error(f"--picture must be in a folder that exists, got {given.picture}")
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
