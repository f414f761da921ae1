"""Learned activations that stay one node of the graph: on constants, with a forward method of their own, in place."""

import pytest
import torch
from support.c_compiler import assert_c_agrees
from support.convolutional_networks import Forward
from support.other_models import drawn, filled
from torch import nn

import chebact
from chebact import ChebyshevLagrange
from chebact.export.reading import read_program


def of_a_parameter(**choices):
    return Forward(
        lambda own, x: own.line(x) * own.act(own.g) + own.act(own.b),
        line=nn.Linear(4, 4),
        act=filled(ChebyshevLagrange(4, **choices)),
        g=nn.Parameter(drawn(1, 4)),
        b=nn.Parameter(drawn(1, 4, seed=5)),
    )


def test_an_activation_of_a_parameter_is_computed(tmp_path):
    """Its result was the parameter itself."""
    assert_c_agrees(of_a_parameter(), drawn(3, 4).double(), tmp_path)


def test_a_folded_activation_of_a_parameter_is_computed_in_a_formula_too():
    network = of_a_parameter()
    with torch.no_grad():
        wanted = network(x := drawn(1, 4))
    outputs = chebact.to_sympy(chebact.fold_(network))
    values = {f"x{i}": number for i, number in enumerate(x[0].tolist())}
    got = torch.tensor([[float(output.subs(values)) for output in outputs]])
    torch.testing.assert_close(got, wanted)


def test_what_may_write_into_a_parameter_is_refused():
    with pytest.raises(ValueError, match=r"act \(ChebyshevLagrange\), which writes into a constant; export"):
        read_program(of_a_parameter(inplace=True))


class Doubled(ChebyshevLagrange):
    def forward(self, x):
        return 2 * super().forward(x)


class Squared(chebact.Cubic):
    def forward(self, x):
        return x * x


def replaced():
    activation = ChebyshevLagrange(4)
    activation.forward = lambda x: x
    return activation


@pytest.mark.parametrize("odd", [Doubled(4), Squared(), replaced()], ids=["class", "cubic", "instance"])
def test_a_forward_method_of_its_own_is_refused(odd):
    """The curve alone was written."""
    words = rf"1 must have the forward method of chebact to be written, got that of {type(odd).__name__}; make it"
    with pytest.raises(ValueError, match=words):
        read_program(nn.Sequential(nn.Linear(4, 4), odd))


ALIASES = {
    "dropout": lambda own, h: own.act(own.drop(h)) + h,
    "split": lambda own, h: torch.cat((own.part(h.chunk(2, 1)[0]), h), 1),
    "twice of one part": lambda own, h: (lambda parts: own.part(parts[0]) + parts[0])(h.chunk(2, 1)),
}


def in_place(function):
    layers = {"line": nn.Linear(4, 4), "drop": nn.Dropout(), "act": filled(ChebyshevLagrange(4, inplace=True))}
    layers["part"] = filled(ChebyshevLagrange(2, inplace=True))
    return Forward(lambda own, x: function(own, own.line(x)), **layers).eval()


@pytest.mark.parametrize("name", ALIASES)
def test_what_may_write_into_a_vector_that_is_read_elsewhere_is_refused(name):
    with pytest.raises(ValueError, match=r"\(ChebyshevLagrange\), which writes into a vector that is read elsewhere"):
        read_program(in_place(ALIASES[name]))


def test_another_part_of_a_split_is_another_vector():
    network = in_place(lambda own, h: (lambda parts: own.part(parts[0]) * parts[1])(h.chunk(2, 1)))
    assert read_program(network).steps[-1].kind == "multiply"
