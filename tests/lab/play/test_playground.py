"""The playground in real Chromium: what a person does on it, and the Python that it gives."""

import math
import re
from xml.etree import ElementTree

import numpy
import pytest
import torch
from support.browser import PHONE

import chebact
from chebact.lab.play.page import render


@pytest.fixture(autouse=True)
def nothing_compiled():
    with chebact.kernels.use("reference"):
        yield


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("playground") / "play.html"
    path.write_text(render(), encoding="utf-8")
    return path


@pytest.fixture
def play(open_page, written):
    """A function that opens the playground, at an address where one is given."""

    def opened(hash="", **options):
        page = open_page(written, hash=hash, **options)
        page.wait_for_selector(".handle")
        return page

    return opened


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


def test_dragging_a_node_changes_curve_value_and_python_as_the_library_says(play):
    page = play("n=3&tails=extrapolate&f=tanh(x)")
    before, path = module_of(page), drawn(page)
    assert torch.allclose(before.heights[0], torch.tanh(chebact.nodes(3)), rtol=0, atol=1e-15)
    assert_curve_is(page, before)
    points = handle_points(page)
    scale = (before.heights[0, 0] - before.heights[0, 3]).item() / (points[3, 1] - points[0, 1])
    drag(page, 2, 0, -70)
    after = module_of(page)
    assert after.heights[0, 1].item() == height(page, 2)
    assert after.heights[0, 1].item() == pytest.approx(before.heights[0, 1].item() + 70 * scale, abs=scale)
    assert after.heights[0, [0, 2, 3]].equal(before.heights[0, [0, 2, 3]])
    assert not numpy.array_equal(path, drawn(page))
    assert_curve_is(page, after)
    assert page.text_content(".chip") == f"y₂ = {height(page, 2):g}"


def test_the_readout_is_the_librarys_value_and_slope(play):
    page = play("n=5&tails=regression&k=3&f=sin(2 x)&y=0.9,0.5,-0.3,0.25,0.7,-1")
    module, box = module_of(page), page.locator("#canvas").bounding_box()
    for share in (0.12, 0.58, 0.93):
        page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] * 0.93)
        frames(page)
        told = dict(part.split(" = ") for part in re.split(r"\s{2,}", page.text_content("#readout").strip()))
        told = {name: float(text.replace("−", "-")) for name, text in told.items()}
        x = torch.tensor([told["x"]], dtype=torch.float64, requires_grad=True)
        y = module(x)
        (slope,) = torch.autograd.grad(y.sum(), x)
        assert told["σ"] == pytest.approx(y.item(), abs=2e-3 * (1 + abs(slope.item())))
        assert told["σ′"] == pytest.approx(slope.item(), abs=2e-2)
        assert told["f"] == pytest.approx(math.sin(2 * told["x"]), abs=2e-3)


SHOWN = """hash => {
  const state = chebact.state.fromHash(hash), basis = chebact.state.basisOf(state), [a, b] = state.interval;
  const x = Array.from({ length: 101 }, (_, i) => 1.5 * (a + (b - a) * i / 100));
  return { state, x, heights: x.map((at) => basis.value(state.values, at)) };
}"""


def go(page, address):
    """Have the open page show another address."""
    page.evaluate("hash => { location.hash = hash }", address)
    frames(page)
    frames(page)


def test_the_python_builds_exactly_what_is_shown(play):
    page = play()
    for address in (
        "n=1&f=x",
        "n=3&tails=regression&k=4&f=gelu(x)",
        "n=4&tails=none&f=|x|",
        "n=8&tails=extrapolate&on=-2,0.5&f=exp(x)",
        "n=30&tails=regression&k=7&f=1/(1%2B25x^2)",
        "n=3&y=0.5,-0.25,1.5,-0",
        "n=2&y=1e-9,1e22,0.1",
    ):
        go(page, address)
        module, shown = module_of(page), page.evaluate(SHOWN, address)
        state = shown["state"]
        assert module.heights.double().tolist() == [state["values"]], address
        assert (module.degree, module.tails) == (state["degree"], state["tails"])
        assert list(module.basis.interval) == state["interval"]
        if state["tails"] == "regression":
            assert module.basis.regression_nodes == state["regressionNodes"]
        wanted = module.double()(torch.tensor(shown["x"], dtype=torch.float64)).tolist()
        assert shown["heights"] == pytest.approx(wanted, rel=1e-6, abs=1e-6), address


def test_heights_that_float32_holds_are_given_in_float32(play):
    page = play("n=3&y=0.5,-0.25,1.5,3")
    assert module_of(page).heights.dtype == torch.float32
    go(page, "n=3&y=0.5,-0.25,1.5,0.1")
    assert module_of(page).heights.dtype == torch.float64


def test_copy_puts_the_python_on_the_clipboard(play):
    page = play("n=2&y=1,0.1,-0.3")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("#copy")
    page.wait_for_function("() => document.getElementById('copy').textContent === 'Copied'")
    assert built(page.evaluate("navigator.clipboard.readText()")).heights.tolist() == [[1, 0.1, -0.3]]
    page.click("#share")
    page.wait_for_function("() => document.getElementById('share').textContent === 'Copied'")
    assert page.evaluate("navigator.clipboard.readText()").endswith("#n=2&tails=extrapolate&y=1%2C0.1%2C-0.3")


def test_arrow_keys_move_a_handle_and_each_run_of_them_is_one_step_back(play):
    page = play("n=3&f=0")
    slider = page.get_by_role("slider", name="Height at node 2 of 4, x = 0.4142")
    slider.focus()
    for key in ("ArrowUp", "ArrowRight", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
        frames(page)
    step = height(page, 2) / 2
    assert step > 0
    page.keyboard.press("Shift+ArrowUp")
    page.keyboard.press("PageDown")
    frames(page)
    assert height(page, 2) == pytest.approx(2 * step, abs=1e-12)
    assert module_of(page).heights[0, 1].item() == height(page, 2)
    assert page.evaluate("document.activeElement.dataset.node") == "2"
    for name in ("aria-valuemin", "aria-valuemax", "aria-valuetext", "aria-orientation", "aria-label"):
        assert slider.get_attribute(name)
    page.keyboard.press("Control+z")
    frames(page)
    assert height(page, 2) == 0
    page.keyboard.press("Control+Shift+z")
    frames(page)
    assert height(page, 2) == pytest.approx(2 * step, abs=1e-12)
    page.click("#reset")
    frames(page)
    assert height(page, 2) == 0


def test_tab_goes_through_the_handles_from_left_to_right(play):
    page = play("n=3&f=x")
    handle(page, 4).focus()
    order = [page.evaluate("document.activeElement.dataset.node")]
    for _ in range(3):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.dataset.node"))
    assert order == ["4", "3", "2", "1"]


def test_touch_drags_a_handle_and_does_not_scroll(play):
    page = play("n=3&f=tanh(x)", size=PHONE, touch=True)
    (x, y), before = centre(page, 3), height(page, 3)
    client = page.context.new_cdp_session(page)

    def touch(kind, *points):
        places = [{"x": px, "y": py} for px, py in points]
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    touch("touchStart", (x, y))
    for step in range(1, 6):
        touch("touchMove", (x, y - 8 * step))
    touch("touchEnd")
    frames(page)
    assert height(page, 3) > before + 0.05
    assert page.evaluate("scrollY") == 0
    assert module_of(page).heights[0, 2].item() == height(page, 3)


def test_two_clicks_put_a_handle_back_on_the_function(play):
    page = play("n=3&f=x&y=1,2,-0.4,-1")
    page.mouse.dblclick(*centre(page, 2))
    frames(page)
    assert height(page, 2) == pytest.approx(chebact.nodes(3)[1].item(), abs=1e-15)


def test_controls_change_degree_tails_and_k(play):
    page = play("n=3&f=gelu(x)")
    page.fill("#degree-number", "6")
    page.get_by_role("radio", name="regression").check()
    page.locator("#k").fill("4")
    frames(page)
    module = module_of(page)
    assert (module.degree, module.tails, module.basis.regression_nodes) == (6, "regression", 4)
    gelu = torch.nn.functional.gelu(chebact.nodes(6))
    assert torch.allclose(module.heights[0], gelu, rtol=0, atol=1e-15)
    left, right = (float(part.replace("−", "-")) for part in page.inner_text("#slopes").split(","))
    slopes = chebact.end_slopes(gelu, tails="regression", regression_nodes=4)
    assert [left, right] == pytest.approx([float(slope) for slope in slopes], abs=1e-4)
    page.get_by_role("radio", name="none").check()
    frames(page)
    assert module_of(page).tails == "none"
    assert page.locator("#k").is_disabled()


def test_another_degree_keeps_a_curve_that_was_moved(play):
    page = play("n=2&f=0&y=1,0,1")  # the parabola
    page.fill("#degree-number", "5")
    frames(page)
    assert torch.allclose(module_of(page).heights[0], chebact.nodes(5) ** 2, rtol=0, atol=1e-14)


def test_starts_and_typed_formulas(play):
    page = play()
    page.get_by_role("button", name="ReLU", exact=True).click()
    frames(page)
    assert torch.allclose(module_of(page).heights[0], torch.relu(chebact.nodes(3)), rtol=0, atol=1e-15)
    assert "corner" in page.inner_text("#verdict")
    assert page.inner_text("#bound") == "none"
    page.fill("#formula", "x^3 - ")
    frames(page)
    assert "wanted before the end" in page.inner_text("#complaint")
    assert page.input_value("#formula") == "x^3 - "
    assert torch.allclose(module_of(page).heights[0], torch.relu(chebact.nodes(3)), rtol=0, atol=1e-15)
    page.fill("#formula", "x^3 - x")
    frames(page)
    assert page.inner_text("#complaint") == ""
    assert torch.allclose(module_of(page).heights[0], chebact.nodes(3) ** 3 - chebact.nodes(3), atol=1e-15)
    assert float(page.get_attribute("#error", "data-value")) < 1e-14
    page.fill("#formula", "1 / (x - 1)")
    frames(page)
    assert "not finite at the node x = 1" in page.inner_text("#complaint")


def test_error_and_bound_are_shown(play):
    page = play("n=3&f=sin(x)")
    assert float(page.get_attribute("#bound", "data-value")) == pytest.approx(
        chebact.error_bound(3, math.sin(1)), rel=1e-6
    )
    assert float(page.get_attribute("#printed", "data-value")) == pytest.approx(
        chebact.error_bound(3, math.sin(1), stretched=False), rel=1e-6
    )
    error = float(page.get_attribute("#error", "data-value"))
    assert 0 < error < chebact.error_bound(3, math.sin(1))
    drag(page, 1, 0, 40)
    assert float(page.get_attribute("#error", "data-value")) > error
    assert "moved" in page.inner_text("#verdict")


def test_numbers_are_written_for_people_and_for_python(play):
    numbers = [0, -0.5, 1 / 3, 12345.678, 1.25e-7, -3e22, -0.0009]
    people = ["0", "−0.5", "0.3333", "12350", "1.25 × 10⁻⁷", "−3 × 10²²", "−9 × 10⁻⁴"]
    page = play()
    assert page.evaluate("list => list.map(number => chebact.text.short(number))", numbers) == people
    python = page.evaluate("list => list.map(chebact.text.python)", numbers)
    assert [float(text) for text in python] == numbers
    assert all(re.search("[.e]", text) for text in python)


def test_the_address_holds_what_is_shown(play):
    page = play("n=4&f=silu(x)")
    drag(page, 3, 0, -50)
    page.get_by_role("checkbox", name="basis functions").uncheck()
    page.wait_for_function("() => location.hash.includes('show=')")
    again = play(page.evaluate("location.hash").removeprefix("#"))
    assert again.inner_text("#python") == page.inner_text("#python")
    assert not again.get_by_role("checkbox", name="basis functions").is_checked()
    assert not again.locator(".panel.basis").is_visible()


NOWHERE = ["n=0", "n=3&y=1,2", "n=3&y=1,2,3,NaN", "tails=up", "n=2&k=9", "on=1,0", "f=alert(1)", "n=1e9", "view=-1"]


def test_an_address_that_names_nothing_gives_the_usual_start(play):
    page = play("n=3&y=1,2")
    assert module_of(page).degree == 3
    assert "usual start" in page.inner_text("#said")
    assert page.evaluate("list => list.map(chebact.state.fromHash)", NOWHERE) == [None] * len(NOWHERE)


@pytest.mark.parametrize(("size", "dark"), [(PHONE, True), (PHONE, False), ((1280, 860), True), ((820, 1180), False)])
def test_the_page_fits_and_can_be_read(play, dark, size):
    page = play(size=size, dark=dark, touch=size == PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not page.evaluate(UNNAMED)
    for contrast in page.evaluate(CONTRASTS):
        assert contrast["ratio"] >= 4.5, contrast


UNNAMED = """() => {
  const named = (e) => e.getAttribute("aria-label") || e.textContent.trim() ||
    [...(e.labels ?? [])].some((label) => label.textContent.trim());
  const controls = [...document.querySelectorAll("button, input, select, [role=slider]")];
  return controls.filter((e) => !named(e)).map((e) => e.id);
}"""
CONTRASTS = """() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const back = getComputedStyle(e).backgroundColor;
      if (back !== "rgba(0, 0, 0, 0)") return back;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = "h1, header p, legend, label, dt, dd, summary, code, .key, .chips button";
  return [...document.querySelectorAll(texts)].filter((e) => e.checkVisibility() && !e.closest(".off")).map((e) => {
    const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
    return { text: e.textContent.trim().slice(0, 30), ratio: (a + 0.05) / (b + 0.05) };
  });
}"""


def test_the_python_has_three_lines(play):
    page = play("n=30&tails=regression&k=7&on=-2,0.5&f=gelu(x)")
    assert len(page.text_content("#python").strip().splitlines()) == 3


def test_the_drawing_is_saved_as_svg_with_its_own_colours(play, tmp_path):
    page = play("n=5&f=gelu(x)")
    with page.expect_download() as waiting:
        page.click("#save-svg")
    assert waiting.value.suggested_filename == "activation.svg"
    waiting.value.save_as(tmp_path / "a.svg")
    tree = ElementTree.parse(tmp_path / "a.svg").getroot()  # well formed
    text = (tmp_path / "a.svg").read_text()
    assert "var(--" not in text
    width, height = page.evaluate(
        "(() => { const b = document.getElementById('plot').viewBox.baseVal; return [b.width, b.height] })()"
    )
    assert (float(tree.get("width")), float(tree.get("height"))) == (width, height)
    alone = page.context.new_page()
    alone.goto((tmp_path / "a.svg").as_uri())
    stroke = alone.evaluate("[...document.querySelectorAll('path')].map(p => getComputedStyle(p).stroke)")
    shown = page.evaluate("getComputedStyle(document.querySelector('path.curve')).stroke")
    assert shown in stroke


def test_the_drawing_is_saved_as_png_of_twice_the_size(play, tmp_path):
    from PIL import Image

    page = play("n=5&f=gelu(x)")
    with page.expect_download() as waiting:
        page.click("#save-png")
    waiting.value.save_as(tmp_path / "a.png")
    image = Image.open(tmp_path / "a.png").convert("RGB")
    box = page.evaluate(
        "(() => { const b = document.getElementById('plot').viewBox.baseVal; return [b.width, b.height] })()"
    )
    assert list(image.size) == [2 * size for size in box]
    curve = page.evaluate("getComputedStyle(document.querySelector('path.curve')).stroke")
    wanted = tuple(int(part) for part in re.findall(r"\d+", curve)[:3])
    assert wanted in {colour for _, colour in image.getcolors(maxcolors=10**6)}


def test_the_degree_box_says_its_limit(play):
    page = play("n=3&f=x")
    assert page.text_content("#degree-limit") == "1 to 30"
    page.fill("#degree-number", "31")
    assert page.text_content("#said") == "Degree must be an integer from 1 to 30, got 31."
    assert "degree=3" in page.text_content("#python")


@pytest.mark.parametrize("word", ["k", "basis functions φ", "bound for these nodes", "equation (1) as printed"])
def test_words_of_the_panel_are_explained(play, word):
    tips = play().eval_on_selector_all("abbr", "all => all.map(each => [each.textContent, each.title])")
    assert len(dict(tips)[word]) > 20
