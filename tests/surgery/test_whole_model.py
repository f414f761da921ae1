"""What people do with a whole model works as before the operation: compile, export, copies, pickles, a second time."""

import copy
import io
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support.other_models import MODELS, Bottleneck, ResidualNet, drawn
from torch import nn
from torch.nn import functional as F

import chebact


class Loop(nn.Module):
    """Several calls at one place, in a helper and in a comprehension, and one by the name of a function."""

    def __init__(self):
        super().__init__()
        self.layers, self.act = nn.ModuleList(nn.Linear(6, 6) for _ in range(3)), F.gelu

    def step(self, layer, x):
        return halved(layer(x)) + F.silu(x)

    def forward(self, x):
        for layer in self.layers:
            x = self.step(layer, x)
        parts = [torch.relu(layer(x)) for layer in self.layers[:2]]
        return self.act(self.layers[0](sum(parts)))


def halved(x):
    return F.relu(x) / 2


WHOLE = {**MODELS, "loops and helpers": (Loop, (drawn(5, 6),), 9)}
FULL = [name for name in WHOLE if "checkpointing" not in name]


def operated(name, **options):
    torch.manual_seed(0)
    build, inputs, count = WHOLE[name]
    done = chebact.replace_activations(build(), inputs, **options)
    assert (len(done.report.replaced), done.report.left) == (count, ())
    with torch.no_grad():
        for k, p in enumerate(done.model.parameters()):
            p.add_(0.01 * k)
    return done.model.eval(), inputs


@pytest.mark.parametrize("name", FULL)
def test_one_graph_holds_the_whole_model_in_training_too(name):
    model, inputs = operated(name)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    try:
        fast = torch.compile(model, fullgraph=True, backend="eager")
        for _ in range(2):
            torch.testing.assert_close(fast(*inputs), model(*inputs))
        fast(*inputs).square().mean().backward()
        got = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        model(*inputs).square().mean().backward()
        assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2
    finally:
        torch._dynamo.reset()
    for ours, theirs in zip(got, (p.grad for p in model.parameters()), strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", ["loops and helpers", "residual net", "bottleneck", "in place"])
def test_an_exported_program_computes_the_same(name, strict):
    model, inputs = operated(name)
    program = torch.export.export(model, tuple(x.clone() for x in inputs), strict=strict)
    torch.testing.assert_close(program.module()(*inputs), model(*inputs))


@pytest.mark.parametrize("name", ["loops and helpers", "residual net", "lists of modules"])
def test_copies_and_pickles_are_of_the_same_class_and_compute_the_same(name):
    model, inputs = operated(name)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), copy.deepcopy(copy.deepcopy(model))):
        assert type(other) is type(model)
        assert isinstance(other, WHOLE[name][0])
        assert torch.equal(other(*inputs), model(*inputs))


def test_a_pickle_is_read_in_a_new_process(tmp_path):
    torch.manual_seed(0)
    x = drawn(2, 16, 6, 6)
    model = chebact.replace_activations(Bottleneck(), x).model
    torch.save(model, tmp_path / "model.pt")
    torch.save((x, model(x.clone()).detach()), tmp_path / "pair.pt")
    code = (
        "import torch; model = torch.load('model.pt', weights_only=False); x, y = torch.load('pair.pt');"
        "torch.testing.assert_close(model(x), y); print(type(model).__name__, len(model.relu_2.heights))"
    )
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.split()) == (0, ["Bottleneck", "4"]), done.stderr


def test_a_pickle_says_when_the_source_of_the_model_is_another():
    module, name = sys.modules["chebact.surgery.rewriting"], "bottleneck"
    model, _ = operated(name)
    text, cache = pickle.dumps(model).replace(b"self.relu", b"self.norm"), module._class_of
    cache.cache_clear()
    with pytest.raises(ValueError, match=r"source of Bottleneck.forward must be as it was .* got self.relu in"):
        pickle.loads(text)


def test_a_model_is_operated_twice_and_each_time_pickled():
    first = chebact.replace_activations(ResidualNet(), drawn(2, 3, 8, 8), where="layer1.relu")
    second = chebact.replace_activations(first.model, drawn(2, 3, 8, 8))
    assert len(first.report.replaced) + len(second.report.replaced) == 5
    model = second.model.eval()
    x, buffer = drawn(2, 3, 8, 8), io.BytesIO()
    torch.save(model, buffer)
    again = torch.load(io.BytesIO(buffer.getvalue()), weights_only=False)
    assert torch.equal(again(x), model(x))


class Checked(nn.Module):
    """A part that torch's checkpoint computes twice, in a loop over blocks."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))

    def forward(self, x):
        for block in self.blocks:
            x = torch.utils.checkpoint.checkpoint(self.part, block, x, use_reentrant=False)
        return x

    def part(self, block, x):
        return F.relu(block(x))


def test_a_call_that_checkpoint_repeats_is_left_since_its_number_is_not_fixed():
    with pytest.raises(ValueError, match=r"relu\(\) \(ReLU\): it is called several times per pass, by a function"):
        chebact.replace_activations(Checked(), drawn(5, 6))


class Steps(nn.Module):
    """A loop over the steps of the input."""

    def __init__(self):
        super().__init__()
        self.line, self.out = nn.Linear(6, 6), nn.Linear(6, 2)

    def forward(self, x):
        state = x[:, 0] * 0
        for k in range(x.shape[1]):
            state = torch.relu(self.line(x[:, k] + state))
        return self.out(F.gelu(state))


@pytest.mark.parametrize("with_example", [False, True])
def test_a_loop_over_the_input_is_left_with_its_line(with_example):
    report = chebact.replace_activations(Steps(), drawn(2, 4, 6) if with_example else None).report
    assert {row.kind for row in report.replaced} <= {"GELU"}
    reasons = [row.reason for row in report.left if row.kind == "ReLU"]
    assert len(reasons) == 1
    assert "loop" in reasons[0]


class Parametrized(nn.Module):
    """Weights that are computed: torch's parametrizations, its older weight norm, and a low-rank addition."""

    def __init__(self):
        super().__init__()
        self.one = nn.utils.parametrizations.weight_norm(nn.Linear(6, 8))
        self.two = nn.utils.parametrizations.spectral_norm(nn.Linear(8, 8))
        self.low, self.high = nn.Linear(8, 2, bias=False), nn.Linear(2, 8, bias=False)

    def forward(self, x):
        h = F.relu(self.one(x))
        return F.gelu(self.two(h) + self.high(self.low(h)))


@pytest.mark.parametrize("with_example", [False, True])
def test_parametrized_layers_and_low_rank_additions_go_through(with_example):
    model, x = Parametrized().eval(), drawn(5, 6)
    done = chebact.replace_activations(model, x if with_example else None)
    assert [(row.name, row.channels) for row in done.report.replaced] == [("relu", 8), ("gelu", 8)]
    done.model(x).sum().backward()
    assert torch.nn.utils.parametrize.is_parametrized(done.model.one)


@pytest.mark.filterwarnings("ignore:.*torch.nn.utils.weight_norm.*:FutureWarning")
def test_tensors_with_a_history_in_a_model_are_copied_and_counted():
    model, x = nn.Sequential(nn.utils.weight_norm(nn.Linear(6, 8)), nn.ReLU()), drawn(5, 6)
    model(x)
    done = chebact.replace_activations(model, x, with_=lambda channels: nn.ReLU())
    assert torch.equal(done.model(x), model(x))
    assert any("without their history" in note for note in done.report.notes)


def test_a_compiled_part_is_left_and_the_rest_is_replaced():
    inner = torch.compile(nn.Sequential(nn.Linear(6, 6), nn.ReLU()), backend="eager")
    model = nn.Sequential(inner, nn.Linear(6, 4), nn.ReLU())
    report = chebact.replace_activations(model, drawn(5, 6)).report
    assert [row.name for row in report.replaced] == ["2"]
    assert [(row.name, row.kind) for row in report.left] == [("0", "OptimizedModule")]
