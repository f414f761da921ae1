"""Who imports whom: down the layers of the design, never sideways or up."""

import ast
import importlib
import subprocess
import sys
import types
from functools import cache
from pathlib import Path

import pytest

from chebact.lab.experiments import EXPERIMENTS

SOURCE = Path(__file__).resolve().parents[2] / "src" / "chebact"
LAYERS = [
    [
        "bfloat16",
        "checks",
        "channels",
        "copies",
        "files",
        "lazy_parameter",
        "native",
        "text_table",
        "torch_modes",
        "watchers",
        "wide",
    ],
    ["node_positions"],
    ["basis"],
    ["kernels.layout", "kernels.protocol", "kernels.scaling"],
    ["kernels.cpu.*", "kernels.gpu.*"],
    ["kernels.reference", "kernels.cpu", "kernels.gpu"],
    ["kernels.selection"],
    ["kernels.fast_path"],
    ["kernels"],
    ["autograd", "compiled"],
    ["graph_calls"],
    ["functional"],
    ["interpolation"],
    ["pieces"],
    ["initial", "fixed_point", "formula", "learned", "symbolic"],
    ["activations", "curvature"],
    ["states", "table"],
    ["recording"],
    ["surgery.kinds", "surgery.report", "surgery.sources"],
    ["surgery.axes", "surgery.comparing", "surgery.trials"],
    ["surgery.observing", "surgery.rewriting"],
    ["plotting", "networks.*", "surgery.*"],
    ["export.elements", "export.folding", "export.program"],
    ["export.c.*", "export.reading.*"],
    ["export.*"],
    ["ranges.bounds.*"],
    ["private.*", "ranges.*"],
    ["training.losses"],
    ["training.task", "training.fused.ops.*"],
    ["training.fused.*"],
    ["training.*"],
    ["estimators.*"],
    ["lab.*"],
    ["lab.page.*"],
    ["lab.commands.*"],
    [*(f"lab.{name}.*" for name in EXPERIMENTS), "lab.bench.*", "lab.play.*", "lab.fit.*"],
    ["lab.cli"],
    ["__main__"],
]
SHOWING = (
    "rows",
    "tables",
    "sheets",
    "figures",
    "section",
    "section_pictures",
    "agreement",
    "explanations",
)
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
            if name == pattern or (pattern != stem and f"{name}.".startswith(stem)):
                fitting.append((name == pattern, len(stem), height))
    assert fitting, f"{name} has no layer: add it to the list in tests/project/test_layers.py"
    return max(fitting)[-1]


def imports(name):
    """The names that a module imports anywhere in its text, type checking aside."""
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


@cache
def inner_imports(name):
    found = set()
    for full in imports(name):
        parts = full.split(".")
        if parts[0] == "chebact":
            inner = parts[1:]
            while ".".join(inner) not in MODULES:
                inner = inner[:-1]
            found.add(".".join(inner))
    return found


@pytest.mark.parametrize("name", sorted(set(MODULES) - FREE))
def test_imports_go_down_the_layers(name):
    for other in inner_imports(name) - {name}:
        if not other:
            assert name.split(".")[0] in ("lab", "__main__"), f"{name} imports all of chebact"
            continue
        sideways = level(name) == level(other) and folder(name) == folder(other) != ""
        assert level(other) < level(name) or sideways or name.startswith(other + "."), f"{name} imports {other}"


def folder(name):
    """The package that a module stands in; a package stands in itself."""
    return name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]


def test_no_module_reaches_itself():
    assert not [name for name in MODULES if name in reached(name)]


KERNELS = ("reference", "cpu", "gpu")


@pytest.mark.parametrize("name", sorted(n for n in MODULES if n.startswith("kernels.")))
def test_kernels_never_import_each_other(name):
    own = name.removeprefix("kernels.").partition(".")[0]
    for other in inner_imports(name):
        kind = other.removeprefix("kernels.").partition(".")[0]
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


def test_what_runs_and_what_shows_never_reach_each_other():
    runs = {f"lab.{subject}.run" for subject in EXPERIMENTS}
    shows = {f"lab.{subject}.{name}" for subject in EXPERIMENTS for name in SHOWING} & set(MODULES)
    shows |= {name for name in MODULES if name.startswith("lab.page.")}
    assert runs <= set(MODULES)
    assert not [(name, found) for name in runs for found in reached(name) & shows]
    assert not [(name, found) for name in shows for found in reached(name) & runs]


def test_only_the_command_line_and_the_page_read_the_table_of_experiments():
    readers = {name for name in MODULES if "lab.experiments" in inner_imports(name)}
    assert "lab.cli" in readers
    assert {name for name in readers if not name.startswith("lab.page.")} == {"lab.cli"}


@pytest.mark.parametrize("subject", EXPERIMENTS)
def test_a_spec_stands_below_what_runs_and_what_shows(subject):
    above = {f"lab.{subject}.{name}" for name in ("run", "training", "models", "commands", *SHOWING)}
    assert f"lab.{subject}.spec" in MODULES
    assert not reached(f"lab.{subject}.spec") & above


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


def public_modules():
    return sorted(name for name in MODULES if name and name.split(".")[0] not in ("lab", "__main__", "basis"))


@pytest.mark.parametrize(
    "name", [name for name in public_modules() if not name.startswith(("kernels.", "training.fused.ops"))]
)
def test_public_modules_say_what_is_theirs(name):
    module = importlib.import_module(f"chebact.{name}")
    assert all(hasattr(module, each) for each in module.__all__)


def test_no_name_of_chebact_is_a_module_and_something_else():
    import chebact

    for name in chebact.__all__:
        found = getattr(chebact, name)
        assert isinstance(found, types.ModuleType) == (name in MODULES), name
    assert callable(chebact.nodes)
    assert callable(chebact.polynomial)
