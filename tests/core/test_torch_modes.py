"""Private names of torch: one file uses them, each is named there with what it is for, and each is there."""

import ast
import importlib
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.func import functionalize, grad, jvp, vmap

from chebact import torch_modes
from chebact.torch_modes import PRIVATE_NAMES, Mode, find_mode

SOURCE = Path(__file__).resolve().parents[2] / "src" / "chebact"
OF_OBJECTS = {name.partition(".")[2] for name in PRIVATE_NAMES if name.startswith(("Module.", "Tensor.", "Optimizer."))}
X, HEIGHTS = torch.zeros(3, 4), torch.zeros(4, 4)


def private_uses(path):
    """The private names of torch in a file: `torch._C...`, imports from `torch._...`, and those of its objects."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
            for alias in node.names:
                if any(part.startswith("_") for part in f"{node.module}.{alias.name}".split(".")):
                    yield f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "torch" and any(part.startswith("_") for part in parts):
                    yield alias.name
        elif isinstance(node, ast.Attribute):
            chain = ast.unparse(node)
            parts = chain.split(".")
            dunder = node.attr.startswith("__") and node.attr.endswith("__")
            if parts[0] in ("torch", "forward_ad") and node.attr.startswith("_") and not dunder:
                yield chain
            elif node.attr in OF_OBJECTS:
                yield node.attr


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_other_file_uses_a_private_name_of_torch(path):
    found = sorted(set(private_uses(path)))
    if path.name != "torch_modes.py":
        assert not found, f"move these into torch_modes.py: {found}"


def test_every_private_name_in_use_says_what_it_is_for_and_none_is_left_over():
    used = set(private_uses(SOURCE / "torch_modes.py")) - {"torch._C"}
    full = {name.replace("forward_ad.", "torch.autograd.forward_ad.", 1) for name in used}
    full = {next((known for known in PRIVATE_NAMES if known.endswith(f".{name}")), name) for name in full}
    covered = {known for known in PRIVATE_NAMES if any(known == name or known.startswith(f"{name}.") for name in full)}
    assert not {
        name for name in full if name not in PRIVATE_NAMES and not any(k.startswith(name) for k in PRIVATE_NAMES)
    }
    text = (SOURCE / "torch_modes.py").read_text()
    assert not [name for name in PRIVATE_NAMES if text.count(name.rpartition(".")[2]) < 2], "named, and not used"
    assert covered


@pytest.mark.parametrize("name", PRIVATE_NAMES)
def test_the_installed_torch_has_the_name(name):
    if name.startswith("Module."):
        assert hasattr(nn.Module(), name.partition(".")[2])
    elif name.startswith("Optimizer."):
        assert hasattr(torch.optim.SGD([X.clone().requires_grad_()], lr=0.1), name.partition(".")[2])
    elif name.startswith("Tensor."):
        assert hasattr(X, name.partition(".")[2])
    elif name.startswith("Optimizer."):
        assert hasattr(torch.optim.SGD([nn.Parameter(X)], lr=0.1), name.partition(".")[2])
    else:
        home, _, own = name.rpartition(".")
        parts, found = home.split("."), torch
        for index, part in enumerate(parts[1:], 1):
            found = getattr(found, part, None) or importlib.import_module(".".join(parts[: index + 1]))
        assert hasattr(found, own)


def modes_inside(transform):
    """The mode that a call sees inside a transform."""
    seen = []

    def call(x):
        seen.append(find_mode(x, HEIGHTS))
        return (x * x).sum()

    transform(call)
    return seen[0]


@pytest.mark.filterwarnings("ignore:`torch.jit.trace` is deprecated")
def test_the_mode_of_a_call():
    assert find_mode(X, HEIGHTS) is Mode.PLAIN
    assert find_mode(X.clone().requires_grad_(), HEIGHTS) is Mode.RECORDED
    with torch.no_grad():
        assert find_mode(X, nn.Parameter(HEIGHTS)) is Mode.PLAIN
    assert find_mode(nn.Buffer(X), HEIGHTS) is Mode.PLAIN or find_mode(nn.Buffer(X), HEIGHTS) is Mode.FORMULA
    assert modes_inside(lambda call: grad(call)(X)) is Mode.TRANSFORMED
    assert modes_inside(lambda call: vmap(call)(X)) is Mode.TRANSFORMED
    assert modes_inside(lambda call: jvp(call, (X,), (X,))) is Mode.TRANSFORMED
    assert modes_inside(lambda call: jvp(lambda a: jvp(call, (a,), (X,))[1], (X,), (X,))) is Mode.FORMULA
    assert modes_inside(lambda call: functionalize(call)(X)) is Mode.FORMULA
    assert modes_inside(lambda call: torch.jit.trace(call, X, check_trace=False)) is Mode.FORMULA


def test_without_the_question_for_zero_tensors_a_kernel_would_read_address_zero():
    zeros = torch._efficientzerotensor(3, 4)
    assert torch_modes.is_zero_tensor(zeros)
    assert not torch_modes.is_zero_tensor(X)
    assert zeros.untyped_storage().nbytes() == 0 or zeros.data_ptr() == 0
