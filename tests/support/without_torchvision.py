"""A stand-in for torchvision while timm is imported: the few names that timm asks for then, none of which computes.

timm's models call nothing of torchvision; its data sets and transforms do, and with the stand-in they raise.
"""

import enum
import importlib
import sys
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import ModuleType

import torch

__all__ = ["has_torchvision", "torchvision_names"]

WITHOUT = "torchvision must be installed for {}, got a stand-in that only lets timm be imported"


class _Absent:
    def __init__(self, *args, **kwargs):
        raise ImportError(WITHOUT.format(type(self).__name__))


def _absent(name):
    return type(name, (_Absent,), {"__module__": __name__})


InterpolationMode = enum.Enum("InterpolationMode", "NEAREST BILINEAR BICUBIC BOX HAMMING LANCZOS")
DATASETS = ("CIFAR10", "CIFAR100", "FashionMNIST", "ImageFolder", "KMNIST", "MNIST")
NAMES = {
    "torchvision": {},
    "torchvision.datasets": {name: _absent(name) for name in DATASETS},
    "torchvision.ops": {},
    "torchvision.ops.misc": {"FrozenBatchNorm2d": _absent("FrozenBatchNorm2d")},  # for isinstance: no module is one
    "torchvision.transforms": {"ToTensor": _absent("ToTensor")},
    "torchvision.transforms.functional": {"InterpolationMode": InterpolationMode},
}
"""What timm 1.0 reads of each module while it is imported."""


def has_torchvision():
    """Whether torchvision imports.

    The compiled part of a wheel for CUDA does not load beside torch for CPUs; its Python part does, once the two
    operators that it asks for are declared.
    """
    before = set(_parts())
    for _ in range(2):
        try:
            importlib.import_module("torchvision")
            return True
        except (ImportError, RuntimeError, OSError) as error:
            for name in set(_parts()) - before:  # a failed import leaves what it had loaded
                del sys.modules[name]
            if _declared or "operator torchvision::" not in str(error):
                return False
            _declare_operators()
    return False


_declared = []


def _declare_operators():
    library = torch.library.Library("torchvision", "DEF")
    for operator in ("nms", "qnms"):
        library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _declared.append(library)


@contextmanager
def torchvision_names():
    """The stand-in as `torchvision` inside the block; afterwards sys.modules is as it was."""
    before = _parts()
    for name in before:
        del sys.modules[name]
    sys.modules.update(_modules())
    try:
        yield
    finally:
        for name in _parts():
            del sys.modules[name]
        sys.modules.update(before)


def _parts():
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torchvision"}


def _modules():
    made = {}
    for name, names in NAMES.items():
        made[name] = module = ModuleType(name)
        module.__spec__, module.__path__ = ModuleSpec(name, None, is_package=True), []
        vars(module).update(names)
        above, _, own = name.rpartition(".")
        if above:
            setattr(made[above], own, module)
    return made
