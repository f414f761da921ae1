"""Networks as C: compiled with the system's cc, and run through ctypes or as a program."""

import ctypes
import itertools
import shutil
import subprocess

import numpy
import pytest
import torch

import chebact

STRICT = ["-std=c99", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-O2"]
KINDS = {"float": ctypes.c_float, "double": ctypes.c_double}
TOLERANCE = {"float": 1e-6, "double": 1e-12}
_numbers = itertools.count()


def compiler():
    """The path of cc; the test is skipped where there is none."""
    found = shutil.which("cc")
    if found is None:
        pytest.skip("there is no C compiler cc on this machine")
    return found


def compile_c(path, *options):
    """The function `network` of a file."""
    library = path.with_name(f"{path.stem}{next(_numbers)}.so")  # a library of the same name would not be loaded again
    command = [compiler(), *STRICT, *options, "-shared", "-fPIC", str(path), "-o", str(library), "-lm"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return ctypes.CDLL(str(library)).network


def run_c(function, rows, outputs, real, space=None):
    """The outputs (row, outputs) of the function for each row of a tensor."""
    kind, found = KINDS[real], []
    for row in rows:
        out = (kind * (outputs + 1))()
        out[outputs] = 77.0  # nothing is written after the last one
        numbers = row.flatten().tolist()
        arguments = [(kind * len(numbers))(*numbers), out]
        if space is not None:
            arguments.append((kind * max(1, space))(*[float("nan")] * space))
        function(*arguments)
        assert out[outputs] == 77.0
        assert list(arguments[0]) == list((kind * len(numbers))(*numbers))
        found.append(out[:outputs])
    return numpy.array(found)


def assert_c_agrees(network, x, folder, real="double", **choices):
    """C gives what the network gives in float64, relative to its largest output; returns the path of the file."""
    network = network.double()
    path = chebact.to_c(network, folder / "network.c", example=x[:1], real=real, **choices)
    with torch.no_grad():
        wanted = torch.stack([network.eval()(row.unsqueeze(0)).flatten() for row in x]).numpy()
    got = run_c(compile_c(path), x, wanted.shape[1], real)
    limit = TOLERANCE[real] * numpy.abs(wanted).max()
    numpy.testing.assert_allclose(got, wanted, rtol=0, atol=limit)
    return path
