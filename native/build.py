"""Compiles the sources beside this file for every level of this kind of processor: `python native/build.py`.

The compiler is the clang of the package ziglang, which an installation brings for that moment. What comes out lies in
`src/chebact/libraries`: one library for each level, and a manifest that `chebact.native` reads. A build that fails
leaves the reason there, and a working package.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / "src" / "chebact" / "libraries"
VARIABLE = "CHEBACT_BUILD"
# What every level may use is what torch asks a processor for before it names that level; no tuning that halves vectors.
LEVELS = {
    "x86_64": {
        "x86_64_v2": "x86_64_v2",
        "x86_64_v3": "x86_64_v2+avx2+fma",
        "x86_64_v4": "x86_64_v2+avx2+fma+avx512f+avx512bw+avx512dq+avx512vl",
    },
    "aarch64": {"aarch64": "generic"},
}
SYSTEMS = {"linux": ("linux-gnu.2.17", "so"), "darwin": ("macos", "dylib"), "win32": ("windows-gnu", "dll")}
# No contraction: fma is explicit, so that every level computes the same bits. psabi: vectors stay in the library.
FLAGS = (
    "-std=c++17", "-O3", "-g0", "-s", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti",
    "-fno-stack-protector", "-ffp-contract=off", "-fno-sanitize=all", "-Wall", "-Wextra", "-Werror", "-Wno-psabi",
    "-nostdlib++",
)  # fmt: skip


class BuildError(Exception):
    """Why there is no library, as one sentence without a stop."""


def machine() -> str:
    """The kind of processor, by one name on all systems."""
    return platform.machine().lower().replace("amd64", "x86_64").replace("arm64", "aarch64")


def compile_all(processor: str, system: str, suffix: str, folder: Path) -> dict[str, dict[str, str]]:
    """Compile every level for a kind of processor and a system; the file and the digest of each."""
    if processor not in LEVELS:
        raise BuildError(f"there is no compiled library for processors of the kind {processor}")
    if find_spec("ziglang") is None:
        raise BuildError("the package ziglang, which compiles it, is not installed")
    folder.mkdir(parents=True, exist_ok=True)

    def compiled(level: str) -> dict[str, str]:
        file, part = folder / f"{level}.{suffix}", folder / f"{level}.{os.getpid()}"
        target = ["-target", f"{processor}-{system}", f"-mcpu={LEVELS[processor][level]}"]
        command = [sys.executable, "-m", "ziglang", "cc", "-x", "c++", *FLAGS, *target, "-o", str(part)]
        done = subprocess.run([*command, str(HERE / "kernel.cpp")], capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or ["no message"]
            raise BuildError(f"the compiler failed for {level} ({lines[0]})")
        part.replace(file)
        return {"file": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(LEVELS[processor], pool.map(compiled, LEVELS[processor]), strict=True))


def build() -> str | None:
    """Compile for this machine, unless that is done; the reason why there is no library, or None."""
    files = sorted(HERE.glob("*.[chp]*"))
    manifest: dict[str, Any] = {"sources": hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()}
    target = FOLDER / "manifest.json"
    try:
        if os.environ.get(VARIABLE) == "none":
            raise BuildError(f"{VARIABLE}=none left the compiled library out of this installation")
        if _is_current(target, manifest["sources"]):
            return None
        system, suffix = SYSTEMS.get(sys.platform, ("", ""))
        if "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or ""):
            system = "linux-musl"
        manifest["libraries"] = compile_all(machine(), system, suffix, FOLDER)
    except (BuildError, OSError) as error:
        manifest["reason"] = str(error)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for file in FOLDER.iterdir() if "reason" in manifest else ():
        file.unlink()  # what was compiled from other sources, or is not wanted
    part = target.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(manifest, indent=1) + "\n")
    part.replace(target)
    return manifest.get("reason")


def _is_current(target: Path, sources: str) -> bool:
    """Whether the libraries that lie there were made from these sources and are whole."""
    try:
        made = json.loads(target.read_bytes())
        return made["sources"] == sources and all(
            hashlib.sha256((FOLDER / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]
            for entry in made["libraries"].values()
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


if __name__ == "__main__":
    failure = build()
    sys.exit(f"native/build.py: {failure}." if failure else None)
