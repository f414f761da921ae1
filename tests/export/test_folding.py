"""fold_: the same outputs, a graph of few operations, and what onnxruntime makes of it."""

import copy
import warnings

import pytest
import torch
from support.onnx import onnx_session
from support.other_models import MODELS, drawn, filled
from torch import nn
from torch.nn.utils import parametrize, prune

import chebact
from chebact import ChebyshevLagrange, FoldedActivation, WeightedChebyshev
from chebact.lab.images.network import ShakeShakeResNet
from chebact.networks import ResidualMLP

CHOICES = [
    {},
    {"tails": "regression", "regression_nodes": 3},
    {"tails": "none"},
    {"degree": 1},
    {"degree": 7, "interval": (-2.0, 3.0)},
    {"degree": 12, "tails": "none"},
    {"degree": 30},
    {"interval": (0.5, 2.5)},
    {"channel_dim": -1},
    {"groups": 2},
    {"groups": 1},
    {"dtype": torch.float64},
]


@pytest.mark.parametrize("choices", CHOICES, ids=str)
def test_a_folded_activation_has_the_outputs_of_the_learned_one_eager_and_exported(choices):
    learned = filled(ChebyshevLagrange(4, **choices))
    folded = chebact.fold_(nn.Sequential(learned))[0]
    assert isinstance(folded, FoldedActivation)
    assert list(folded.parameters()) == []
    x = drawn(3, 4, 5, 4, seed=2).to(learned.heights.dtype) * 1.5
    x.view(-1)[:3] = torch.tensor([0.0, 1.0, -1.0])
    wanted = learned(x).detach()
    assert torch.equal(folded(x), wanted)
    with warnings.catch_warnings(action="ignore"):
        exported = torch.export.export(folded, (x,)).module()
    size = max(1.0, wanted.abs().max().item())
    eps = 1e-13 if x.dtype == torch.float64 else 3e-6
    torch.testing.assert_close(exported(x), wanted, rtol=0, atol=eps * size)


def test_weighted_polynomials_and_replicas_fold():
    for layer in (WeightedChebyshev(4, degree=5), ChebyshevLagrange(4, replicas=3)):
        x = drawn(3, 6, 4) if layer.replicas else drawn(6, 4)
        folded = chebact.fold_(filled(layer))
        torch.testing.assert_close(folded(x), layer(x).detach())
        exported = torch.export.export(folded, (x,)).module()
        torch.testing.assert_close(exported(x), layer(x).detach(), rtol=1e-4, atol=1e-4)


def test_half_precision_is_computed_in_float32_and_rounded_once():
    layer = filled(ChebyshevLagrange(4)).bfloat16()
    x = drawn(6, 4).bfloat16()
    exported = torch.export.export(chebact.fold_(layer), (x,)).module()
    torch.testing.assert_close(exported(x), layer(x).detach(), rtol=2**-7, atol=2**-7)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("degree", [3, 7])
def test_a_folded_model_of_another_type_exports_the_numbers_of_that_type(dtype, degree):
    layer = filled(ChebyshevLagrange(4, degree=degree))
    folded = chebact.fold_(copy.deepcopy(layer)).to(dtype)
    layer, x = layer.to(dtype), drawn(20, 4).to(dtype)
    wanted = layer.double()(x.double()).detach()  # of the heights as they are in that type
    exported = torch.export.export(folded, (x,)).module()
    rounding = 1e-12 if dtype == torch.float64 else torch.finfo(dtype).eps
    torch.testing.assert_close(exported(x).double(), wanted, rtol=0, atol=rounding * wanted.abs().max().item())
    assert all(torch.isfinite(value).all() for value in folded.state_dict().values())


def test_a_folded_model_goes_to_the_meta_device_and_back():
    layer = filled(ChebyshevLagrange(4))
    folded = chebact.fold_(layer)
    empty = copy.deepcopy(folded).to("meta").double()
    empty = empty.to_empty(device="cpu").float()
    empty.load_state_dict(folded.state_dict())
    x = drawn(6, 4)
    torch.testing.assert_close(torch.export.export(empty, (x,)).module()(x), layer(x).detach(), rtol=1e-5, atol=1e-5)


def test_fold_changes_the_model_in_place_one_module_at_two_places_stays_one_and_x_keeps_its_gradient():
    activation = filled(ChebyshevLagrange(4))
    model = nn.Sequential(nn.Linear(4, 4), activation, nn.Linear(4, 4), activation)
    before, x = copy.deepcopy(model), drawn(5, 4).requires_grad_()
    assert chebact.fold_(model) is model
    assert model[1] is model[3]
    (wanted,) = torch.autograd.grad(before(x).sum(), x)
    (got,) = torch.autograd.grad(model(x).sum(), x)
    torch.testing.assert_close(got, wanted)
    again = chebact.fold_(before)
    again.load_state_dict(model.state_dict())
    torch.testing.assert_close(again(x), model(x))


class Doubled(ChebyshevLagrange):
    def forward(self, x):
        return super().forward(2 * x)


def replaced():
    activation = ChebyshevLagrange(4)
    activation.forward = lambda x: x
    return activation


def test_what_folding_would_change_is_an_error_by_name_and_then_nothing_is_folded():
    pruned = ChebyshevLagrange(4)
    prune.l1_unstructured(pruned, "heights", amount=2)
    for odd, words in (
        (Doubled(4), "2 must have the forward method of chebact.*got that of Doubled"),
        (replaced(), "2 must have the forward method of chebact"),
        (pruned, r"2.heights must be a parameter.*prune.remove\(activation, 'heights'\)"),
    ):
        model = nn.Sequential(ChebyshevLagrange(4), nn.Linear(4, 4), odd)
        with pytest.raises(ValueError, match=words):
            chebact.fold_(model)
        assert type(model[0]) is ChebyshevLagrange
        assert model[2] is odd
    prune.remove(pruned, "heights")
    x = drawn(6, 4)
    assert torch.equal(chebact.fold_(copy.deepcopy(pruned))(x), pruned(x))


class Exponential(nn.Module):
    def forward(self, heights):
        return heights.exp()


def test_a_parametrized_activation_folds_to_the_outputs_of_torch_s_parametrization():
    learned = filled(ChebyshevLagrange(4))
    parametrize.register_parametrization(learned, "heights", Exponential())
    x = drawn(6, 4)
    assert torch.equal(chebact.fold_(nn.Sequential(learned))(x), learned(x))


def test_the_hooks_of_torch_stay_in_eager_mode_and_in_the_graph_and_their_handles_remove_them():
    model, x, seen = nn.Sequential(filled(ChebyshevLagrange(4))), drawn(6, 4), []
    plain = model(x).detach()
    handle = model[0].register_forward_hook(lambda module, inputs, output: output * 2)
    model[0].register_forward_hook(lambda module, inputs, named, output: output + 1, with_kwargs=True)
    model[0].register_forward_pre_hook(lambda module, inputs: (inputs[0] * 3,))
    wanted = model(x).detach()
    folded = chebact.fold_(copy.deepcopy(model))
    assert torch.equal(folded(x), wanted)
    torch.testing.assert_close(torch.export.export(folded, (x,)).module()(x), wanted, rtol=1e-5, atol=1e-5)
    model[0].register_full_backward_hook(lambda module, before, after: seen.append(before[0]))
    chebact.fold_(model)(x.clone().requires_grad_()).sum().backward()
    assert len(seen) == 1
    handle.remove()
    torch.testing.assert_close((model(x) - 1) * 2 + 1, wanted)
    assert not torch.equal(plain, wanted)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: chebact.fold_(nn.Linear(2, 2)), "model must have a learned activation, got none"),
        (lambda: chebact.fold_(nn.Sequential(ChebyshevLagrange())), "call chebact.materialize"),
        (lambda: chebact.fold_(3), r"model must be a torch.nn.Module, got 3 \(int\)"),
    ],
    ids=["none", "lazy", "no module"],
)
def test_what_cannot_be_folded_is_said(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def operated(name):
    torch.manual_seed(0)
    build, inputs, _ = MODELS[name]
    return chebact.replace_activations(build(), inputs).model, inputs


NETWORKS = {
    "synthetic": lambda: (ResidualMLP.from_table("cl-extrapolate", 3), (drawn(4, 3),)),
    "clinical": lambda: (
        ResidualMLP(66, 2, blocks=2, layers=2, last_activation=False, shortcut="mean", activation="cl-extrapolate"),
        (drawn(4, 66),),
    ),
    "images": lambda: (
        ShakeShakeResNet(3, activation="cl-extrapolate", widths=(4, 8, 8, 8), blocks=1),
        (drawn(4, 3, 16, 16),),
    ),
    "residual net": lambda: operated("residual net"),
    "transformer": lambda: operated("transformer, ReLU by function"),
    "U-Net": lambda: operated("U-Net with checkpointing"),
}


SLOW = ("synthetic", "residual net")  # "clinical" and "images" have their parts


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in NETWORKS]
)
def test_onnxruntime_with_a_dynamic_batch_computes_what_the_network_does(name, tmp_path):
    torch.manual_seed(0)
    network, inputs = NETWORKS[name]()
    for part in network.modules():
        if isinstance(part, ChebyshevLagrange):
            filled(part)
    network.eval()
    session = onnx_session(chebact.fold_(copy.deepcopy(network)), inputs, tmp_path / "network.onnx")
    for rows in (1, 4, 9):
        x = drawn(rows, *inputs[0].shape[1:], seed=rows)
        (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        wanted = network(x).detach()
        size = max(1.0, wanted.abs().max().item())
        torch.testing.assert_close(torch.from_numpy(got), wanted, rtol=0, atol=1e-5 * size)


@pytest.mark.parametrize("degree", [3, 5])
def test_without_tails_the_graph_is_gemm_add_and_mul_alone(degree, tmp_path):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    network = nn.Sequential(nn.Linear(3, 8), filled(ChebyshevLagrange(8, degree=degree, tails="none")), nn.Linear(8, 2))
    onnx_session(chebact.fold_(network), (drawn(4, 3),), tmp_path / "network.onnx")
    graph = onnx.load(str(tmp_path / "network.onnx")).graph
    assert {node.op_type for node in graph.node} == {"Gemm", "Add", "Mul"}
