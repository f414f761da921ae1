"""Whether ciphertexts can be computed with here: TenSEAL is asked in a process of its own, which it may end."""

import subprocess
import sys
from functools import cache

import pytest


@cache
def why_not():
    done = subprocess.run([sys.executable, "-c", "import tenseal.sealapi"], capture_output=True, text=True)
    return "" if done.returncode == 0 else f"tenseal cannot be imported ({done.returncode}): {done.stderr[-200:]}"


def need_seal():
    """Skip the test where TenSEAL is missing or does not run on this processor."""
    if why_not():
        pytest.skip(why_not())
