"""`chebact play`: learned activations out of records and saved models, what is refused, and that data stay data."""

import html
import json
import os

import pytest
import torch
from support.playground import frames, module_of, open_playground
from torch import nn

import chebact
from chebact import ChebyshevLagrange, WeightedChebyshev
from chebact.lab.cli import run_command
from chebact.lab.play.page import render
from chebact.lab.play.saved_models import shapes_in_model
from chebact.lab.play.shapes import Shapes, shapes_in_record
from chebact.lab.spec import as_plain
from chebact.lab.store import Record, write_record
from chebact.lab.synthetic.spec import SyntheticSpec
from chebact.networks.residual_mlp import ResidualMLP

WORSE = "</script><img src=x onerror=alert(1)>{{ 7 * 7 }}&amp;'\"->/"


class Reader(nn.Module):
    """A class of a user's own, which a file may not bring along."""


@pytest.fixture
def network():
    model = ResidualMLP(3, activation="cl-regression", width=5, degree=4, generator=torch.Generator().manual_seed(1))
    for module in model.modules():
        if isinstance(module, ChebyshevLagrange):
            nn.init.normal_(module.heights, generator=torch.Generator().manual_seed(2))
    model(torch.ones(2, 3)).sum().backward()  # it was used: what that left in memory must not get into a file
    return model


def record(tmp_path, activations):
    spec = as_plain(SyntheticSpec("cl-extrapolate", "step", 0.01, seeds=1))
    results = {
        "seeds": [{"seed": 0, "rmse": None if activations is None else 0.1, "nan": activations is None}],
        "curve": {"epoch": [], "loss": []},
        "slice": [0.0, 1.0],
    }
    results |= {} if activations == "missing" else {"activations": activations}
    path = tmp_path / "cl-extrapolate-step.json"
    write_record(path, Record("synthetic", spec, results, {}, {}))
    return path


KEPT = {
    "degree": 3,
    "tails": "extrapolate",
    "regression_nodes": 2,
    "interval": [-1.0, 1.0],
    "layers": [
        {
            "layer": "blocks.0.0",
            "start": [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]],
            "values": [[0.5, 0.25, -0.125, 1.0], [0.1, 0.2, 0.3, 0.4]],
            "inputs": [
                {"low": -1.5, "high": 0.5, "counts": [1, 5, 3, 2], "outside": 0.25},
                {"low": -0.5, "high": 0.5, "counts": [2, 2], "outside": 0.0},
            ],
        }
    ],
}


def test_a_record_shows_its_layers_after_and_before_training(open_page, tmp_path, capsys):
    out = tmp_path / "play.html"
    path = record(tmp_path, KEPT)
    assert run_command(["play", "--record", str(path), "--output", str(out), "--no-open"]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    page = open_playground(open_page, out)
    assert page.inner_text("#source") == "cl-extrapolate-step.json"
    assert page.locator("#set option").all_inner_texts() == ["blocks.0.0", "blocks.0.0, before training"]
    assert module_of(page).heights.tolist() == [[0.5, 0.25, -0.125, 1.0]]
    assert page.inner_text("#outside") == "25 % of the inputs fall outside the interval."
    assert page.locator("path.inputs").first.get_attribute("d").count("M") == 4
    page.fill("#channel", "1")
    frames(page)
    assert module_of(page).heights.tolist() == [[0.1, 0.2, 0.3, 0.4]]
    assert module_of(page).heights.dtype == torch.float64
    page.select_option("#set", "1")
    frames(page)
    assert module_of(page).heights.tolist() == [[0.0, 0.0, 0.0, 0.0]]
    page.click("#undo")
    frames(page)
    assert module_of(page).heights.tolist() == [[0.1, 0.2, 0.3, 0.4]]
    assert (page.input_value("#set"), page.input_value("#channel")) == ("0", "1")
    page.locator('.handle[data-node="2"]').press("ArrowUp")
    frames(page)
    assert module_of(page).heights[0, 1].item() != 0.2
    page.click("#reset")
    frames(page)
    assert module_of(page).heights.tolist() == [[0.1, 0.2, 0.3, 0.4]]
    page.get_by_role("button", name="tanh", exact=True).click()
    frames(page)
    assert not page.locator("#outside").is_visible()


@pytest.mark.parametrize("form", ["state dict", "checkpoint", "model"])
def test_a_saved_model_shows_every_layer_and_channel(open_page, tmp_path, network, form):
    saved = {
        "state dict": network.state_dict(),
        "checkpoint": {"epoch": 3, "model": network.state_dict(), "optimizer": {"state": {}}},
        "model": network,
    }[form]
    path, out = tmp_path / "net.pt", tmp_path / "play.html"
    torch.save(saved, path)
    assert run_command(["play", "--model", str(path), "--output", str(out), "--no-open"]) == 0
    page = open_playground(open_page, out)
    prefix = "model." if form == "checkpoint" else ""
    layers = ["blocks.0.0", "blocks.1.0", "blocks.2.0", "last_activation"]
    assert page.locator("#set option").all_inner_texts() == [prefix + layer for layer in layers]
    page.select_option("#set", "2")
    page.fill("#channel", "4")
    frames(page)
    shown, wanted = module_of(page), network.blocks[2][0]
    assert shown.heights[0].equal(wanted.heights[4])
    assert shown.heights.dtype == torch.float32
    assert shown.tails == "regression"
    x = torch.linspace(-2, 2, 9)
    assert torch.allclose(shown(x), wanted(x[:, None].expand(-1, 5))[:, 4], atol=1e-6)
    page.fill("#channel", "5")  # there is none
    frames(page)
    assert module_of(page).heights[0].equal(wanted.heights[4])


def test_replicas_intervals_and_weights_of_polynomials(open_page, tmp_path):
    generator = torch.Generator().manual_seed(3)
    model = nn.ModuleDict(
        {
            "many": ChebyshevLagrange(2, replicas=3, degree=2, interval=(0.0, 4.0), tails="none"),
            "weighted": WeightedChebyshev(2, degree=3),
            "lazy": ChebyshevLagrange(),
        }
    )
    for name in ("many", "weighted"):
        nn.init.normal_(model[name].learned, generator=generator)
    torch.save(model, tmp_path / "model.pt")
    sets = shapes_in_model(tmp_path / "model.pt")
    assert [shapes.name for shapes in sets] == ["many", "weighted (weighted Chebyshev)"]
    (tmp_path / "play.html").write_text(render(sets, "model.pt"), encoding="utf-8")
    page = open_playground(open_page, tmp_path / "play.html")
    page.fill("#replica", "2")
    page.fill("#channel", "1")
    frames(page)
    shown = module_of(page)
    assert shown.heights[0].equal(model["many"].heights[2, 1])
    assert (shown.tails, shown.basis.interval) == ("none", (0.0, 4.0))
    page.select_option("#set", "1")
    frames(page)
    x = torch.linspace(-1.5, 1.5, 7, dtype=torch.float64)
    wanted = chebact.functional.weighted_chebyshev(x[:, None], model["weighted"].weights[1:2].double())[:, 0]
    assert torch.allclose(module_of(page).double()(x), wanted, atol=1e-6)


def test_a_very_large_model_shows_the_first_channels_and_says_so(tmp_path):
    torch.save({"a.values": torch.rand(150_000, 4), "b.values": torch.rand(5, 10, 4)}, tmp_path / "large.pt")
    large, small = shapes_in_model(tmp_path / "large.pt")
    assert large.name == f"a (the first {len(large.rows)} of 150000)"
    assert small.name == f"b (the first {len(small.rows)} of 50)"
    assert 390_000 < 4 * (len(large.rows) + len(small.rows)) <= 400_000


def test_names_are_text_whatever_they_hold(open_page, tmp_path):
    (tmp_path / "play.html").write_text(render([Shapes(WORSE, [[1.0, 2.0]])], WORSE), encoding="utf-8")
    page = open_playground(open_page, tmp_path / "play.html")  # and no error, no request, no dialogue
    assert page.inner_text("#source") == WORSE
    assert page.locator("#set option").inner_text() == WORSE
    assert page.title() == f"{WORSE} · chebact playground"
    assert page.locator("img").count() == 0
    assert json.loads(page.text_content("#data"))["sets"][0]["name"] == WORSE


def test_the_page_is_whole_and_small_and_asks_for_nothing():
    page = html.unescape(render())
    assert len(page.encode()) < 150_000
    assert "default-src 'none'" in page
    assert "unsafe" not in page
    assert not [word for word in ("eval(", "new Function", "innerHTML", "https://", "src=") if word in page]
    outside = page.replace("http://www.w3.org/2000/svg", "")
    assert "http://" not in outside


class Code:
    def __reduce__(self):
        return os.system, ("touch ran",)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"values": torch.zeros(3)}, "holds no learned activations"),
        ({"weight": torch.zeros(3, 4)}, "holds no learned activations"),
        ({"a.values": torch.full((2, 4), float("nan"))}, "holds no learned activations"),
        ({"a.values": torch.zeros(2, 300)}, "of degree above 100 only"),
        (Reader(), "Reader, which is not loaded because it could run anything: save `model.state_dict()`"),
        (Code(), "posix.system, which is not loaded"),
        (ChebyshevLagrange(2, init=torch.sin), "which is not loaded"),
    ],
)
def test_a_model_that_cannot_be_shown_gets_a_sentence(tmp_path, monkeypatch, capsys, content, said):
    monkeypatch.chdir(tmp_path)
    torch.save(content, "net.pt")
    assert run_command(["play", "--model", "net.pt", "--no-open"]) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert told.err.count("\n") == 1
    assert os.listdir() == ["net.pt"]


def test_a_file_that_is_no_model_gets_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, content in (("text.pt", b"hello"), ("empty.pt", b"")):
        (tmp_path / name).write_bytes(content)
        assert run_command(["play", "--model", name, "--no-open"]) == 2
        assert f"{name} is not a file that torch.save wrote" in capsys.readouterr().err
    assert run_command(["play", "--model", "missing.pt", "--no-open"]) == 2
    assert "cannot read missing.pt: No such file or directory" in capsys.readouterr().err
    assert run_command(["play", "--model", "text.pt", "--record", "empty.pt", "--no-open"]) == 2
    assert "name one of them" in capsys.readouterr().err
    assert run_command(["play", "--output", ".", "--no-open"]) == 2
    assert "it is a folder" in capsys.readouterr().err
    assert sorted(os.listdir()) == ["empty.pt", "text.pt"]


@pytest.mark.parametrize(
    ("activations", "said"), [("missing", "keeps no learned activations"), (None, "because that training turned NaN")]
)
def test_a_record_without_activations_gets_a_sentence(tmp_path, activations, said):
    with pytest.raises(chebact.lab.LabError, match=said):
        shapes_in_record(record(tmp_path, activations))


def test_the_browser_is_opened_unless_it_is_not_wanted(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    addresses = []
    monkeypatch.setattr("webbrowser.open", lambda address: addresses.append(address))
    assert run_command(["play"]) == 0
    assert addresses == [(tmp_path / "playground.html").as_uri()]
    assert "open that file" in capsys.readouterr().out  # the browser did not start
    assert run_command(["play", "--no-open"]) == 0
    assert len(addresses) == 1
