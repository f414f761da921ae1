"""Outputs of every form are compared, and what layers are given on the way; where nothing was, the report says so."""

from collections.abc import MutableMapping
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch
from support.other_models import drawn
from torch import nn
from torch.distributions import Normal

import chebact
from chebact.copies import copy_tensors
from chebact.surgery.comparing import difference_between, is_same, tensors_in

X = drawn(5, 4)


class ReadsAgain(nn.Module):
    """It uses what an activation wrote into its input; `give` makes the output of the input and the result."""

    def __init__(self, give, inplace=True):
        super().__init__()
        self.a, self.act, self.b, self.give = nn.Linear(4, 8), nn.ReLU(inplace=inplace), nn.Linear(8, 2), give

    def forward(self, x):
        y = self.a(x["x"] if isinstance(x, dict) else x)
        z = self.act(y)
        return self.give(x, self.b(y + z))


class Slots:
    __slots__ = ("mean",)

    def __init__(self, mean):
        self.mean = mean


@dataclass
class Result:
    mean: torch.Tensor
    name: str = "result"


def write(batch, y):
    batch["y"] = y
    return batch


def loop(y):
    made = SimpleNamespace(mean=y)
    made.self, made.all = made, [made]
    return made


FORMS = {
    "the input dict": write,
    "a distribution": lambda x, y: Normal(y, 1.0),
    "a namespace that holds itself": lambda x, y: loop(y),
    "slots": lambda x, y: Slots(y),
    "a dataclass": lambda x, y: Result(y),
    "a sparse tensor": lambda x, y: y.to_sparse(),
    "a compressed tensor": lambda x, y: y.to_sparse_csr(),
    "imaginary": lambda x, y: torch.complex(torch.zeros_like(y), y),
}


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize("name", FORMS)
def test_an_output_of_any_form_shows_that_a_model_reads_what_was_written(name):
    example = ({"x": drawn(5, 4)},) if name == "the input dict" else X
    model = ReadsAgain(FORMS[name])
    same = chebact.replace_activations(model, example, with_=lambda channels: nn.ReLU()).model
    outputs = [each({"x": X} if name == "the input dict" else X) for each in (same, model)]
    assert is_same(*outputs)
    assert len(tensors_in(outputs[0])) > 0
    done = chebact.replace_activations(ReadsAgain(FORMS[name], inplace=False), example)
    assert done.report.output_difference > 0.01
    assert done.report.notes == ()
    assert name != "the input dict" or list(example[0]) == ["x"]


def test_a_report_says_that_an_output_holds_no_numbers():
    report = chebact.replace_activations(ReadsAgain(lambda x, y: str(y.shape), inplace=False), X).report
    assert report.notes == (
        "the output on the example (str) holds no numbers that surgery can read, so it was not compared",
    )
    assert str(report).endswith("not compared on an example")


class Branch(nn.Module):
    """A branch whose last layer starts at zero."""

    def __init__(self, inplace=True):
        super().__init__()
        self.a, self.act, self.b = nn.Linear(8, 8), nn.ReLU(inplace=inplace), nn.Linear(8, 8)
        nn.init.zeros_(self.b.weight)
        nn.init.zeros_(self.b.bias)

    def forward(self, x):
        y = self.a(x)
        z = self.act(y)
        return x + self.b(y - z)


def test_a_layer_that_starts_at_zero_does_not_hide_what_it_is_given():
    x = drawn(5, 8)
    for model in (Branch(), nn.Sequential(Branch(inplace=False), Branch())):
        same = chebact.replace_activations(model, x, with_=lambda channels: nn.ReLU()).model
        with torch.no_grad():
            for each in (model, same):
                for part in each.modules():
                    if isinstance(part, nn.Linear):
                        part.weight.fill_(0.1)
                        part.bias.copy_(torch.arange(8) / 8 - 0.5)
        assert torch.equal(same(x), model(x))
    hidden = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(8, 8))
    with pytest.raises(ValueError, match=r"wrote into its input, got inplace=True at branch.0 and an output that"):
        chebact.replace_activations(Hidden(hidden), x)


class Hidden(nn.Module):
    """What a child of torch's Sequential wrote is read again, behind a layer that starts at zero."""

    def __init__(self, branch):
        super().__init__()
        self.branch, self.last = branch, nn.Linear(8, 8)
        nn.init.zeros_(self.last.weight)

    def forward(self, x):
        x = x * 2
        return self.branch(x) + self.last(x)


class Adaptive(nn.Module):
    """Its inner calls depend on what it has seen: another number in every run."""

    def __init__(self):
        super().__init__()
        self.line, self.act, self.probe = nn.Linear(4, 4), nn.ReLU(), nn.Identity()
        self.runs = SimpleNamespace(count=0)  # which surgery does not put back

    def forward(self, x):
        self.runs.count += 1
        for _ in range(self.runs.count):
            self.probe(x * self.runs.count)
        return self.act(self.line(x))


def test_layers_that_differ_between_two_runs_of_the_model_itself_are_not_compared():
    assert len(chebact.replace_activations(Adaptive(), X).report.replaced) == 1


def test_the_imaginary_part_counts():
    one = torch.complex(torch.ones(2), torch.zeros(2))
    assert difference_between(one, one + 3j) == 3.0
    assert is_same(one, one * (1 + 1e-7))
    assert not is_same(one, one + 1e-3j)


def test_sparse_outputs_of_other_sizes_are_not_the_same():
    one, other = torch.tensor([1.0, 0.0]).to_sparse(), torch.tensor([1.0, 0.0, 0.0]).to_sparse()
    assert is_same(one, one.clone())
    assert not is_same(one, other)
    assert not is_same(one, one.to_dense())


def test_a_module_in_an_output_is_no_output():
    assert tensors_in(SimpleNamespace(model=nn.Linear(2, 2), kind=nn.Linear)) == []


def test_copies_keep_kinds_and_what_is_the_same_tensor_stays_the_same():
    pair = nn.utils.rnn.PackedSequence(X, torch.tensor([5]))
    given = {"x": X, "again": [X, (1, "a")], "result": Result(X), "packed": pair, "shape": X.shape}
    given["self"] = given
    copied = copy_tensors(given)
    assert copied["x"] is copied["again"][0] is copied["result"].mean
    assert copied["x"] is not X
    assert (type(copied["result"]), type(copied["packed"]), copied["self"]) == (Result, type(pair), copied)
    assert copied["again"][1] is given["again"][1]
    assert copied["shape"] is given["shape"]
    assert torch.equal(copied["packed"].data, X)


class Foreign(MutableMapping):
    """A dict of a kind of its own, whose shallow copy shares what it holds."""

    def __init__(self, held):
        self.held = held

    def __getitem__(self, key):
        return self.held[key]

    def __setitem__(self, key, value):
        self.held[key] = value

    def __delitem__(self, key):
        del self.held[key]

    def __iter__(self):
        return iter(self.held)

    def __len__(self):
        return len(self.held)


def test_objects_of_other_kinds_are_passed_on_as_they_are():
    given = (Foreign({"x": X}), SimpleNamespace(x=X), nn.Linear(2, 2))
    assert copy_tensors(given) is given
    assert given[0]["x"] is X
