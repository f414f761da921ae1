"""The images in CIFAR-10's Python form. A pickle is a program, so its steps are read and none is run."""

from __future__ import annotations

import pickletools

import numpy

from chebact.lab.images.files import DataError

__all__ = ["read_pickled_batch"]

MAX_STEPS = 1_000_000  # a file of CIFAR-10 takes about 50,000
INTEGERS = ("INT", "BININT", "BININT1", "BININT2")
ENCODING = "latin1"  # newer Pythons write bytes into old pickles as text, with this word after it


def read_pickled_batch(content: bytes, where: str) -> tuple[numpy.ndarray, list[int]]:
    """The images (n, 3072) and the labels of a pickled batch; a DataError that names `where` if there are none.

    The longest text is taken for the images, the integers after the word `labels` for the labels. Whether they are the
    right ones is for the checksum to say.

    >>> import pickle
    >>> batch = {b"data": numpy.zeros((2, 3072), numpy.uint8), b"labels": [1, 2]}
    >>> images, labels = read_pickled_batch(pickle.dumps(batch, protocol=2), "here")
    >>> images.shape, labels
    ((2, 3072), [1, 2])
    """
    data, order, labels, key, flag = b"", "C", list[int](), b"", False
    try:
        for count, (step, value, _) in enumerate(pickletools.genops(content)):
            if count > MAX_STEPS:
                raise ValueError(f"it has more than {MAX_STEPS:,} steps")
            if step.name in ("NEWTRUE", "NEWFALSE") or type(value) is bool:
                flag = value is True or step.name == "NEWTRUE"
            elif step.name in INTEGERS and key == b"labels" and isinstance(value, int):
                labels.append(value)
            elif isinstance(value, str | bytes) and value != ENCODING:
                key = value if isinstance(value, bytes) else value.encode(ENCODING)
                if len(key) > len(data):  # the flag before the numbers of an array is whether columns come first
                    data, order = key, "F" if flag else "C"
        if not labels:
            raise ValueError("it has no labels")
        images = numpy.frombuffer(data, numpy.uint8).reshape((len(labels), 3072), order=order)  # type: ignore[call-overload]
    except Exception as error:  # a broken pickle raises anything
        reason = " ".join(str(error).split())
        raise DataError(f"{where} must hold a pickled batch of CIFAR-10, got another pickle ({reason})") from error
    return images, labels
