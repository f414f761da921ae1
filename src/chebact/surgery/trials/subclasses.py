"""A class of its own for one module: a subclass that the class it comes from does not hear of."""

from __future__ import annotations

from typing import Any

from torch import nn

__all__ = ["subclass_of"]


class _Unheard(nn.Module):
    """First of the bases, so that `__init_subclass__` of the others does not run: registries keep what they hold."""

    def __init_subclass__(cls, **_: Any) -> None:
        pass


def subclass_of(origin: type[nn.Module], members: dict[str, Any]) -> Any:
    """A subclass of that name with these members.

    >>> made = subclass_of(nn.ReLU, {"size": 3})
    >>> made.__name__, issubclass(made, nn.ReLU), made.size
    ('ReLU', True, 3)
    """
    bases = (origin,) if issubclass(origin, _Unheard) else (_Unheard, origin)
    return type(origin.__name__, bases, members)
