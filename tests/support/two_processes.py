"""Two processes with DDP: `average_gradients` starts them, each runs this file.

Neither is the process of the tests: what gloo leaves behind, and a process that dies, would stop the tests after it.
"""

import copy
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import torch
from torch import nn

import chebact
from chebact.learned import LearnedActivation
from support.library_models import FOUR, made, rows_like, run
from support.other_models import MODELS, drawn

LIMIT = 120  # seconds
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
    limit = timedelta(seconds=LIMIT)
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2, timeout=limit)
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
        torch.distributed.barrier()
    finally:
        torch.distributed.destroy_process_group()
    return found


def average_gradients(names, folder):
    """What `work` found in the first of two processes."""
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    logs, children = [folder / f"{rank}.log" for rank in range(2)], []
    for rank, log in enumerate(logs):
        with log.open("w") as file:
            command = [sys.executable, __file__, str(rank), str(folder), *names]
            children.append(subprocess.Popen(command, stdout=file, stderr=file, env=environment))
    try:
        codes = [child.wait(2 * LIMIT) for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
    assert codes == [0, 0], "\n".join(log.read_text() for log in logs)
    return torch.load(folder / "found.pt", weights_only=True)


def refused(model):
    try:
        nn.parallel.DistributedDataParallel(model)
    except ValueError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    this, place = int(sys.argv[1]), Path(sys.argv[2])
    gathered = work(this, place / "store", sys.argv[3:])
    if this == 0:
        torch.save(gathered, place / "found.pt")
    os._exit(0)  # torch's threads may end a process that takes its time to leave: "terminate called without an ..."
