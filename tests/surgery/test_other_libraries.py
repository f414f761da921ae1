"""Models of timm and of transformers, from their own builders, before and after surgery."""

import copy
import importlib.util
import sys

import pytest
import torch
from support import without_torchvision
from support.other_models import drawn, import_or_skip
from torch import nn

import chebact
from chebact.learned import LearnedActivation

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
IDS = torch.arange(14).reshape(2, 7)


def timm_model(name, size=64, **options):
    return import_or_skip("timm").create_model(name, **options), drawn(2, 3, size, size)


def bert():
    library = import_or_skip("transformers")
    return library.BertModel(library.BertConfig(vocab_size=64, **SMALL)), {"input_ids": IDS}


def gpt2():
    library = import_or_skip("transformers")
    sizes = {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 32}
    return library.GPT2Model(library.GPT2Config(bos_token_id=0, eos_token_id=0, **sizes)), {"input_ids": IDS}


def vit():
    library = import_or_skip("transformers")
    return library.ViTModel(library.ViTConfig(image_size=32, patch_size=8, **SMALL)), {
        "pixel_values": drawn(2, 3, 32, 32)
    }


@pytest.mark.filterwarnings("ignore")
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


MAKERS = {
    "timm resnet10t": (lambda: timm_model("resnet10t", zero_init_last=False), 11),
    "timm convnext_atto": (lambda: timm_model("convnext_atto"), 12),
    "timm mobilenetv3_small_050": (lambda: timm_model("mobilenetv3_small_050"), 33),
    "timm vit_tiny_patch16_224": (lambda: timm_model("vit_tiny_patch16_224", 32, img_size=32, depth=2), 2),
    "BERT": (bert, 2),
    "GPT-2": (gpt2, 2),
    "ViT": (vit, 2),
}


def first(output):
    return output if isinstance(output, torch.Tensor) else output[0]


def run(model, example):
    return first(model(**example) if isinstance(example, dict) else model(example))


@pytest.mark.filterwarnings("ignore")  # of those libraries about their own parts
@pytest.mark.parametrize("name", MAKERS)
def test_the_model_is_operated_on_trains_and_its_state_goes_round(name):
    make, count = MAKERS[name]
    model, example = make()
    exact = {"kinds": (nn.GELU,)} if "GPT" in name or "BERT" in name or "ViT" in name else {}
    done = chebact.replace_activations(model, example, **exact)
    assert (len(done.report.replaced), done.report.left) == (count, ())
    run(done.model, example).square().mean().backward()
    activations = [part for part in done.model.modules() if isinstance(part, LearnedActivation)]
    assert len(activations) == count
    assert all(part.heights.grad.abs().sum() > 0 for part in activations)
    again = copy.deepcopy(done.model)
    again.load_state_dict(done.model.state_dict())
    torch.testing.assert_close(run(again.eval(), example), run(done.model.eval(), example))
    assert set(model.state_dict()) <= set(done.model.state_dict())


@pytest.mark.filterwarnings("ignore")
def test_torch_compile_takes_a_model_of_transformers_after_surgery():
    model, example = gpt2()
    operated = chebact.replace_activations(model, example, kinds=(nn.GELU,)).model.eval()
    torch.compiler.reset()
    got = run(torch.compile(operated, backend="aot_eager"), example)
    torch.compiler.reset()
    torch.testing.assert_close(got, run(operated, example), rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_builders_of_timm_take_the_class_and_a_partial_of_it():
    from functools import partial

    timm = import_or_skip("timm")
    for act_layer in (chebact.ChebyshevLagrange, partial(chebact.ChebyshevLagrange, init="relu")):
        model = timm.create_model("resnet10t", act_layer=act_layer)
        chebact.materialize(model, drawn(2, 3, 64, 64))
        assert sum(isinstance(part, LearnedActivation) for part in model.modules()) == 11
