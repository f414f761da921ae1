"""Builders of timm that take act_layer: the width comes with the first call, and copies may be made before it."""

import copy
import io
from functools import partial

import pytest
import torch
from support.library_models import timm_model
from support.other_models import import_or_skip

import chebact
from chebact import ChebyshevLagrange
from chebact.learned import learned_activations

pytestmark = pytest.mark.filterwarnings("ignore")  # of timm about its own parts

LAST = partial(ChebyshevLagrange, channel_dim=-1)
SMALL_VIT = {"size": 32, "img_size": 32, "depth": 2}
SMALL_CONVNEXT = {"depths": (1, 1, 1, 1), "dims": (16, 16, 32, 32)}
BUILDERS = {
    "resnet": ("resnet10t", {}, ChebyshevLagrange),
    "ViT": ("vit_tiny_patch16_224", SMALL_VIT, LAST),
    "ConvNeXt of convolutions": ("convnext_atto", {}, ChebyshevLagrange),
    "ConvNeXt of linear layers": ("convnext_tiny", SMALL_CONVNEXT, LAST),
    "MobileNet": ("mobilenetv3_small_050", {}, ChebyshevLagrange),
    "EfficientNet": ("efficientnet_b0", {}, partial(ChebyshevLagrange, init="silu")),
    "MLP-Mixer": ("mixer_s32_224", {"img_size": 64}, LAST),
}
SLOW = ("MLP-Mixer",)  # linear layers of convnext_tiny and ViT go the same way
NAMES = [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in BUILDERS]


def build(name, seed=0):
    torch.manual_seed(seed)
    model, options, act_layer = BUILDERS[name]
    return timm_model(model, act_layer=act_layer, **options)


def widths(model):
    return {name: part.channels for name, part in learned_activations(model).items()}


@pytest.mark.parametrize("name", NAMES)
def test_the_first_call_and_materialize_find_the_widths_that_surgery_finds(name):
    called, x = build(name)
    called(x)
    materialized = chebact.materialize(build(name)[0], x)
    plain, _ = timm_model(BUILDERS[name][0], **BUILDERS[name][1])
    rows = chebact.replace_activations(plain, x, dry_run=True).report.replaced
    known = {row.name: row.channels for row in rows}
    assert widths(called) == widths(materialized)
    assert widths(called).items() <= known.items()
    assert len(widths(called)) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_copies_averages_and_checkpoints_from_before_the_first_call_and_after_it(name):
    import_or_skip("timm")
    from timm.utils import ModelEmaV2, ModelEmaV3

    model, x = build(name)
    early, state = copy.deepcopy(model), io.BytesIO()
    torch.save(model.state_dict(), state)
    averages = [kind(model, decay=0.5) for kind in (ModelEmaV2, ModelEmaV3)]
    loaded = build(name, seed=1)[0]
    loaded.load_state_dict(torch.load(io.BytesIO(state.getvalue()), weights_only=True))
    wanted = model.eval()(x)
    for other in (early, loaded):
        torch.testing.assert_close(other.eval()(x), wanted)
    for average in averages:
        average.update(model)
        torch.testing.assert_close(average.module.eval()(x), wanted)
    late = build(name, seed=1)[0]
    late.load_state_dict(model.state_dict())
    assert torch.equal(late.eval()(x), wanted)


def test_a_transformer_without_the_axis_is_told_what_to_write():
    model, x = timm_model("vit_tiny_patch16_224", act_layer=ChebyshevLagrange, **SMALL_VIT)
    words = (
        r"x has three axes, got shape \(2, 5, 768\).*act_layer=functools.partial\(ChebyshevLagrange, channel_dim=-1\)"
    )
    for call in (model, lambda x: chebact.materialize(model, x)):
        with pytest.raises(ValueError, match=words):
            call(x)


def test_a_builder_that_calls_act_layer_true_is_told_what_to_pass():
    with pytest.raises(TypeError, match=r"got True \(bool\).*takes act_layer=lambda inplace: ChebyshevLagrange\(\)"):
        timm_model("vgg11", act_layer=ChebyshevLagrange)
    model, x = timm_model("vgg11", act_layer=lambda inplace: ChebyshevLagrange(), mlp_ratio=0.01)
    assert len(widths(chebact.materialize(model, x))) == 10
