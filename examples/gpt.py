"""A small GPT on text that ships with Python: learned activations in the feed-forward blocks against GELU.

    python examples/gpt.py [--steps 700] [--seed 0] [--compile] [--bf16] [--picture gpt.png]

The text is the language reference inside Python's own help (pydoc_data), one letter per token. Both models start from
the same weights and see the same batches. The loss on held-out text is compared at equal steps and at equal time.
"""

import argparse
import time
from functools import partial
from pathlib import Path
from pydoc_data.topics import topics

import numpy
import torch
from torch import nn
from torch.nn import functional as F

import chebact
from chebact import bfloat16

CONTEXT, WIDTH, HEADS, DEPTH, BATCH, LR = 64, 64, 4, 2, 32, 3e-3
LAYERS = {"GELU": nn.GELU, "learned curves": partial(chebact.ChebyshevLagrange, init="gelu", channel_dim=-1)}


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
        self.blocks = nn.Sequential(*(Block(act_layer) for _ in range(DEPTH)))
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


class Run:
    """One model in training; `curve` holds (step, seconds of training, loss on held-out text)."""

    def __init__(self, model, steps, compiled, bf16):
        if any(isinstance(part, chebact.ChebyshevLagrange) for part in model.modules()):
            chebact.materialize(model, torch.zeros(1, CONTEXT, dtype=torch.long))
            groups = chebact.parameter_groups(model, lr=LR, weight_decay=0.01)  # no decay of the heights
        else:
            groups = [{"params": list(model.parameters()), "weight_decay": 0.01}]
        self.model, self.called = model, torch.compile(model) if compiled else model
        self.optimizer, self.steps, self.bf16 = torch.optim.AdamW(groups, lr=LR), steps, bf16
        self.curve, self.seconds = [], 0.0

    def loss(self, model, batch):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bf16):
            logits = model(batch[0])
        return F.cross_entropy(logits.float().flatten(0, 1), batch[1].flatten())

    def step(self, number, batch):
        start = time.perf_counter()
        for group in self.optimizer.param_groups:
            group["lr"] = LR * min(1.0, number / 20) * (1 - 0.9 * number / self.steps)
        self.optimizer.zero_grad()
        self.loss(self.called, batch).backward()
        self.optimizer.step()
        self.seconds += time.perf_counter() - start

    @torch.no_grad()
    def test(self, number, batches):
        losses = [self.loss(self.model, batch).item() for batch in batches]
        self.curve.append((number, self.seconds, sum(losses) / len(losses)))


def train(steps, seed, compiled=False, bf16=False, tests=10):
    """The curve of each model. They take turns step by step, so that a busy machine slows both alike."""
    train_ids, test_ids, letters = read_text()
    runs = {}
    for name, layer in LAYERS.items():
        torch.manual_seed(seed)
        runs[name] = Run(GPT(letters, layer), steps, compiled, bf16)
    draws = torch.Generator().manual_seed(seed)
    held_out = [draw_batch(test_ids, torch.Generator().manual_seed(1000 + k)) for k in range(8)]
    for run in runs.values():  # what is compiled is compiled here, before the clock starts
        run.loss(run.called, held_out[0]).backward()
    for number in range(1, steps + 1):
        batch = draw_batch(train_ids, draws)
        for run in list(runs.values())[:: 1 if number % 2 else -1]:
            run.step(number, batch)
        if number % max(1, steps // tests) == 0 or number == steps:
            for run in runs.values():
                run.test(number, held_out)
    return {name: run.curve for name, run in runs.items()}


def losses_at_equal_time(curves):
    """The loss of each model when the faster one had finished, between two tests on the line between them."""
    limit = min(curve[-1][1] for curve in curves.values())
    losses = {}
    for name, curve in curves.items():
        _, seconds, values = zip(*curve, strict=True)
        losses[name] = float(numpy.interp(limit, seconds, values))
    return limit, losses


def draw_picture(curves, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.2), layout="constrained")
    by_step, by_time = figure.subplots(1, 2, sharey=True)
    for axes, column, label in ((by_step, 0, "step"), (by_time, 1, "seconds of training")):
        for (name, curve), colour in zip(curves.items(), ("tab:blue", "tab:orange"), strict=True):
            axes.plot([row[column] for row in curve], [row[2] for row in curve], ".-", color=colour, label=name)
        axes.set_xlabel(label)
        axes.grid(alpha=0.3)
    by_step.set_ylabel("loss on held-out text,\nnats per letter")
    by_step.legend()
    by_time.axvline(losses_at_equal_time(curves)[0], color="0.4", linestyle=":", label="equal time")
    by_time.legend(by_time.lines[-1:], ["equal time"])
    figure.savefig(path, dpi=160)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=700, help="training steps of each model, at least 1")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the batches, at least 0")
    parser.add_argument("--compile", action="store_true", help="use torch.compile on both models")
    parser.add_argument("--bf16", action="store_true", help="products in bfloat16, where the machine has them")
    parser.add_argument("--picture", metavar="FILE", help="draw the results: a .png, .svg or .pdf file")
    given = parser.parse_args(arguments)
    for name, least in (("steps", 1), ("seed", 0)):
        if not least <= getattr(given, name) < 2**63:
            parser.error(f"--{name} must be at least {least} and below 2^63, got {getattr(given, name)}")
    path = Path("none.png" if given.picture is None else given.picture).resolve()
    if path.is_dir() or not path.parent.is_dir() or path.suffix.lower() not in (".png", ".svg", ".pdf"):
        parser.error(f"--picture must be a .png, .svg or .pdf file in a folder that exists, got {given.picture!r}")
    if given.bf16 and (reason := bfloat16.why_not()):
        parser.error(f"--bf16: {reason}")
    curves = train(given.steps, given.seed, given.compile, given.bf16)
    limit, at_equal_time = losses_at_equal_time(curves)
    for name, curve in curves.items():
        step, seconds, loss = curve[-1]
        print(f"{name}: loss {loss:.4f} after {step} steps, {1000 * seconds / step:.1f} ms per step")
        print(f"{name}: loss {at_equal_time[name]:.4f} after {limit:.1f} s")
    if given.picture:
        draw_picture(curves, given.picture)
    return curves


if __name__ == "__main__":
    main()
