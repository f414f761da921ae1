"""What a person does in the playground, in real Chromium: handles, keys, touch, controls, formulas."""

import math
import re

import numpy
import pytest
import torch
from support.browser import PHONE
from support.playground import assert_curve_is, centre, drag, drawn, frames, handle, handle_points, height, module_of

import chebact


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
