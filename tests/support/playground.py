"""What tests of the playground share: its handles, what is drawn, and the module that its Python builds."""

import re

import numpy
import torch

import chebact


def open_playground(open_page, path, **options):
    """The page in that file, once its handles are drawn."""
    page = open_page(path, **options)
    page.wait_for_selector(".handle")
    return page


def built(code):
    """The module that the shown Python builds."""
    names = {}
    exec(compile(code, "copied", "exec"), names)
    return names["activation"]


def module_of(page):
    return built(page.inner_text("#python"))


def handle(page, node):
    """The handle of node 1, 2, ..., counted from the right."""
    return page.locator(f'.handle[data-node="{node}"]')


def height(page, node):
    return float(handle(page, node).get_attribute("aria-valuenow"))


def centre(page, node):
    box = handle(page, node).locator(".dot").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def frames(page):
    """Wait until what was asked for is drawn."""
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def drag(page, node, dx, dy):
    x, y = centre(page, node)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + dx / 2, y + dy / 2)
    page.mouse.move(x + dx, y + dy)
    page.mouse.up()
    frames(page)


def drawn(page, kind="curve", panel="main"):
    """The points of a path in pixels of the drawing."""
    numbers = re.findall(r"-?\d+\.?\d*", page.locator(f".panel.{panel} path.{kind}").get_attribute("d"))
    return numpy.array(numbers, dtype=float).reshape(-1, 2)


def handle_points(page):
    moves = page.locator(".handle").evaluate_all("list => list.map(h => [h.dataset.node, h.getAttribute('transform')])")
    points = {int(node): [float(part) for part in re.findall(r"-?[\d.]+", text)] for node, text in moves}
    return numpy.array([points[node] for node in sorted(points)])


def assert_curve_is(page, module):
    """The drawn curve and tails are the module's: the handles, whose heights are known, say what a pixel is."""
    nodes = chebact.nodes(module.degree, interval=module.basis.interval).numpy()
    values = module.heights.detach().double()[0].numpy()
    points = handle_points(page)
    across = numpy.polynomial.Polynomial.fit(nodes, points[:, 0], 1)
    up = numpy.polynomial.Polynomial.fit(values, points[:, 1], 1)
    for kind in ("curve", "tail"):
        path = drawn(page, kind)
        x = torch.from_numpy((path[:, 0] - across(0)) / across.deriv()(0))
        x = (x.clamp(*module.basis.interval) if kind == "curve" else x).requires_grad_()
        y = module.double()(x)
        (slope,) = torch.autograd.grad(y.sum(), x)
        wanted = up(y.detach().numpy())
        steep = numpy.abs(slope.numpy() * up.deriv()(0) / across.deriv()(0))
        seen = (path[:, 1] > 0) & (path[:, 1] < 700)  # far above and below the panel a path is cut off
        assert seen.sum() >= (4 if kind == "tail" else 600)
        assert numpy.all(numpy.abs(path[:, 1] - wanted)[seen] <= 0.05 + 0.02 * steep[seen]), (
            kind
        )  # places have 2 digits


def go(page, address):
    """Have the open page show another address."""
    page.evaluate("hash => { location.hash = hash }", address)
    frames(page)
    frames(page)
