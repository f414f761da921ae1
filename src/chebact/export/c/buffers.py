"""The work space of a program: a place for each vector, which is free again after its last reader."""

from __future__ import annotations

from collections.abc import Collection

from chebact.export.program import Program

__all__ = ["place_vectors"]


def place_vectors(program: Program, pointwise: Collection[str]) -> tuple[dict[int, int], int]:
    """The offset of each vector between input and output, and the size of the work space, in numbers.

    A step of a `pointwise` kind writes over an input that nothing reads afterwards. Places are given to the largest
    vectors first, each at the lowest offset that is free while it is needed.

    >>> from chebact.export.program import Step
    >>> steps = [Step("linear", (k,), 10) for k in range(4)]
    >>> place_vectors(Program(3, tuple(steps)), ())
    ({1: 0, 2: 10, 3: 0}, 20)
    """
    last = len(program.steps)
    ends = {each: index for index, step in enumerate(program.steps, 1) for each in step.inputs}
    owner: dict[int, int] = {}
    spans: dict[int, tuple[int, int]] = {}
    for index, step in enumerate(program.steps[:-1], 1):
        over = [each for each in step.inputs if each and ends[each] == index] if step.kind in pointwise else []
        owner[index] = owner[over[0]] if over else index
        begin = spans[owner[index]][0] if over else index
        spans[owner[index]] = (begin, ends.get(index, index))
    sizes = {index: program.steps[index - 1].size for index in spans}
    placed: dict[int, int] = {}
    for index in sorted(spans, key=lambda each: (-sizes[each], each)):
        taken = sorted(
            (placed[other], placed[other] + sizes[other])
            for other in placed
            if spans[other][0] <= spans[index][1] and spans[index][0] <= spans[other][1]
        )
        placed[index] = _lowest(taken, sizes[index])
    space = max((placed[index] + sizes[index] for index in placed), default=0)
    return {index: placed[owner[index]] for index in range(1, last)}, space


def _lowest(taken: list[tuple[int, int]], size: int) -> int:
    """The lowest offset with room for a size between ranges, which are sorted by their starts."""
    offset = 0
    for start, end in taken:
        if offset + size <= start:
            break
        offset = max(offset, end)
    return offset
