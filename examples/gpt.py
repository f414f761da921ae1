"""A small GPT on text that ships with Python: learned activations in the feed-forward blocks against GELU.

    python examples/gpt.py [--steps 700] [--seed 0] [--compile] [--bf16] [--picture gpt.png]

The text is the language reference inside Python's own help (pydoc_data), a letter per token. Both models have the
same first weights and see the same batches. The loss on held-out text is compared at equal steps and at equal time.
"""

import argparse
import time
from functools import partial
from pydoc_data.topics import topics

import torch
from torch import nn
from torch.nn import functional as F

import chebact

CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 64, 64, 4, 2, 32


class Block(nn.Module):
    def __init__(self, act_layer):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), act_layer(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        heads = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(heads.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """`act_layer` is called without arguments, as builders of models do: the activation learns its width by itself."""

    def __init__(self, letters, act_layer):
        super().__init__()
        self.tokens, self.places = nn.Embedding(letters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block(act_layer) for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, letters)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def read_text():
    text = "\n".join(topics[name] for name in sorted(topics))
    letters = sorted(set(text))
    number = {letter: index for index, letter in enumerate(letters)}
    ids = torch.tensor([number[letter] for letter in text])
    return ids[: len(ids) * 9 // 10], ids[len(ids) * 9 // 10 :], len(letters)


def draw_batch(ids, generator):
    starts = torch.randint(len(ids) - CONTEXT - 1, (BATCH,), generator=generator)
    rows = torch.stack([ids[start : start + CONTEXT + 1] for start in starts.tolist()])
    return rows[:, :-1], rows[:, 1:]


def loss_of(model, batch, bf16):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
        logits = model(batch[0])
    return F.cross_entropy(logits.float().flatten(0, 1), batch[1].flatten())


def train(act_layer, steps, seed, compiled=False, bf16=False, tests=10):
    """The losses on held-out text: a list of (step, seconds of training, loss)."""
    train_ids, test_ids, letters = read_text()
    torch.manual_seed(seed)
    model = chebact.materialize(GPT(letters, act_layer), torch.zeros(1, CONTEXT, dtype=torch.long))
    if any(isinstance(part, chebact.ChebyshevLagrange) for part in model.modules()):
        groups = chebact.parameter_groups(model, lr=3e-3, weight_decay=0.01)
    else:
        groups = [{"params": list(model.parameters()), "weight_decay": 0.01}]
    optimizer = torch.optim.AdamW(groups, lr=3e-3)
    called = torch.compile(model) if compiled else model
    draws, curve, seconds = torch.Generator().manual_seed(seed), [], 0.0
    checks = [draw_batch(test_ids, torch.Generator().manual_seed(1000 + k)) for k in range(8)]
    loss_of(called, checks[0], bf16).backward()  # what is compiled is compiled here, before the clock starts
    for step in range(1, steps + 1):
        batch, start = draw_batch(train_ids, draws), time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = 3e-3 * min(1.0, step / 20) * (1 - 0.9 * step / steps)
        optimizer.zero_grad()
        loss_of(called, batch, bf16).backward()
        optimizer.step()
        seconds += time.perf_counter() - start
        if step % max(1, steps // tests) == 0:
            with torch.no_grad():
                curve.append((step, seconds, sum(loss_of(model, each, bf16).item() for each in checks) / len(checks)))
    return curve


def draw_picture(curves, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    for axes, column, label in zip(figure.subplots(1, 2, sharey=True), (0, 1), ("step", "seconds"), strict=True):
        for name, curve in curves.items():
            axes.plot([row[column] for row in curve], [row[2] for row in curve], marker=".", label=name)
        axes.set_xlabel(label)
        axes.grid(alpha=0.3)
    figure.axes[0].set_ylabel("loss on held-out text, nats per letter")
    figure.axes[0].legend()
    figure.savefig(path, dpi=110)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--compile", action="store_true", help="torch.compile both models")
    parser.add_argument("--bf16", action="store_true", help="products in bfloat16, where the machine has them")
    parser.add_argument("--picture")
    given = parser.parse_args(arguments)
    layers = {"GELU": nn.GELU, "CL, degree 3": partial(chebact.ChebyshevLagrange, init="gelu", channel_dim=-1)}
    curves = {}
    for name, layer in layers.items():
        curves[name] = train(layer, given.steps, given.seed, given.compile, given.bf16)
        step, seconds, loss = curves[name][-1]
        print(f"{name}: loss {loss:.4f} after {step} steps, {1000 * seconds / step:.1f} ms per step", flush=True)
    limit = min(curve[-1][1] for curve in curves.values())
    for name, curve in curves.items():
        within = [loss for _, seconds, loss in curve if seconds <= limit]
        if within:
            print(f"{name}: loss {within[-1]:.4f} at the last test within {limit:.1f} s")
    if given.picture:
        draw_picture(curves, given.picture)
    return curves


if __name__ == "__main__":
    main()
