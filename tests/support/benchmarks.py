"""The programs in the folders benchmarks, docs and examples as modules."""

import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def load_benchmark(name, monkeypatch=None, folder="benchmarks"):
    """One of them by name; in the import system with monkeypatch alone (dataclasses look there), until it is undone."""
    spec = importlib.util.spec_from_file_location(f"{name}_of_{folder}", ROOT / folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    if monkeypatch is not None:
        monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module
