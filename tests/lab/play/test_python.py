"""The Python, the numbers and the addresses that the playground gives, in real Chromium."""

import re

import pytest
import torch
from support.playground import built, drag, go, module_of

SHOWN = """hash => {
  const state = chebact.state.fromHash(hash), basis = chebact.state.basisOf(state), [a, b] = state.interval;
  const x = Array.from({ length: 101 }, (_, i) => 1.5 * (a + (b - a) * i / 100));
  return { state, x, heights: x.map((at) => basis.value(state.values, at)) };
}"""


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


def test_the_python_has_three_lines(play):
    page = play("n=30&tails=regression&k=7&on=-2,0.5&f=gelu(x)")
    assert len(page.text_content("#python").strip().splitlines()) == 3
