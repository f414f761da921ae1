"""Data as batches of inputs of a model: one input, or an iterable of batches such as a DataLoader."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torch import Tensor

from chebact.checks import check_integer, must_be

__all__ = ["input_batches"]

KINDS = "a tensor, a tuple of inputs, a dict of them by name, or an iterable of batches such as a DataLoader"


def input_batches(name: str, data: Any, inputs: int | None = None) -> Iterator[Any]:
    """The batches of `data`, each a tensor, a tuple of inputs or a dict of them, as `run_once` takes them.

    A tensor, tuple or dict is one batch. Of an iterable, every item is one; `inputs` is then the number of its leading
    entries that the model takes, and must be given if an item is a sequence of several, which may hold labels.

    >>> [batch.shape for batch in input_batches("data", [Tensor(2, 3), Tensor(1, 3)])]
    [torch.Size([2, 3]), torch.Size([1, 3])]
    """
    if inputs is not None:
        check_integer("inputs", inputs, least=1)
    if isinstance(data, Tensor | tuple | Mapping):
        yield data
        return
    if not isinstance(data, Iterable) or isinstance(data, str | bytes) or hasattr(data, "__array__"):
        raise TypeError(must_be(name, KINDS, data, "pass torch.as_tensor(...)" if hasattr(data, "__array__") else ""))
    number = 0
    for number, batch in enumerate(data, 1):  # noqa: B007
        yield _inputs_of(name, batch, inputs)
    if not number:
        raise ValueError(must_be(name, "one batch or more", data))


def _inputs_of(name: str, batch: Any, inputs: int | None) -> Any:
    if isinstance(batch, Tensor | Mapping):
        return batch
    if not isinstance(batch, list | tuple):
        raise TypeError(must_be(f"a batch of {name}", "a tensor, a sequence of tensors or a dict", batch))
    if inputs is None and len(batch) != 1:
        raise ValueError(
            f"inputs must be the number of leading entries of a batch that the model takes, got None for batches of "
            f"{len(batch)} entries; set inputs=1 if the others are labels"
        )
    return tuple(batch[:inputs])
