"""The examples run, in a small form, and give the numbers and the picture that they promise."""

import importlib.util
import math
import re
import sys
from pathlib import Path

import pytest
import torch
from support.bfloat16 import DIES, posix
from support.sealed import need_seal

FOLDER = Path(__file__).resolve().parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_gpt_trains_both_ways_on_python_s_own_help(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    check_curves(load("gpt").main(["--steps", "3", "--picture", str(tmp_path / "gpt.png")]))
    assert (tmp_path / "gpt.png").stat().st_size > 10_000


def check_curves(curves):
    assert len(curves) == 2
    for curve in curves.values():
        assert [row[0] for row in curve] == [1, 2, 3]
        assert 0 < curve[0][1] < curve[2][1]
        assert curve[-1][2] < curve[0][2] < 6


def test_the_gpt_trains_with_products_in_bfloat16_where_the_machine_can(bfloat16_products):
    curves = load("gpt").main(["--steps", "3", "--bf16"])
    check_curves(curves)
    wide = load("gpt").main(["--steps", "3"])
    for name, curve in curves.items():
        assert curve[-1][2] != wide[name][-1][2]
        assert curve[-1][2] == pytest.approx(wide[name][-1][2], rel=0.01)


@posix
def test_the_gpt_says_what_to_do_where_products_in_bfloat16_kill_the_process(monkeypatch, capsys):
    gpt = load("gpt")
    monkeypatch.setattr(gpt.bfloat16, "PROGRAM", DIES)
    with pytest.raises(SystemExit):
        gpt.main(["--steps", "3", "--bf16"])
    assert "--bf16: torch's products in bfloat16 kill the process on this processor: " in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")  # of torch's compiler
@pytest.mark.parametrize("more", [(), ("--bf16",)], ids=["float32", "bfloat16"])
def test_the_compiled_gpt_has_the_losses_of_the_eager_one(more, request):
    if more:
        request.getfixturevalue("bfloat16_products")
    gpt = load("gpt")
    torch.compiler.reset()
    compiled, eager = gpt.main(["--steps", "3", "--compile", *more]), gpt.main(["--steps", "3", *more])
    torch.compiler.reset()
    check_curves(compiled)
    for name, curve in compiled.items():
        assert curve[-1][2] == pytest.approx(eager[name][-1][2], rel=0.01 if more else 1e-4)


NUMBERS = {
    "gpt": {"steps": 1, "seed": 0},
    "pde": {"adam": 1, "lbfgs": 1, "points": 1, "seed": 0},
    "residual_digits": {"epochs": 1, "seeds": 1, "points": 50},
}
"""The numbers that each example takes, and the least of each."""


def refuse(name, words, capsys):
    """What an example says to odd options; it must not train first, which would print."""
    if name == "residual_digits":
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    with pytest.raises(SystemExit) as caught:
        load(name).main(words)
    assert caught.value.code == 2
    said = capsys.readouterr()
    assert not said.out
    return said.err


@pytest.mark.parametrize(("name", "option"), [(name, option) for name in NUMBERS for option in NUMBERS[name]])
def test_examples_refuse_odd_numbers_before_they_train(name, option, capsys):
    least = NUMBERS[name][option]
    for value in (least - 1, 2**63):
        said = refuse(name, [f"--{option}={value}"], capsys)
        assert f"--{option} must be at least {least} and below 2^63, got {value}" in said


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("picture", ["", ".", "here.png", "no/such/folder/a.png", "picture", "picture.xyz"])
def test_examples_refuse_odd_pictures_before_they_train(name, picture, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.png").mkdir()
    said = refuse(name, ["--picture", picture], capsys)
    assert f"--picture must be a .png, .svg or .pdf file in a folder that exists, got {picture!r}" in said


@pytest.mark.parametrize("name", NUMBERS)
def test_the_help_of_an_example_says_what_each_option_is_and_its_default(name, capsys):
    if name == "residual_digits":
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    with pytest.raises(SystemExit):
        load(name).main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for option, least in NUMBERS[name].items():
        assert re.search(rf"--{option} {option.upper()} \w[^(]* at least {least} \(default: \d+\)", shown)
    assert "--picture FILE draw the results: a .png, .svg or .pdf file" in shown


def test_losses_at_equal_time_lie_on_the_line_between_two_tests():
    curves = {"fast": [(1, 1.0, 3.0), (2, 2.0, 2.0)], "slow": [(1, 1.0, 4.0), (2, 5.0, 2.0)]}
    assert load("gpt").losses_at_equal_time(curves) == (2.0, {"fast": 2.0, "slow": 3.5})


def test_the_residual_network_gets_learned_curves_and_its_heights_are_trained(tmp_path):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    small = ["--epochs", "1", "--seeds", "1", "--points", "200"]
    scores = load("residual_digits").main([*small, "--picture", str(tmp_path / "digits.png")])
    assert len(scores) == 6
    assert all(0 <= value <= 100 for values in scores.values() for value in values)
    assert (tmp_path / "digits.png").stat().st_size > 10_000


def test_both_equations_are_solved_with_every_activation(tmp_path):
    small = ["--adam", "3", "--lbfgs", "2", "--points", "40"]
    results = load("pde").main([*small, "--picture", str(tmp_path / "pde.png")])
    assert set(results) == {"Poisson", "Burgers"}
    assert all(math.isfinite(row["error"]) for found in results.values() for row in found.values())
    assert (tmp_path / "pde.png").stat().st_size > 10_000


def test_the_exact_solution_of_burgers_solves_burgers_by_finite_differences():
    problem, step = load("pde").Burgers(), 1e-3
    x, t = torch.linspace(-0.7, -0.2, 6, dtype=torch.float64), torch.full((6,), 0.4, dtype=torch.float64)
    u, right, left = (problem.exact(x + shift, t) for shift in (0, step, -step))
    later, earlier = (problem.exact(x, t + shift) for shift in (step, -step))
    slope, bend = (right - left) / (2 * step), (right - 2 * u + left) / step**2
    residual = (later - earlier) / (2 * step) + u * slope - load("pde").NU * bend
    assert residual.abs().max() < 1e-3


def test_a_server_that_sees_ciphertexts_alone_gives_the_decisions_of_the_network(tmp_path, monkeypatch):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    need_seal()
    monkeypatch.syspath_prepend(str(FOLDER / "private"))
    client, sent = load("private/client"), []
    write = client.write_frame
    monkeypatch.setattr(client, "write_frame", lambda stream, content: (sent.append(content), write(stream, content)))
    monkeypatch.setitem(sys.modules, "client", client)
    small = ["--data", "wine", "--rows", "8", "--picture", str(tmp_path / "private.png")]
    found = load("private/demo").main(small)
    assert (found["same"], len(found["decrypted"])) == (8, 8)
    assert found["error"] < 1e-3
    keys, *messages = sent  # all that goes to the process of the server
    secret = found["remote"].client
    assert secret._scheme.to_bytes(secret._secret_key)[-2000:] not in keys
    assert len(messages) == 3
    rows = found["rows"].numpy()
    assert not any(number.tobytes() in message for message in messages for number in rows[:, 0])
    assert (tmp_path / "private.png").stat().st_size > 10_000


def test_every_example_has_its_picture():
    assert (FOLDER / "private" / "demo.png").stat().st_size > 10_000
    for path in FOLDER.glob("*.py"):
        assert path.with_suffix(".png").stat().st_size > 10_000
