"""Digests of what a CPU kernel computes: every form, type, kind of tails, interval and layout, bit for bit.

`python kernel_digests.py KERNEL [STEP]` prints them as JSON, or every STEP-th of them. Inputs come from integer random
numbers and exact operations, and the matrices of a basis, which LAPACK computes with other roundings on another
processor, are rounded to few bits before a kernel reads them. So a digest depends on the kernel alone.
"""

import hashlib
import itertools
import json
import sys
from functools import cache

import numpy
import torch

from chebact import kernels
from chebact.basis import Basis
from chebact.checks import TAILS
from chebact.kernels.layout import Sizes

DEGREES = (*range(1, 17), 17, 30, 101, 333, 1000)
INTERVALS = ((-1.0, 1.0), (-3.0, 5.0), (100.0, 101.0))
TYPES = (torch.float32, torch.float64)
HALF_TYPES = (torch.float16, torch.bfloat16)
SMALL = (
    Sizes(1, 5, 3, 71),
    Sizes(2, 3, 2, 16),
    Sizes(1, 1, 1, 333),
    Sizes(1, 7, 37, 1),
    Sizes(3, 7, 16, 1),
    Sizes(2, 9, 5, 7),
    Sizes(1, 1, 1, 1),
)
LARGE = (
    Sizes(1, 40, 2, 1700),  # several tasks, and sums longer than the lanes add up in one go
    Sizes(1, 5, 1, 70_000),
    Sizes(1, 4001, 37, 1),
    Sizes(1, 230, 48, 1),
    Sizes(2, 1300, 3, 15),
    Sizes(1, 260, 3, 5),
)
LARGE_DEGREES = (1, 2, 3, 4, 5, 8, 15, 17)
BITS = 12
SHIFT = 0.3819660112501051  # where entries are cut; many lie at a half or a whole number
MATRICES = ("pieces", "power_pieces", "series", "paired_powers")


@cache
def rounded_basis(*options):
    """A basis whose matrices have at most `BITS` bits, and the same on every processor; so has its derivative.

    LAPACK's errors grow with the degree, and one entry of a million that is rounded the other way changes the digest:
    so few bits that none comes near a middle. It equals the true one, whose place it takes in every cache: only for a
    process of its own.
    """
    basis = Basis(*options)
    for name in MATRICES:
        if (name == "power_pieces" and not basis.by_powers) or (name == "paired_powers" and basis.degree > 16):
            continue
        matrix = getattr(basis, name)
        unit = 2.0 ** (numpy.ceil(numpy.log2(abs(matrix).max() or 1.0)) - BITS)
        basis.__dict__[name] = numpy.floor(matrix / unit + SHIFT) * unit
    if basis.order < 2:
        *first, order = options
        basis.__dict__["_derivative"] = rounded_basis(*first, order + 1)
    return basis


def cases(step):
    """Name of the line that a case belongs to, basis options, sizes and type."""
    for degree, tails, dtype in itertools.islice(itertools.product(DEGREES, TAILS, TYPES), 0, None, step):
        name = f"degree {degree} {tails} {str(dtype).removeprefix('torch.')}"
        for k, interval in enumerate(INTERVALS):
            parameters = "coefficients" if k == 1 else "values"
            for sizes in SMALL[:3] + SMALL[5:6] if degree > 100 else SMALL:
                yield name, (degree, tails, min(3, degree + 1), interval, parameters, k % 2), sizes, dtype
        for sizes in LARGE if degree in LARGE_DEGREES else ():
            yield name, (degree, tails, 2, (-1.0, 1.0), "values", 0), sizes, dtype


def drawn(count, seed):
    """Numbers in [-1, 1) that are the same on every machine."""
    return numpy.random.Generator(numpy.random.PCG64(seed)).integers(-(2**40), 2**40, count) / 2.0**40


def tensors(options, sizes, dtype):
    """x with the nodes among it, the gradient and the heights: of one channel all equal, of another one large."""
    degree, (a, b) = options[0], options[3]
    count = int(numpy.prod(sizes))
    x = torch.from_numpy((a + b) / 2 + (b - a) * 0.75 * drawn(count, degree)).to(dtype)
    places = torch.from_numpy(numpy.array([float(p) for p in nodes(options)])[: count // 2])
    x[: len(places)] = places.to(dtype)
    heights = torch.from_numpy(2 * drawn(sizes.replicas * sizes.channels * (degree + 1), 7)).to(dtype)
    heights = heights.view(sizes.replicas, sizes.channels, degree + 1)
    if sizes.channels > 1:
        heights[:, 0], heights[:, 1] = heights[:, 0, :1].clone(), heights[:, 1] * 2.0**60
    return x.view(sizes), torch.from_numpy(drawn(count, 11)).to(dtype).view(sizes), heights


def nodes(options):
    from chebact.node_positions import exact_nodes

    return exact_nodes(options[0], options[3])


def bits(tensor):
    """The bytes of a tensor, any NaN as the same one and -0 as it is."""
    return torch.where(tensor.isnan(), torch.nan, tensor).contiguous().view(torch.uint8).numpy().tobytes()


def special(options, dtype):
    """Numbers at the edge of a type, in one row and in two columns."""
    (a, b), info = options[3], torch.finfo(dtype)
    numbers = [0.0, 1e-30, info.smallest_normal / 8, 1e4, 1e30, info.max, torch.inf, torch.nan]
    numbers += [p * (1 + s * info.eps) for p in (a, b) for s in (0, 1, -1)]
    x = torch.tensor([s * number for number in numbers for s in (1, -1)], dtype=dtype)
    return x, (Sizes(1, 1, 1, len(x)), Sizes(1, len(x) // 2, 2, 1))


def digests(name, step=1):
    """Digests of value, gradient of x and gradient of the heights per degree, kind of tails and type."""
    module, sums = kernels.selection.load_kernel(name), {}
    for line, options, sizes, dtype in cases(step):
        basis, (x, grad, heights) = rounded_basis(*options), tensors(options, sizes, dtype)
        out, for_x = torch.full_like(x, torch.nan), torch.full_like(x, torch.nan)
        module.evaluate(x, heights, basis, sizes, out)
        for_heights = module.gradients(x, grad, heights, basis, sizes, for_x)
        shas = sums.setdefault(line, [hashlib.sha256() for _ in range(3)])
        for sha, tensor in zip(shas, (out, for_x, for_heights), strict=True):
            sha.update(bits(tensor))
        if sizes == SMALL[0]:
            edge, shapes = special(options, dtype)
            for shape in shapes:
                _, grad, heights = tensors(options, shape, dtype)
                module.evaluate(edge, heights, basis, shape, out := torch.empty_like(edge))
                module.gradients(edge, grad, heights, basis, shape, for_x := torch.empty_like(edge))
                shas[0].update(bits(out))
                shas[1].update(bits(for_x))
    return {line: " ".join(sha.hexdigest()[:12] for sha in shas) for line, shas in sums.items()} | half_digests(name)


def half_digests(name):
    """The same for types that are computed in float32, in three orders of memory."""
    found = {}
    for degree, dtype in itertools.product((3, 5, 9, 30), HALF_TYPES):
        sha, basis = hashlib.sha256(), rounded_basis(degree, "extrapolate", 2, (-1.0, 1.0), "values", 0)
        x, grad, heights = tensors((degree, "", 2, (-1.0, 1.0)), Sizes(1, 6, 5, 12), torch.float32)
        x, grad, heights = x[0].to(dtype), grad[0].to(dtype), heights[0].to(dtype)
        with kernels.use(name):
            for axis, order in ((1, (0, 1, 2)), (2, (0, 2, 1)), (0, (1, 0, 2))):
                turned, pushed = x.permute(order), grad.permute(order)
                sha.update(bits(kernels.evaluate(turned, heights, basis, axis, False)))
                for tensor in kernels.gradients(turned, pushed, heights, basis, axis, False):
                    sha.update(bits(tensor))
        found[f"degree {degree} {str(dtype).removeprefix('torch.')}"] = sha.hexdigest()[:12]
    return found


if __name__ == "__main__":
    print(json.dumps(digests(sys.argv[1], *map(int, sys.argv[2:])), indent=1))
