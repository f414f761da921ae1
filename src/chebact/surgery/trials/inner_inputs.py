"""What the layers inside of a model are given: where the last layer starts at zero, the output alone shows nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import nn

from chebact.surgery.trials.comparing import difference_between, is_same
from chebact.torch_modes import transforms_active

__all__ = ["Arguments", "InnerInputs", "layers_that_compute"]

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class InnerInputs:
    """Compares what layers are given in a run with what they were given before, call by call, and keeps neither.

    `before` has the arguments of each call by the name of the layer. A layer that is called another number of times is
    not compared.
    """

    def __init__(self, model: nn.Module, before: Mapping[str, Sequence[Arguments]]) -> None:
        self.before = before
        self.layers = [(name, part) for name, part in model.named_modules() if name in before]
        self._reset()

    def _reset(self) -> None:
        self._calls, self._apart = Counter[str](), dict[str, float | None]()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Compare the calls inside the block, those of an earlier block aside."""
        self._reset()
        with ExitStack() as stack:
            for name, layer in self.layers:
                hook = self._make_hook(name)
                stack.callback(layer.register_forward_pre_hook(hook, prepend=True, with_kwargs=True).remove)
            yield

    def _make_hook(self, name: str) -> Any:
        def compare(layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if transforms_active():
                return
            call = self._calls[name]
            self._calls[name] += 1
            if call < len(self.before[name]) and not is_same((args, kwargs), self.before[name][call]):
                self._apart.setdefault(name, difference_between((args, kwargs), self.before[name][call]))

        return compare

    def differences(self) -> dict[str, float | None]:
        """The layers that were given something else, in order, and by how much; None is another form."""
        return {name: apart for name, apart in self._apart.items() if self._is_compared(name)}

    def agreeing(self) -> dict[str, Sequence[Arguments]]:
        """The layers that were given the same, and what."""
        same = (name for name, _ in self.layers if self._is_compared(name) and name not in self._apart)
        return {name: self.before[name] for name in same}

    def _is_compared(self, name: str) -> bool:
        return self._calls[name] == len(self.before[name])


def layers_that_compute(model: nn.Module) -> set[str]:
    """The names of the modules that use what they are given themselves: those without children or with weights.

    >>> sorted(layers_that_compute(nn.Sequential(nn.Linear(1, 1), nn.Sequential(nn.Flatten()))))
    ['0', '1.0']
    """
    return {
        name
        for name, part in model.named_modules()
        if not any(True for _ in part.children()) or any(True for _ in part.parameters(recurse=False))
    }
