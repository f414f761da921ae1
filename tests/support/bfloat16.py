"""Tests on processors whose products in bfloat16 kill the process: asked once, before torch is imported.

The answer stands in the environment, where the worker processes of a session find it, and in pytest's folder, for the
next session on the same processor with the same torch.
"""

import json
import os
import platform
import runpy
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KNOWN = ROOT / ".pytest_cache" / "chebact-bfloat16.json"
VARIABLE = "CHEBACT_TESTS_BFLOAT16"
DIES = "import os, signal; os.kill(os.getpid(), signal.SIGILL)"
DIES_UNLIMITED = f"import os\nif os.environ.get('ONEDNN_MAX_CPU_ISA') != 'AVX512_CORE_BF16':\n    {DIES}"

posix = pytest.mark.skipif(os.name != "posix", reason="the system has no SIGILL to send")


def prepare():
    """Ask, limit this process and its children where that helps, and give the answer."""
    if VARIABLE not in os.environ:
        probe = runpy.run_path(str(ROOT / "src" / "chebact" / "bfloat16.py"))
        answer = remembered(probe)
        os.environ[VARIABLE] = answer
        if answer == "works limited":
            os.environ.update(probe["LIMIT"])
    return os.environ[VARIABLE]


def remembered(probe):
    """The answer of an earlier session, or a new one."""
    here = [processor(), version("torch"), probe["PROGRAM"], *(os.environ.get(name) for name in probe["LIMIT"])]
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(KNOWN.read_text())
        if known["here"] == here:
            return known["answer"]
    answer = probe["ask"](probe["PROGRAM"])
    with suppress(OSError):  # a folder that cannot be written to: asked again next time
        KNOWN.parent.mkdir(exist_ok=True)
        KNOWN.write_text(json.dumps({"here": here, "answer": answer}))
    return answer


def processor():
    """What tells this processor from another: its name and its instructions."""
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))})
    return platform.processor()


def in_words(answer):
    """What the head of a session says."""
    return {
        "works": "bfloat16 products: work",
        "works limited": "bfloat16 products kill a process here: the tests run with ONEDNN_MAX_CPU_ISA limited",
        "dies": "bfloat16 products kill a process here, whatever the limit: tests that need them are left out",
    }[answer]
