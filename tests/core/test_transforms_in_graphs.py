"""torch.func inside torch.compile, lazy modules, strict export, torch.fx, and distributed tensors."""

import copy
import inspect
import os
import pickle

import pytest
import torch
from torch import nn

import chebact
from chebact import ChebyshevLagrange, WeightedChebyshev
from chebact.functional import chebyshev_lagrange

HEIGHTS = torch.randn(4, 4, generator=torch.Generator().manual_seed(1))
X = torch.randn(5, 4, generator=torch.Generator().manual_seed(2))
STEEP = torch.randn(4, 7, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
NODES = chebact.nodes(3, dtype=torch.float32).repeat(5, 1)


def total(x):
    return chebyshev_lagrange(x[None] if x.dim() == 1 else x, HEIGHTS).square().sum()


FUNCTIONS = {
    "grad": (torch.func.grad(total), X),
    "grad at nodes": (torch.func.grad(total), NODES),
    "vmap": (torch.func.vmap(lambda x: chebyshev_lagrange(x, HEIGHTS)), X),
    "vmap of grad": (torch.func.vmap(torch.func.grad(total)), X),
    "jvp": (lambda x: torch.func.jvp(lambda a: chebyshev_lagrange(a, HEIGHTS), (x,), (x.cos(),))[1], X),
    "jacrev": (torch.func.jacrev(lambda x: chebyshev_lagrange(x[None], HEIGHTS)), X[0]),
    "hessian": (torch.func.hessian(total), X[0]),
    "hessian of degree 6": (
        torch.func.hessian(lambda x: chebyshev_lagrange(x[None], STEEP).square().sum()),
        X[0].double(),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_transforms_inside_compile_agree_with_eager(name):
    torch.compiler.reset()
    function, x = FUNCTIONS[name]
    fast = torch.compile(function, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(fast(x), function(x), rtol=1e-5, atol=1e-5)


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # torch asks for it itself after a break of the graph
@pytest.mark.parametrize("kind", [ChebyshevLagrange, WeightedChebyshev])
@pytest.mark.parametrize("choices", [{}, {"groups": 2}])
def test_a_lazy_model_may_be_compiled_before_its_first_call(kind, choices):
    torch.compiler.reset()
    model = nn.Sequential(nn.Linear(8, 6), kind(**choices))
    x = torch.randn(3, 8)
    fast = torch.compile(model, backend="aot_eager")
    assert fast(x).shape == (3, 6)
    with torch.no_grad():
        model[1].learned.uniform_(-1, 1)
    torch.testing.assert_close(fast(x), model(x), rtol=1e-5, atol=1e-5)
    fast(x).sum().backward()
    assert bool(model[1].learned.grad.any())


@pytest.mark.parametrize("strict", [False, True])
def test_a_lazy_model_that_is_exported_says_to_call_it_first(strict):
    if strict and "reason" not in inspect.signature(torch.compiler.disable).parameters:
        pytest.skip("torch.compiler.disable shows a reason since torch 2.8; before, the error names learn_channels")
    model = nn.Sequential(nn.Linear(8, 6), ChebyshevLagrange())
    with pytest.raises(Exception, match=r"chebact\.materialize|uninitialized parameter"):
        torch.export.export(model, (torch.randn(3, 8),), strict=strict)


@pytest.mark.filterwarnings("ignore:.*get_attr")  # torch 2.6, of its own graph
@pytest.mark.parametrize("module", [ChebyshevLagrange(4, init="gelu"), ChebyshevLagrange(4, degree=6, groups=2)])
def test_strict_export_gives_the_eager_numbers_and_gradients(module):
    program = torch.export.export(nn.Sequential(module), (X,), strict=True).module()
    for x in (X.clone(), NODES.clone()):
        x.requires_grad_()
        torch.testing.assert_close(program(x), module(x), rtol=1e-5, atol=1e-5)
        slopes = [torch.autograd.grad(each(x).sum(), x)[0] for each in (program, module)]
        torch.testing.assert_close(*slopes, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "module", [ChebyshevLagrange(4, init="gelu"), ChebyshevLagrange(), ChebyshevLagrange(4, groups=2)]
)
def test_symbolic_trace_keeps_the_activation_as_one_call(module):
    model = nn.Sequential(nn.Linear(4, 4), copy.deepcopy(module))
    graph = torch.fx.symbolic_trace(model)
    assert [node.op for node in graph.graph.nodes] == ["placeholder", "call_module", "call_module", "output"]
    torch.testing.assert_close(graph(X), model(X), rtol=0, atol=0)
    function = torch.fx.symbolic_trace(lambda x: chebyshev_lagrange(x, HEIGHTS, tails="regression") + 1)
    torch.testing.assert_close(function(X), chebyshev_lagrange(X, HEIGHTS, tails="regression") + 1, rtol=0, atol=0)
    with pytest.raises(TypeError, match="a model that contains the activation"):
        torch.fx.symbolic_trace(ChebyshevLagrange(4))


@pytest.mark.filterwarnings("ignore:DTensor random operators")  # torch 2.6, at the first distributed tensor on a CPU
def test_distributed_tensors_get_one_sentence(monkeypatch, tmp_path):
    distributed = pytest.importorskip("torch.distributed")
    if not distributed.is_available():
        pytest.skip("torch was built without torch.distributed")
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh

    monkeypatch.setenv("GLOO_SOCKET_IFNAME", os.environ.get("GLOO_SOCKET_IFNAME", "lo"))
    store = distributed.FileStore(str(tmp_path / "store"), 1)
    distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        mesh = init_device_mesh("cpu", (1,))
        x = distribute_tensor(X, mesh, [Shard(0)])
        heights = distribute_tensor(HEIGHTS, mesh, [Replicate()])
        with pytest.raises(TypeError, match=r"got DTensor; work on the local part, x\.to_local\(\)"):
            chebyshev_lagrange(x, heights)
        torch.testing.assert_close(chebyshev_lagrange(x.to_local(), heights.to_local()), chebyshev_lagrange(X, HEIGHTS))
    finally:
        distributed.destroy_process_group()


@pytest.mark.parametrize("way", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
def test_lazy_modules_survive_copies_and_learn_their_width_each(way):
    lazy = nn.Sequential(nn.Linear(8, 4), ChebyshevLagrange(init="gelu"))
    twin = way(lazy)
    assert twin(torch.zeros(2, 8)).shape == (2, 4)
    assert not lazy[1].is_materialized
    assert lazy(torch.zeros(2, 8)).shape == (2, 4)
