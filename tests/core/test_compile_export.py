"""torch.compile, torch.export, ONNX, opcheck, meta and fake tensors: the same numbers as eager, or shapes alone."""

import subprocess
import sys
import warnings

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import chebact
from chebact import compiled
from chebact.basis import Basis
from chebact.functional import chebyshev_lagrange

SHAPES = [(2, 4), (3, 4), (5, 4), (7, 4), (11, 4), (13, 4), (16, 4), (64, 4), (100, 4), (257, 4)]
LEARNED = [name for name in chebact.ACTIVATIONS if list(chebact.make_activation(name, 4).parameters())]


def choices_of(basis):
    """What the registered operators take in place of a basis."""
    kind = basis.tails if basis.parameters == "values" else "chebyshev"
    return kind, basis.regression_nodes, *basis.interval


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def drawn(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def filled(layer):
    """The layer with its parameters away from zero."""
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(drawn(*p.shape, seed=1))
    return layer


def compiled_with(function, backend="aot_eager"):
    counter = CompileCounterWithBackend(backend)
    return torch.compile(function, fullgraph=True, dynamic=True, backend=counter), counter


@pytest.mark.parametrize("name", chebact.ACTIVATIONS)
def test_ten_shapes_compile_at_most_twice_and_equal_eager_with_gradients(name):
    layer = filled(chebact.make_activation(name, 4))
    fast, counter = compiled_with(layer)
    for shape in SHAPES:
        results = []
        for call in (layer, fast):
            x = drawn(*shape).requires_grad_()
            layer.zero_grad()
            y = call(x)
            (y * drawn(*shape, seed=2)).sum().backward()
            results.append((y.detach(), x.grad, *(p.grad.clone() for p in layer.parameters())))
        torch.testing.assert_close(*results, rtol=1e-5, atol=1e-5)
    assert counter.frame_count <= 2


@pytest.mark.parametrize(
    "choices", [{}, {"tails": "regression"}, {"interval": (-2.0, 1.0), "channel_dim": -1}], ids=str
)
def test_the_function_itself_compiles_at_most_twice_over_ten_shapes(choices):
    values = drawn(4, 4, seed=1)
    fast, counter = compiled_with(lambda x, v: chebyshev_lagrange(x, v, **choices))
    for shape in SHAPES:
        x = drawn(*shape)
        torch.testing.assert_close(fast(x, values), chebyshev_lagrange(x, values, **choices))
    assert counter.frame_count <= 2


@pytest.mark.slow
def test_inductor_makes_the_same_numbers_as_eager():
    net = torch.nn.Sequential(torch.nn.Linear(4, 6), filled(chebact.ChebyshevLagrange(6)), torch.nn.Linear(6, 2))
    fast, counter = compiled_with(net, "inductor")
    for rows in (3, 8, 21):
        x = drawn(rows, 4)
        with warnings.catch_warnings(action="ignore"):  # of inductor about its own parts
            got = fast(x)
        torch.testing.assert_close(got, net(x), rtol=1e-5, atol=1e-5)
    assert counter.frame_count <= 2


LAYOUTS = {
    "transposed": lambda: drawn(4, 6).t(),
    "every other, transposed": lambda: drawn(8, 12)[::2, ::2].t(),
    "channels_last": lambda: drawn(2, 4, 3, 5).to(memory_format=torch.channels_last),
    "expanded": lambda: drawn(1, 4).expand(6, 4),
    "replicas inside": lambda: drawn(5, 3, 4).transpose(0, 1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_compiled_strides_and_values_are_eager_s(layout):
    x = LAYOUTS[layout]()
    replicated = "replicas" in layout
    values = drawn(3, 4, 4, seed=1) if replicated else drawn(4, 4, seed=1)
    layer = chebact.ChebyshevLagrange(4, replicas=3 if replicated else None)
    with torch.no_grad():
        layer.heights.copy_(values)
    got, wanted = compiled_with(layer)[0](x), layer(x)
    assert got.stride() == wanted.stride()
    assert torch.equal(got, wanted)


def test_forward_mode_inside_compiled_code_is_right_or_raises():
    values, x, t = drawn(4, 4, seed=1), drawn(5, 4), drawn(5, 4, seed=2)
    layer = chebact.ChebyshevLagrange(4)
    with torch.no_grad():
        layer.heights.copy_(values)
    wanted = torch.func.jvp(layer, (x,), (t,))
    try:
        got = torch.compile(lambda x, t: torch.func.jvp(layer, (x,), (t,)), fullgraph=True, backend="aot_eager")(x, t)
    except Exception as error:  # whatever torch raises is better than a zero
        pytest.skip(f"torch.compile says no: {type(error).__name__}")
    torch.testing.assert_close(got, wanted)


BASES = {
    "cubic": Basis(3),
    "barycentric": Basis(6),
    "regression": Basis(4, "regression", 3),
    "none": Basis(3, "none"),
    "weights": Basis(3, "none", parameters="coefficients"),
    "interval": Basis(3, interval=(0.0, 2.0)),
}


@pytest.mark.parametrize(("name", "x_shape"), [*((name, (5, 3)) for name in BASES), ("cubic", (0, 3))], ids=str)
def test_opcheck_of_torch_passes_for_both_operators(name, x_shape):
    basis = BASES[name]
    for needs in (False, True):
        x, values = drawn(*x_shape).requires_grad_(needs), drawn(3, basis.degree + 1).requires_grad_(needs)
        torch.library.opcheck(compiled.evaluate, (x, values, *choices_of(basis), 1, False))
    x, values = drawn(*x_shape), drawn(3, basis.degree + 1)
    torch.library.opcheck(compiled.gradients, (x, drawn(*x_shape, seed=1), values, *choices_of(basis), 1, False))


def test_opcheck_of_torch_passes_for_odd_strides_and_replicas():
    basis = Basis(3)
    for x, values, axis, replicated in (
        (drawn(3, 8)[:, ::2].t(), drawn(3, 4), 1, False),
        (drawn(2, 3, 4, 5).to(memory_format=torch.channels_last), drawn(3, 4), 1, False),
        (drawn(2, 5, 3), drawn(2, 3, 4), 2, True),
        (drawn(5, 2, 3).transpose(0, 1), drawn(2, 3, 4), 2, True),
        (drawn(5, 3).bfloat16(), drawn(3, 4), 1, False),
    ):
        torch.library.opcheck(compiled.evaluate, (x, values, *choices_of(basis), axis, replicated))
        torch.library.opcheck(compiled.gradients, (x, torch.ones_like(x), values, *choices_of(basis), axis, replicated))


@pytest.mark.filterwarnings("ignore:.*get_attr")  # torch 2.6, of its own graph
@pytest.mark.parametrize("degree", [2, 3, 5, 8])
@pytest.mark.parametrize("name", LEARNED)
def test_export_with_a_dynamic_batch_equals_eager_with_gradients(name, degree):
    layer = filled(chebact.make_activation(name, 4, degree))
    batch = torch.export.Dim("batch", min=1, max=1024)
    exported = torch.export.export(layer, (drawn(3, 4),), dynamic_shapes=({0: batch},)).module()
    for rows in (1, 3, 50):
        x = drawn(rows, 4)
        x[0, 0] = 0.0  # a node of every even degree
        torch.testing.assert_close(exported(x), layer(x), rtol=1e-5, atol=1e-6)
    grads = []
    for call in (layer, exported):
        x = torch.cat([torch.zeros(1, 4), torch.full((1, 4), 1.0), drawn(4, 4)]).requires_grad_()
        grads.append(torch.autograd.grad(call(x).sum(), x)[0])
    torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-5)


COMPOSED = ("pcs-cl", "tanh-cl")  # with "cl" behind another module: degree 6 of them is slow


@pytest.mark.parametrize(
    ("name", "degree"),
    [
        pytest.param(name, degree, marks=pytest.mark.slow if degree == 6 and name in COMPOSED else ())
        for name in LEARNED
        for degree in (3, 6)
    ],
)
def test_onnxruntime_computes_what_eager_does(name, degree, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    layer = filled(chebact.make_activation(name, 4, degree)).eval()
    path = str(tmp_path / "layer.onnx")
    with warnings.catch_warnings(action="ignore"):  # of the exporter about its own parts
        batch = torch.export.Dim("batch")
        torch.onnx.export(layer, (drawn(3, 4),), path, dynamo=True, dynamic_shapes=({0: batch},), verbose=False)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for rows in (1, 3, 40):
        x = drawn(rows, 4)
        (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        wanted = layer(x).detach()
        largest = max(1.0, wanted.abs().max().item())
        torch.testing.assert_close(torch.from_numpy(got), wanted, rtol=0, atol=1e-6 * largest)


def test_opcheck_of_torch_passes_for_values_that_are_not_contiguous():
    x, values, choices = drawn(5, 4), drawn(4, 4, seed=1).t(), choices_of(Basis(3))
    for some in (x, x[:0]):
        torch.library.opcheck(compiled.gradients, (some, torch.ones_like(some), values, *choices, 1, False))


@pytest.mark.parametrize("degree", [3, 5])
@pytest.mark.parametrize("grad", [True, False])
def test_traces_hold_the_formula(degree, grad):
    """A kernel writes to memory behind the back of a tracer, which would write down an empty tensor."""
    layer, x, other = filled(chebact.ChebyshevLagrange(4, degree=degree)), drawn(6, 4), drawn(6, 4, seed=1)
    with torch.set_grad_enabled(grad), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.testing.assert_close(torch.jit.trace(layer, (x,))(other), layer(other), rtol=1e-5, atol=1e-5)
    values = layer.heights.detach()
    for early in (False, True):
        graph = make_fx(lambda x: chebyshev_lagrange(x, values), pre_dispatch=early)(x)
        torch.testing.assert_close(graph(other), chebyshev_lagrange(other, values), rtol=1e-5, atol=1e-5)
    functional = torch.func.functionalize(lambda x: chebyshev_lagrange(x, values))
    torch.testing.assert_close(functional(other), chebyshev_lagrange(other, values), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", chebact.ACTIVATIONS)
def test_meta_and_fake_tensors_give_shapes_types_and_strides(name):
    with torch.device("meta"):
        layer = chebact.make_activation(name, 4)
        x = torch.empty(2, 4, 3, 5).to(memory_format=torch.channels_last)
    y = layer(x)
    assert (y.device.type, y.shape) == ("meta", x.shape)
    if name != "pcs-cl":  # its matrix product gives a layout of its own
        assert y.stride() == x.stride()
    with FakeTensorMode():
        layer = chebact.make_activation(name, 4)
        x = torch.empty(7, 4, dtype=torch.float32, requires_grad=True)
        y = layer(x)
        assert (y.shape, y.dtype) == (x.shape, x.dtype)
        y.sum().backward()
        assert all(p.grad.shape == p.shape for p in layer.parameters())


DEFAULT_DEVICE = """
import sys, torch, chebact
x = torch.linspace(-2, 2, 20).reshape(5, 4)
with chebact.kernels.use(sys.argv[1]):
    for degree in (2, 7):
        layer = chebact.ChebyshevLagrange(4, degree=degree, init="tanh")
        with torch.device("meta"):
            y = layer(x)
            y.sum().backward()
        again = chebact.ChebyshevLagrange(4, degree=degree, init="tanh")(x)
        assert y.device.type == layer.heights.grad.device.type == "cpu"
        assert torch.equal(y, again)
"""


def test_a_default_device_elsewhere_does_not_reach_into_the_kernels(kernel):
    done = subprocess.run([sys.executable, "-c", DEFAULT_DEVICE, kernel], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:] or f"the process died with {done.returncode}"
