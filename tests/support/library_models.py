"""Small models of timm and transformers, from their own builders: each makes a model and an example."""

import torch

from support.other_models import drawn, import_or_skip

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
TEXT = {"vocab_size": 64, "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 1}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
IDS = torch.arange(2, 16).reshape(2, 7)
PICTURES = {"pixel_values": drawn(2, 3, 32, 32)}


def timm_model(name, size=64, **options):
    return import_or_skip("timm").create_model(name, **options), drawn(2, 3, size, size)


def resnet():
    return timm_model("resnet10t", zero_init_last=False)


def bert():
    library = import_or_skip("transformers")
    config = library.BertConfig(vocab_size=64, **SMALL, **NO_DROPOUT)
    return library.BertModel(config, add_pooling_layer=False), {"input_ids": IDS}


def gpt2():
    library = import_or_skip("transformers")
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 32}
    dropout = {"embd_pdrop": 0.0, "attn_pdrop": 0.0, "resid_pdrop": 0.0}
    config = library.GPT2Config(use_cache=False, **TEXT, **sizes, **dropout)  # torch exports no cache
    return library.GPT2Model(config), {"input_ids": IDS}


def vit():
    library = import_or_skip("transformers")
    config = library.ViTConfig(image_size=32, patch_size=8, **SMALL, **NO_DROPOUT)
    return library.ViTModel(config, add_pooling_layer=False), PICTURES


def transformers_model(name, example, **options):
    """A model of that family from a small config."""
    library = import_or_skip("transformers")
    return getattr(library, f"{name}Model")(getattr(library, f"{name}Config")(**options)), example


def t5():
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2, "feed_forward_proj": "gated-gelu"}
    return transformers_model("T5", {"input_ids": IDS, "decoder_input_ids": IDS}, vocab_size=64, **sizes)


def clip():
    text, vision = {**TEXT, **SMALL, "projection_dim": 16}, {**SMALL, "image_size": 32, "patch_size": 8}
    configs = {"text_config": text, "vision_config": {**vision, "projection_dim": 16}, "projection_dim": 16}
    return transformers_model("CLIP", {"input_ids": IDS, **PICTURES}, **configs)


def convnext():
    sizes = {"hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1], "layer_scale_init_value": 0.1}
    return transformers_model("ConvNext", PICTURES, **sizes)


FOUR = {"BERT": bert, "GPT-2": gpt2, "ViT": vit, "timm resnet10t": resnet}
"""Those that are tried with everything; every parameter has a gradient and no number is drawn in training."""

MAKERS = {
    **FOUR,
    "timm convnext_atto": lambda: timm_model("convnext_atto"),
    "timm densenet121": lambda: timm_model("densenet121", 32),
    "timm efficientnet_b0": lambda: timm_model("efficientnet_b0"),
    "timm eva02_tiny": lambda: timm_model("eva02_tiny_patch14_224", 28, img_size=28, depth=2),
    "timm levit_128s": lambda: timm_model("levit_128s", 224),
    "timm mambaout_femto": lambda: timm_model("mambaout_femto"),
    "timm mixer_s32": lambda: timm_model("mixer_s32_224", img_size=64),
    "timm mobilenetv3_small": lambda: timm_model("mobilenetv3_small_050"),
    "timm regnetx_002": lambda: timm_model("regnetx_002"),
    "timm swin_tiny": lambda: timm_model("swin_tiny_patch4_window7_224", 56, img_size=56, depths=(1, 1, 1, 1)),
    "timm vit_tiny": lambda: timm_model("vit_tiny_patch16_224", 32, img_size=32, depth=2),
    "BLOOM": lambda: transformers_model("Bloom", {"input_ids": IDS}, **TEXT, hidden_size=32, n_layer=2, n_head=2),
    "CLIP": clip,
    "ConvNeXt": convnext,
    "Llama": lambda: transformers_model("Llama", {"input_ids": IDS}, **TEXT, **SMALL),
    "ModernBERT": lambda: transformers_model(
        "ModernBert", {"input_ids": IDS}, **TEXT, **SMALL, cls_token_id=0, sep_token_id=0
    ),
    "T5": t5,
}


def made(maker, seed=0):
    """A model whose parameters that start at zero do not: they would keep gradients from what comes before them."""
    torch.manual_seed(seed)
    model, example = maker()
    with torch.no_grad():
        for parameter in model.parameters():
            if not parameter.any():
                parameter.copy_(0.1 * drawn(*parameter.shape, seed=3))
    return model, example


def run(model, example):
    """The first tensor that a model gives."""
    output = model(**example) if isinstance(example, dict) else model(example)
    return output if isinstance(output, torch.Tensor) else output[0]


def rows_like(example, rows, seed):
    """Another example of so many rows."""
    if isinstance(example, dict):
        return {name: rows_like(each, rows, seed) for name, each in example.items()}
    shape, generator = (rows, *example.shape[1:]), torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator) if example.is_floating_point() else _ids(shape, generator)


def _ids(shape, generator):
    return torch.randint(64, shape, generator=generator)
