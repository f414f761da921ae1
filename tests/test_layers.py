"""Who imports whom: down the layers of the design, never sideways or up."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "chebact"
LAYERS = [
    ["checks", "channels", "files", "torch_modes", "watchers", "wide"],
    ["nodes", "data.*"],
    ["basis"],
    ["kernels.layout", "kernels.lanes", "kernels.team"],
    ["kernels.cpu_*", "kernels.gpu_*"],
    ["kernels.reference", "kernels.cpu", "kernels.gpu"],
    ["kernels"],
    ["autograd", "compiled"],
    ["functional"],
    ["polynomial"],
    ["initial", "formula", "learned"],
    ["activations"],
    ["table"],
    ["recording"],
    ["surgery", "plotting", "networks.*"],
    ["training.*"],
    ["estimators.*"],
    ["lab.*"],
    ["lab.experiments.*"],
    ["lab.report.*", "lab.bench.*"],
    ["lab.commands.*"],
    ["lab.cli"],
    ["__main__"],
]
FAMILIES = (
    "data.",
    "networks.",
    "training.",
    "estimators.",
    "lab.",
    "kernels.cpu_",
    "kernels.gpu_",
)  # may use their own
FREE = {""}  # chebact/__init__.py gathers the public names


def modules():
    """Every module of the package by its name without `chebact.`, with its file."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def level(name):
    """The layer of a module: the most exact entry that names it."""
    fitting = []
    for height, layer in enumerate(LAYERS):
        for pattern in layer:
            stem = pattern.removesuffix("*")
            if name == pattern or (pattern != stem and (name.startswith(stem) or name == stem.removesuffix("."))):
                fitting.append((len(stem), height))
    assert fitting, f"{name} has no layer: add it to the list in tests/test_layers.py"
    return max(fitting)[1]


def imports(name):
    """The modules of the package that a module imports anywhere in its text, type checking aside."""
    tree = ast.parse(MODULES[name].read_text())
    for node in list(ast.walk(tree)):
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def inner_imports(name):
    for full in imports(name):
        parts = full.split(".")
        if parts[0] == "chebact":
            inner = parts[1:]
            while ".".join(inner) not in MODULES:
                inner = inner[:-1]
            yield ".".join(inner)


@pytest.mark.parametrize("name", sorted(set(MODULES) - FREE))
def test_imports_go_down_the_layers(name):
    for other in set(inner_imports(name)) - {name}:
        if not other:
            assert name.split(".")[0] in ("lab", "__main__"), f"{name} imports all of chebact"
            continue
        related = any(f"{name}.".startswith(family) and f"{other}.".startswith(family) for family in FAMILIES)
        sideways = level(name) == level(other) and related
        assert level(other) < level(name) or sideways or name.startswith(other + "."), f"{name} imports {other}"


KERNELS = ("reference", "cpu", "gpu")


@pytest.mark.parametrize("name", sorted(n for n in MODULES if n.startswith("kernels.")))
def test_kernels_never_import_each_other(name):
    own = name.removeprefix("kernels.").partition("_")[0]
    for other in inner_imports(name):
        kind = other.removeprefix("kernels.").partition("_")[0]
        assert not (own in KERNELS and kind in KERNELS and own != kind), f"{name} imports {other}"


def reached(name):
    """Everything that a module imports, directly or not."""
    todo, seen = [name], set()
    while todo:
        for other in inner_imports(todo.pop()):
            if other and other not in seen:
                seen.add(other)
                todo.append(other)
    return seen


@pytest.mark.parametrize("name", sorted(n for n in MODULES if n.split(".")[0] not in ("lab", "__main__")))
def test_the_library_never_reaches_the_laboratory(name):
    assert not [other for other in reached(name) if other.split(".")[0] == "lab"]


@pytest.mark.parametrize("one", ["lab.experiments", "lab.report"])
def test_experiments_and_report_never_reach_each_other(one):
    (other,) = {"lab.experiments", "lab.report"} - {one}
    for name in (n for n in MODULES if f"{n}.".startswith(one + ".")):
        assert not [found for found in reached(name) if f"{found}.".startswith(other + ".")], name


def test_importing_chebact_loads_none_of_the_heavy_packages():
    heavy = ("numba", "llvmlite", "triton", "matplotlib", "sklearn", "pandas", "scipy", "joblib", "cyclopts", "rich")
    code = (
        "import torch, sys; before = set(sys.modules); import chebact;"
        f"print([n for n in {heavy} if n in sys.modules and n not in before],"
        " [n for n in sys.modules if n.startswith('chebact.lab')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] []", done.stdout


def test_every_name_in_all_exists_and_no_forbidden_file_does():
    import chebact

    assert all(hasattr(chebact, name) for name in chebact.__all__)
    assert list(chebact.__all__) == sorted(chebact.__all__)
    forbidden = {"utils", "common", "base", "helpers"}
    assert not [name for name in MODULES if name.split(".")[-1] in forbidden]
