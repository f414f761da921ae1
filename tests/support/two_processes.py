"""What either of two processes does with DDP: `work(rank, store, names)`; the second one runs this file."""

import copy
import sys

import torch
from torch import nn

import chebact
from chebact.learned import LearnedActivation
from support.library_models import FOUR, made, rows_like, run
from support.other_models import MODELS, drawn

NAMES = ("residual net", "U-Net with checkpointing", "transformer, ReLU by function")


def lazy():
    parts = (nn.Linear(4, 6), chebact.ChebyshevLagrange(init="gelu"), nn.Linear(6, 2), chebact.ChebyshevLagrange())
    return nn.Sequential(*parts), drawn(3, 4)


def operated(name):
    """A model after surgery, and its input or a dict of its inputs."""
    if name in FOUR:
        model, example = made(FOUR[name])
    else:
        build, (example,), _ = MODELS[name]
        model = build()
    return chebact.replace_activations(model, example).model, example


def gradients(model):
    return [part.learned.grad for part in model.modules() if isinstance(part, LearnedActivation)]


def alone(model, example):
    """The gradients of one process by itself."""
    model = copy.deepcopy(model)
    run(model, example).sin().sum().backward()
    return gradients(model)


def work(rank, store, names):
    """For each model: the gradients of the heights with DDP, and those of either process alone."""
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    found = {}
    try:
        for name in names:
            torch.manual_seed(0)
            model, example = lazy() if name == "lazy" else operated(name)
            if name == "lazy":
                found["message"] = refused(model)
                chebact.materialize(model, example)
            model.eval()  # both processes would draw their own dropout
            parallel = nn.parallel.DistributedDataParallel(model)
            rows = [rows_like(example, 2, seed=10 + each) for each in range(2)]
            single = [alone(model, each) for each in rows]
            run(parallel, rows[rank]).sin().sum().backward()
            found[name] = (gradients(model), single)
    finally:
        torch.distributed.destroy_process_group()
    return found


def refused(model):
    try:
        nn.parallel.DistributedDataParallel(model)
    except ValueError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    work(1, sys.argv[1], sys.argv[2:])
