"""Devices without float64, such as Apple's MPS: the formula must come through without a single float64 tensor."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import chebact
from chebact import kernels, wide


class NoFloat64(TorchDispatchMode):
    """Stands for the device: whatever computes with float64 tensors fails as it would there."""

    def __torch_dispatch__(self, func, kinds, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        wide_one = any(isinstance(t, torch.Tensor) and t.dtype == torch.float64 for t in tree_leaves(out))
        moves = ("aten::lift_fresh", "aten::_to_copy", "aten::detach", "aten::alias")  # from NumPy, before the device
        if wide_one and func.name().split(".")[0] not in moves:
            raise RuntimeError(f"the device has no float64, but {func.name()} made such a tensor")
        return out


def made(degree, tails):
    """A layer and what goes into it: made on the CPU, where there is float64."""
    generator = torch.Generator().manual_seed(degree)
    layer = chebact.ChebyshevLagrange(3, degree=degree, tails=tails)
    with torch.no_grad():
        layer.heights.copy_(torch.randn(layer.heights.shape, generator=generator))
    return layer, (1.5 * torch.randn(64, 3, generator=generator)).requires_grad_()


def results(layer, x):
    """The layer's value and gradients, and the functions of values, in float32."""
    y = layer(x)
    gradients = torch.autograd.grad((y * x.detach().cos()).sum(), (x, layer.heights))
    there = chebact.coefficients_to_values(layer.heights)
    slopes = chebact.end_slopes(layer.heights) if layer.tails != "none" else ()
    return (y, *gradients, there, *slopes, chebact.values_to_coefficients(layer.heights))


@pytest.mark.parametrize("tails", ["extrapolate", "none"])
@pytest.mark.parametrize("degree", [3, 6])
def test_float32_alone_gives_what_float64_gives_but_for_its_last_digits(degree, tails, monkeypatch):
    layer, x = made(degree, tails)
    with kernels.use("reference"):
        wanted = results(layer, x)
        monkeypatch.setattr(wide, "WITHOUT_FLOAT64", frozenset(("cpu",)))
        with NoFloat64():
            got = results(layer, x)
    for here, there in zip(got, wanted, strict=True):
        assert here.dtype == torch.float32
        torch.testing.assert_close(here, there, rtol=1e-4, atol=1e-5 * there.abs().max().item())


def test_stand_in_for_such_a_device_notices_float64():
    layer, x = made(6, "extrapolate")
    with NoFloat64(), kernels.use("reference"), pytest.raises(RuntimeError, match="no float64"):
        results(layer, x)
