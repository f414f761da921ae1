"""Models of timm and of transformers, from their own builders, before and after surgery."""

import copy
import importlib.util
import io
import pickle
import sys

import pytest
import torch
from support import without_torchvision
from support.library_models import FOUR, MAKERS, made, rows_like, run
from support.other_models import import_or_skip

import chebact
from chebact.learned import LearnedActivation

pytestmark = pytest.mark.filterwarnings("ignore")  # of those libraries about their own parts

LAST, CONVOLUTION = {-1}, {1}
WANTED = {  # how many activations, and the axes of those whose input has more than two
    "BERT": (2, LAST),
    "GPT-2": (2, LAST),
    "ViT": (2, LAST),
    "timm resnet10t": (11, CONVOLUTION),
    "timm convnext_atto": (12, CONVOLUTION),
    "timm densenet121": (121, CONVOLUTION),
    "timm efficientnet_b0": (49, CONVOLUTION),
    "timm eva02_tiny": (2, LAST),
    "timm levit_128s": (25, {1, -1}),
    "timm mambaout_femto": (20, {1, -1}),
    "timm mixer_s32": (16, LAST),
    "timm mobilenetv3_small": (33, CONVOLUTION),
    "timm regnetx_002": (40, CONVOLUTION),
    "timm swin_tiny": (4, LAST),
    "timm vit_tiny": (2, LAST),
    "BLOOM": (2, LAST),
    "CLIP": (4, LAST),
    "ConvNeXt": (4, LAST),
    "Llama": (2, LAST),
    "ModernBERT": (2, LAST),
    "T5": (4, LAST),
}


def operated(name, seed=0):
    model, example = made(FOUR[name], seed)
    return chebact.replace_activations(model, example).model, example


def gradients(model, example):
    """Those of all parameters, in training."""
    model.zero_grad()
    run(model, example).square().mean().backward()
    return {name: p.grad.clone() for name, p in model.named_parameters()}


@pytest.mark.parametrize("name", MAKERS)
def test_every_activation_is_replaced_at_its_axis_and_every_height_gets_a_gradient(name):
    model, example = made(MAKERS[name])
    done = chebact.replace_activations(model, example)
    count, axes = WANTED[name]
    assert (len(done.report.replaced), done.report.left) == (count, ())
    assert {row.channel_dim for row in done.report.replaced} == axes
    run(done.model, example).square().mean().backward()
    activations = [part for part in done.model.modules() if isinstance(part, LearnedActivation)]
    assert len(activations) == count
    assert all(part.heights.grad.abs().sum() > 0 for part in activations)
    assert set(model.state_dict()) <= set(done.model.state_dict())


@pytest.mark.parametrize("name", FOUR)
def test_the_state_goes_into_a_freshly_operated_model_and_copies_and_pickles_compute_the_same(name):
    model, example = operated(name)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.01)
    buffer = io.BytesIO()
    torch.save(model.state_dict(), buffer)
    fresh, _ = operated(name, seed=1)
    fresh.load_state_dict(torch.load(io.BytesIO(buffer.getvalue()), weights_only=True))
    for other in (fresh, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(run(other.eval(), example), run(model.eval(), example))


def first_of_four(*quick):
    """The four models; those that are not named are slow, since they go the same way as one that is."""
    marks = {name: () if name in quick else pytest.mark.slow for name in FOUR}
    return pytest.mark.parametrize("name", [pytest.param(name, marks=marks[name]) for name in FOUR])


def compare_compiled(name, backend):
    model, example = operated(name)
    torch.compiler.reset()
    try:
        fast = torch.compile(model, backend=backend)
        with torch.no_grad():
            results = [run(each.eval(), example) for each in (fast, model)]
        torch.testing.assert_close(*results, rtol=1e-4, atol=1e-5)
        got, wanted = (gradients(each.train(), example) for each in (fast, model))
    finally:
        torch.compiler.reset()
    assert len(got) == len(wanted)
    for ours, theirs in zip(got.values(), wanted.values(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-6)


@first_of_four("GPT-2")
def test_torch_compile_gives_the_same_output_and_the_same_gradients(name):
    compare_compiled(name, "aot_eager")


@pytest.mark.slow
def test_inductor_gives_the_same_output_and_the_same_gradients():
    compare_compiled("GPT-2", "inductor")


@first_of_four("BERT", "timm resnet10t")
def test_a_folded_model_computes_the_same_and_torch_exports_it(name):
    model, example = operated(name)
    folded = chebact.fold_(copy.deepcopy(model.eval()))
    wanted = run(model, example).detach()
    torch.testing.assert_close(run(folded, example), wanted, rtol=1e-6, atol=1e-6)
    args, kwargs = ((), example) if isinstance(example, dict) else ((example,), {})
    exported = torch.export.export(folded, args, kwargs).module()
    torch.testing.assert_close(run(exported, example), wanted, rtol=1e-5, atol=1e-5)


@first_of_four("BERT")
def test_onnxruntime_with_a_dynamic_batch_computes_what_the_operated_model_does(name, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    model, example = operated(name)
    folded, example = (
        chebact.fold_(copy.deepcopy(model.eval())),
        example if isinstance(example, dict) else {"x": example},
    )
    path, shapes = str(tmp_path / "model.onnx"), {key: {0: torch.export.Dim("batch", min=1, max=64)} for key in example}
    torch.onnx.export(folded, (), path, kwargs=example, dynamo=True, dynamic_shapes=shapes, verbose=False)
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for rows in (1, 5):
        fresh = rows_like(example, rows, seed=rows)
        got = session.run(None, {each.name: fresh[each.name].numpy() for each in session.get_inputs()})[0]
        wanted = run(model, fresh).detach()
        torch.testing.assert_close(
            torch.from_numpy(got), wanted, rtol=0, atol=1e-5 * max(1.0, wanted.abs().max().item())
        )


def test_timm_imports_without_torchvision_and_nothing_of_the_stand_in_stays():
    timm = import_or_skip("timm")
    before = importlib.util.find_spec("torchvision"), {name for name in sys.modules if name.startswith("torchvision")}
    with without_torchvision.torchvision_names():
        assert importlib.util.find_spec("torchvision.ops.misc").origin is None
        from torchvision.datasets import ImageFolder
    with pytest.raises(ImportError, match="torchvision must be installed for ImageFolder, got a stand-in"):
        ImageFolder("pictures")
    after = importlib.util.find_spec("torchvision"), {name for name in sys.modules if name.startswith("torchvision")}
    assert after == before
    if before[0] is None:
        with pytest.raises(AttributeError, match=r"module 'torchvision\.transforms' has no attribute"):
            timm.data.create_transform(32)
        assert not import_or_skip("transformers").utils.is_torchvision_available()
