# ruff: noqa: PT009  (assertEqual of torch's TestCase compares tensors)
"""The ModuleInfo tests that torch runs on its own modules, driven from outside over every activation here.

The entries are torch's ModuleInfo, the parametrising and the TestCase are torch's, and the bodies follow torch's own
test/test_modules.py, which is not shipped. There is no list of expected failures.
"""

import copy
import inspect
import pickle
from functools import partial
from itertools import chain

import pytest
import torch
from support.truth import torch_activation, torch_chebyshev_sum

import chebact

pytest.importorskip("expecttest", reason="torch.testing._internal needs expecttest")

from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_modules import FunctionInput, ModuleInfo, ModuleInput, TrainEvalMode, modules
from torch.testing._internal.common_utils import (
    TestCase,
    freeze_rng_state,
    gradcheck,
    gradgradcheck,
    noncontiguous_like,
)

REAL = (torch.float32, torch.float64)
SHAPES = {"": (4, 3), "no batch": (3,), "2d": (2, 3, 4, 2), "3d": (2, 3, 2, 3, 2)}
CHOICES = {
    chebact.ChebyshevLagrange: [
        {"init": "tanh"}, {"init": "gelu", "degree": 6}, {"init": "silu", "tails": "regression", "regression_nodes": 3},
        {"init": "sigmoid", "tails": "none"}, {"init": "relu", "degree": 1, "interval": (-2.0, 1.0)},
        {"init": "tanh", "groups": 1},
    ],
    chebact.WeightedChebyshev: [{}, {"degree": 6}],
    chebact.PrototypeSimilarity: [{}],
    chebact.Cubic: [{}],
}  # fmt: skip


def plain_truth(choices, module, parameters, x):
    """What the module computes, by the plain torch of truth.py."""
    if isinstance(module, chebact.Cubic):
        return x**3
    moved = x.movedim(min(1, x.dim() - 1), -1).double()
    (own,) = (p.double() for p in parameters)
    if isinstance(module, chebact.ChebyshevLagrange):
        out = torch_activation(
            moved, own, **{k: v for k, v in choices.items() if k not in ("init", "groups", "degree")}
        )
    elif isinstance(module, chebact.WeightedChebyshev):
        out = torch_chebyshev_sum(moved, own)
    else:
        out = moved @ own.T / (moved.norm(dim=-1, keepdim=True) * own.norm(dim=-1) + 1e-8)
    return out.movedim(-1, min(1, x.dim() - 1)).to(x.dtype)


def inputs_of(cls, module_info, device, dtype, requires_grad, training, **kwargs):
    """One ModuleInput for every row of choices and every shape."""
    generator = torch.Generator().manual_seed(0)
    for choices in CHOICES[cls]:
        for description, shape in SHAPES.items():
            x = torch.randn(shape, dtype=dtype, generator=generator).to(device).requires_grad_(requires_grad)
            own = () if cls is chebact.Cubic else (3,)
            yield ModuleInput(
                FunctionInput(*own, **choices),
                FunctionInput(x),
                desc=description,
                reference_fn=partial(plain_truth, choices),
            )


def entry(cls):
    return ModuleInfo(cls, module_inputs_func=partial(inputs_of, cls), dtypes=REAL)


PUBLIC = [
    value
    for name, value in sorted(vars(chebact).items())
    if inspect.isclass(value) and issubclass(value, torch.nn.Module) and value is not chebact.FoldedActivation
]  # `fold_` makes a FoldedActivation of a learned one: tests/export
MODULES = [entry(cls) for cls in PUBLIC]


def test_every_public_module_has_an_entry():
    assert set(PUBLIC) == set(CHOICES)


class TestModules(TestCase):
    """Bodies after torch's test/test_modules.py."""

    def each(self, module_info, device, dtype, training, requires_grad=False):
        """Every module with its input, off its starting values."""
        given = module_info.module_inputs_func(
            module_info, device=device, dtype=dtype, requires_grad=requires_grad, training=training
        )
        for module_input in given:
            args, kwargs = module_input.constructor_input.args, module_input.constructor_input.kwargs
            own = {"device": device, "dtype": dtype} if module_info.module_cls is not chebact.Cubic else {}
            module = module_info.module_cls(*args, **kwargs, **own).train(training)
            with torch.no_grad():
                for k, p in enumerate(module.parameters()):
                    p.add_(torch.linspace(-0.5, 0.7, p.numel(), dtype=dtype).reshape(p.shape) * (k + 1))
            yield module_input, module, module_input.forward_input.args[0]

    @modules(MODULES)
    def test_forward(self, device, dtype, module_info, training):
        for module_input, module, x in self.each(module_info, device, dtype, training):
            with freeze_rng_state():
                out = module(x)
                wanted = module_input.reference_fn(module, x)
            self.assertEqual(out, wanted, atol=2e-5 if dtype == torch.float32 else 1e-11, rtol=1e-5)

    @modules(MODULES, train_eval_mode=TrainEvalMode.train_only)
    def test_factory_kwargs(self, device, dtype, module_info, training):
        for cls_input, _, _ in self.each(module_info, device, dtype, training):
            if module_info.module_cls is chebact.Cubic:
                continue
            args, kwargs = cls_input.constructor_input.args, cls_input.constructor_input.kwargs
            for where, kind in ((device, dtype), ("meta", dtype), ("cpu", torch.float16), ("cpu", torch.bfloat16)):
                module = module_info.module_cls(*args, **kwargs, device=where, dtype=kind)
                for p in chain(module.parameters(), module.buffers()):
                    self.assertEqual((p.device.type, p.dtype), (torch.device(where).type, kind))
            with torch.device("meta"):
                self.assertTrue(all(p.is_meta for p in module_info.module_cls(*args, **kwargs).parameters()))
            started = module_info.module_cls(*args, **kwargs, device="meta").to_empty(device=device)
            started.reset_parameters()
            self.assertTrue(all(bool(p.isfinite().all()) for p in started.parameters()))

    @modules(MODULES, train_eval_mode=TrainEvalMode.train_only)
    def test_repr(self, device, dtype, module_info, training):
        for _, module, _ in self.each(module_info, device, dtype, training):
            self.assertIn(module_info.module_cls.__name__, repr(module))
            str(module)

    @modules(MODULES)
    def test_pickle(self, device, dtype, module_info, training):
        for _, module, x in self.each(module_info, device, dtype, training):
            self.assertEqual(pickle.loads(pickle.dumps(module))(x), module(x), exact_device=True, atol=0, rtol=0)

    @modules(MODULES)
    def test_deepcopy_and_to(self, device, dtype, module_info, training):
        for _, module, x in self.each(module_info, device, dtype, training):
            out = module(x)
            twin = copy.deepcopy(module).to(torch.float64)
            self.assertTrue(all(p.dtype == torch.float64 for p in twin.parameters()))
            self.assertEqual(twin(x.double()), out.double(), atol=2e-5, rtol=1e-5)
            self.assertTrue(all(p.dtype == dtype for p in module.parameters()))
            moved = copy.deepcopy(module).to("meta")
            self.assertEqual(moved(x.to("meta")).shape, out.shape)

    @modules(MODULES)
    def test_non_contiguous_tensors(self, device, dtype, module_info, training):
        for _, module, x in self.each(module_info, device, dtype, training, requires_grad=True):
            results = []
            for place, layout in ((x, False), (noncontiguous_like(x), True)):
                leaf = place.detach().requires_grad_()
                self.assertEqual(leaf.is_contiguous(), not layout or leaf.numel() < 2)
                module.zero_grad()
                out = module(leaf)
                weight = torch.arange(out.numel(), dtype=dtype).reshape(out.shape)
                out.backward(noncontiguous_like(weight) if layout else weight)
                results.append((out.detach(), leaf.grad, [p.grad.clone() for p in module.parameters()]))
            self.assertEqual(*results)

    @modules(MODULES, train_eval_mode=TrainEvalMode.train_only)
    def test_memory_format(self, device, dtype, module_info, training):
        formats = {4: torch.channels_last, 5: torch.channels_last_3d}
        for _, module, x in self.each(module_info, device, dtype, training):
            if x.dim() in formats:
                wanted, out = module(x), module(x.to(memory_format=formats[x.dim()]))
                self.assertEqual(out, wanted)
                if not isinstance(module, chebact.PrototypeSimilarity):  # a matrix product lays out its own result
                    self.assertTrue(out.is_contiguous(memory_format=formats[x.dim()]))
                    self.assertTrue(wanted.is_contiguous())

    @modules(MODULES, train_eval_mode=TrainEvalMode.train_only)
    def test_check_inplace(self, device, dtype, module_info, training):
        if "inplace" not in inspect.signature(module_info.module_cls).parameters:
            return
        for _, module, x in self.each(module_info, device, dtype, training):
            wanted = module(x).detach()
            module.inplace = True
            with torch.no_grad():
                place = x.clone()
                version = place._version
                out = module(place)
            self.assertEqual(out.data_ptr(), place.data_ptr())
            self.assertEqual(out, wanted, atol=0, rtol=0)
            self.assertGreater(place._version, version)

    def check_gradients(self, check, module_info, device, dtype, training):
        for _, module, x in self.each(module_info, device, dtype, training, requires_grad=True):
            names, tensors = list(dict(module.named_parameters())), tuple(module.parameters())

            def call(place, *parameters, module=module, names=names):
                own = dict(zip(names, parameters, strict=True))
                return torch.func.functional_call(module, own, (place,))

            self.assertTrue(check(call, (x, *tensors), fast_mode=True))

    @modules(MODULES, allowed_dtypes=[torch.float64])
    def test_grad(self, device, dtype, module_info, training):
        self.check_gradients(partial(gradcheck, check_forward_ad=True), module_info, device, dtype, training)

    @modules(MODULES, allowed_dtypes=[torch.float64])
    def test_gradgrad(self, device, dtype, module_info, training):
        self.check_gradients(partial(gradgradcheck, check_fwd_over_rev=True), module_info, device, dtype, training)

    @modules(MODULES, allowed_dtypes=[torch.float32])
    def test_train_and_eval_do_not_differ(self, device, dtype, module_info, training):
        for _, module, x in self.each(module_info, device, dtype, training):
            self.assertEqual(module.train()(x), module.eval()(x), atol=0, rtol=0)


instantiate_device_type_tests(TestModules, globals(), only_for="cpu")
