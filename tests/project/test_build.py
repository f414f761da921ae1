"""The build of the library: what it leaves when it cannot compile, and when it compiles again."""

import json
import runpy
import sys
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def build(tmp_path, monkeypatch):
    """The functions of native/build.py, which write to a folder of this test."""
    monkeypatch.delenv("CHEBACT_BUILD", raising=False)
    functions = runpy.run_path(str(ROOT / "native" / "build.py"))
    functions["build"].__globals__["FOLDER"] = tmp_path
    return functions["build"]


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


def test_variable_leaves_the_library_out_and_the_manifest_says_so(build, tmp_path, monkeypatch):
    monkeypatch.setenv("CHEBACT_BUILD", "none")
    (tmp_path / "x86_64_v3.so").write_bytes(b"of an earlier build")
    reason = build()
    assert reason == "CHEBACT_BUILD=none left the compiled library out of this installation"
    assert manifest(tmp_path)["reason"] == reason
    assert "libraries" not in manifest(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["manifest.json"]


def test_build_without_a_compiler_is_a_reason(build, tmp_path, monkeypatch):
    monkeypatch.setitem(build.__globals__, "find_spec", lambda name: None)
    assert "the package ziglang, which compiles it, is not installed" in build()
    assert manifest(tmp_path)["reason"] == build()


def test_sources_that_do_not_compile_are_a_reason_with_the_compilers_first_error(build, tmp_path, monkeypatch):
    pytest.importorskip("ziglang")
    sources = tmp_path / "sources"
    sources.mkdir()
    monkeypatch.setitem(build.__globals__, "HERE", sources)
    monkeypatch.setitem(build.__globals__, "FOLDER", tmp_path / "libraries")
    (sources / "kernel.cpp").write_text("this is no C++\n")
    reason = build()
    assert reason.startswith("the compiler failed for ")
    assert "kernel.cpp:1" in reason
    assert [file.name for file in (tmp_path / "libraries").iterdir()] == ["manifest.json"]


def test_processor_that_nothing_is_known_of_is_a_reason(build, monkeypatch):
    monkeypatch.setitem(build.__globals__, "machine", lambda: "pdp11")
    assert build() == "there is no compiled library for processors of the kind pdp11"


def test_libraries_are_made_anew_when_sources_or_libraries_changed_and_only_then(build, tmp_path, monkeypatch):
    made = []

    def compile_all(processor, system, suffix, folder):
        made.append(processor)
        folder.mkdir(exist_ok=True)
        (folder / "level.so").write_bytes(b"code")
        return {"level": {"file": "level.so", "sha256": build.__globals__["hashlib"].sha256(b"code").hexdigest()}}

    sources = tmp_path / "sources"
    sources.mkdir()
    monkeypatch.setitem(build.__globals__, "HERE", sources)
    monkeypatch.setitem(build.__globals__, "FOLDER", tmp_path / "libraries")
    monkeypatch.setitem(build.__globals__, "compile_all", compile_all)
    (sources / "kernel.cpp").write_text("one")
    assert [build(), build(), len(made)] == [None, None, 1]
    (sources / "kernel.cpp").write_text("two")
    assert [build(), build(), len(made)] == [None, None, 2]
    (tmp_path / "libraries" / "level.so").write_bytes(b"altered")
    assert [build(), build(), len(made)] == [None, None, 3]


def test_wheel_without_the_library_is_for_any_machine_and_says_why(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CHEBACT_BUILD", "none")
    hook = runpy.run_path(str(ROOT / "native" / "hook.py"))
    builder = WheelBuilder(str(ROOT))
    written = {}
    monkeypatch.setattr(runpy, "run_path", lambda path: {"build": lambda: "no reason at all"})
    hook["NativeBuildHook"](
        str(ROOT), {}, builder.config, builder.metadata, str(tmp_path), "wheel", builder.app
    ).initialize("standard", written)
    assert written == {}
    assert "chebact will work without its compiled library, slower: no reason at all." in "".join(capsys.readouterr())


def test_wheel_with_the_library_is_for_this_system_and_any_python(tmp_path, monkeypatch):
    hook = runpy.run_path(str(ROOT / "native" / "hook.py"))
    builder = WheelBuilder(str(ROOT))
    written = {}
    monkeypatch.setattr(runpy, "run_path", lambda path: {"build": lambda: None})
    hook["NativeBuildHook"](
        str(ROOT), {}, builder.config, builder.metadata, str(tmp_path), "wheel", builder.app
    ).initialize("standard", written)
    assert written["pure_python"] is False
    assert written["tag"].startswith("py3-none-")
    assert sys.platform.split("32")[0] in written["tag"]
