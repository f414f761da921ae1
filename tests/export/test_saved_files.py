"""Files of torch.export and torch.jit.trace in a new process, which does not import chebact."""

import copy
import subprocess
import sys
import warnings

import torch
from support.other_models import drawn, filled
from torch import nn

import chebact
from chebact import ChebyshevLagrange

READ = """
import sys, torch
x, wanted = torch.load("data.pt")
for form in ("learned", "folded"):
    for got in (torch.export.load(f"{form}.pt2").module()(x), torch.jit.load(f"{form}.ts")(x)):
        torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5, msg=lambda said: f"{form}: {said}")
assert "chebact" not in sys.modules
"""


def test_a_process_without_chebact_has_the_outputs_that_torch_had(tmp_path):
    activations = filled(ChebyshevLagrange(4)), filled(ChebyshevLagrange(4, degree=7, interval=(0.0, 6.0)))
    network = nn.Sequential(nn.Linear(3, 4), activations[0], nn.Linear(4, 4), activations[1]).eval()
    x = drawn(5, 3)
    for form, model in (("learned", network), ("folded", chebact.fold_(copy.deepcopy(network)))):
        program = torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},))
        with warnings.catch_warnings(action="ignore"):  # one is deprecated, the other speaks of views of its constants
            torch.jit.trace(model, x).save(str(tmp_path / f"{form}.ts"))
            torch.export.save(program, str(tmp_path / f"{form}.pt2"))
    more = drawn(9, 3, seed=1)
    torch.save((more, network(more).detach()), tmp_path / "data.pt")
    subprocess.run([sys.executable, "-W", "ignore", "-c", READ], cwd=tmp_path, check=True)
