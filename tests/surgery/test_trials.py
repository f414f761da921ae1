"""What the runs of surgery leave alone: example, weights, buffers; on which device and in which mode they run."""

import pytest
import torch
from support.other_models import drawn
from torch import nn
from torch.nn import functional as F

import chebact
from chebact.copies import copy_tensors
from chebact.surgery import trials

X = drawn(5, 4)


def relu(channels):
    return nn.ReLU()


class OfDict(nn.Module):
    def __init__(self):
        super().__init__()
        self.act, self.line = nn.LeakyReLU(0.5, inplace=True), nn.Linear(4, 2)

    def forward(self, d):
        return self.line(self.act(d["x"]))


class OfList(OfDict):
    def forward(self, d):
        return self.line(F.leaky_relu_(d[0], 0.5))


@pytest.mark.parametrize("build", [OfDict, OfList])
def test_tensors_inside_of_the_example_stay_as_they_were(build):
    x = drawn(5, 4)
    example = ({"x": x},) if build is OfDict else ([x],)
    model = build()
    done = chebact.replace_activations(model, example, with_=lambda channels: nn.LeakyReLU(0.5))
    assert torch.equal(x, X)
    assert torch.equal(done.model(*copy_tensors(example)), model(*copy_tensors(example)))


class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 1)

    def forward(self, x):
        x = F.relu(self.a(x))
        return [x, self.b(x)]


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.act, self.out = Features(), nn.ReLU(inplace=True), nn.Conv2d(16, 1, 1)

    def forward(self, x):
        a, b = self.features(x)
        return self.out(torch.cat([a, self.act(b)], 1))


def test_a_layer_that_writes_into_a_list_of_outputs_leaves_what_was_seen_before_it():
    report = chebact.replace_activations(Decoder(), drawn(2, 3, 4, 4)).report
    assert ([row.name for row in report.replaced], report.left) == (["features.relu", "act"], ())


WRITES = {
    "copy_": lambda p, x: p.copy_(-x.mean(0)),
    "data.copy_": lambda p, x: p.data.copy_(-x.mean(0)),
    "data": lambda p, x: setattr(p, "data", -x.mean(0)),
}


class ActNorm(nn.Module):
    def __init__(self, write):
        super().__init__()
        self.loc, self.write = nn.Parameter(torch.zeros(4)), write
        self.register_buffer("init", torch.zeros(()))

    def forward(self, x):
        if self.training and not self.init:
            with torch.no_grad():
                self.write(self.loc, x)
                self.init.fill_(1)
        return x + self.loc


class Flow(nn.Module):
    def __init__(self, write):
        super().__init__()
        self.norm, self.line = ActNorm(write), nn.Linear(4, 4)

    def forward(self, x):
        return F.relu(self.line(self.norm(x)))


@pytest.mark.parametrize("name", WRITES)
def test_parameters_that_forward_writes_stay_as_they_were(name):
    model = Flow(WRITES[name])
    place = model.norm.loc.data_ptr()
    done = chebact.replace_activations(model, X)
    assert len(done.report.replaced) == 1
    for each in (model, done.model):
        assert torch.equal(each.norm.loc, torch.zeros(4))
        assert float(each.norm.init) == 0.0
    assert model.norm.loc.data_ptr() == place


class Writing(nn.Module):
    def __init__(self):
        super().__init__()
        self.small, self.large = nn.Parameter(torch.zeros(4)), nn.Parameter(torch.zeros(4, 4))

    def forward(self, x):
        with torch.no_grad():
            self.small.add_(1)
            self.large.fill_(1)
        return F.relu(F.linear(x, self.large, self.small))


def test_a_written_parameter_that_is_too_large_to_be_copied_is_named(monkeypatch):
    monkeypatch.setattr(trials, "AFFORDABLE", 32)
    model = Writing()
    with pytest.warns(UserWarning, match="too large to be copied, got large written by its forward"):
        chebact.replace_activations(model, X)
    assert model.small.sum() == 0


class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.act = nn.Linear(4, 4), nn.ReLU()
        self.register_buffer("adjacency", torch.eye(5).to_sparse())

    def forward(self, x):
        self.adjacency.mul_(2)
        return self.act(self.adjacency @ self.line(x))


def test_sparse_buffers_stay_as_they_were():
    model = Graph()
    chebact.replace_activations(model, X)
    assert torch.equal(model.adjacency.to_dense(), torch.eye(5))


def test_models_on_the_meta_device_are_taken_with_an_example():
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 1))
    done = chebact.replace_activations(model, X.to("meta"))
    assert done.model[1].heights.is_meta
    assert str(done).endswith("1 replaced, 0 left; not compared on an example")
    (note,) = done.report.notes
    assert "holds no numbers" in note


@pytest.mark.parametrize("with_example", [False, True], ids=["by neighbours", "by example"])
def test_the_device_that_a_caller_chose_for_new_tensors_does_not_matter(with_example):
    model = nn.Sequential(nn.Linear(4, 300), nn.ReLU(), nn.Linear(300, 1), nn.Softplus())
    x = drawn(20, 4) if with_example else None
    options = {"kinds": (nn.ReLU, nn.Softplus), "interval": "fit" if with_example else (-1.0, 1.0)}
    wanted = chebact.replace_activations(model, x, **options)
    with torch.device("meta"):
        done = chebact.replace_activations(model, x, **options)
    assert done.report == wanted.report
    assert torch.equal(done.model(X), wanted.model(X))


class ForceField(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 1))

    def forward(self, pos):
        pos.requires_grad_(True)
        energy = self.net(pos)
        return energy, -torch.autograd.grad(energy.sum(), pos, create_graph=True)[0]


def test_a_model_that_derives_in_forward_is_run_with_derivatives():
    model = ForceField()
    done = chebact.replace_activations(model, X, degree=5)
    assert [(row.name, row.calls) for row in done.report.replaced] == [("net.1", 1)]
    pairs = zip(done.model(X.clone()), model(X.clone()), strict=True)
    wanted = max((a - b).abs().max().item() for a, b in pairs)
    assert done.report.output_difference == pytest.approx(wanted, rel=1e-5)
    assert not X.requires_grad
    chebact.materialize(done.model, X)


class Applies(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(x)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("with_example", [False, True], ids=["by neighbours", "by example"])
def test_the_heights_have_the_type_of_the_input_or_of_the_model(dtype, with_example):
    model = nn.Sequential(nn.Linear(4, 4), Applies(), nn.ReLU(), nn.Linear(4, 1)).to(dtype)
    operated = chebact.replace_activations(model, X.to(dtype) if with_example else None).model
    assert operated[2].heights.dtype == dtype
    if with_example:
        assert operated[1].act.heights.dtype == dtype
    assert operated(X.to(dtype)).dtype == dtype


def test_the_heights_keep_the_type_of_the_weights_where_autocast_chose_that_of_the_input():
    class Autocast(Decoder):
        def forward(self, x):
            with torch.autocast("cpu", torch.bfloat16):
                return super().forward(x)

    operated = chebact.replace_activations(Autocast(), drawn(2, 3, 4, 4), kinds=(nn.ReLU,)).model
    assert operated.act.heights.dtype == torch.float32
