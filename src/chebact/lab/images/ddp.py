"""Several processes that train one network together, as `python -m torch.distributed.run` starts them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

__all__ = ["ALONE", "Team", "TeamError", "team"]

VARIABLES = ("RANK", "MASTER_ADDR", "MASTER_PORT")


class TeamError(RuntimeError):
    """An environment that names a team but not how to meet it; the message is one sentence that says what to do."""


@dataclass(frozen=True)
class Team:
    """This process among those that train together: its number and how many there are."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process writes what all of them know."""
        return self.rank == 0

    @property
    def share(self) -> slice:
        """Which rows of a batch are this process's own."""
        return slice(self.rank, None, self.size)

    def together(self, network: nn.Module, idle: bool = False) -> nn.Module:
        """The network whose backward pass averages the gradients over all processes; alone, the network itself."""
        if self.size == 1:
            return network
        on_gpu = next(network.parameters()).device.type == "cuda"
        devices = [torch.cuda.current_device()] if on_gpu else None
        return DistributedDataParallel(network, device_ids=devices, find_unused_parameters=idle)

    def add_(self, numbers: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        if self.size > 1:
            dist.all_reduce(numbers)
        return numbers

    def same_buffers_(self, network: nn.Module) -> None:
        """Give all processes the first one's buffers, such as the running means of batch norm."""
        if self.size > 1:
            for buffer in network.buffers():
                dist.broadcast(buffer, 0)

    def gathered(self, value: Any) -> list[Any]:
        """What each process has, in the order of their numbers."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def told(self, say: Callable[[], Any]) -> Any:
        """What the first process says, in all processes; an error that it meets is raised in all of them.

        >>> ALONE.told(lambda: 3)
        3
        """
        if self.size == 1:
            return say()
        answer: list[Any] = [None, None]
        if self.leads:
            try:
                answer[0] = say()
            except Exception as error:
                answer[1] = error
        dist.broadcast_object_list(answer, 0)
        if answer[1] is not None:
            raise answer[1]
        return answer[0]


ALONE = Team()


@contextmanager
def team(device: str = "cpu") -> Iterator[Team]:
    """The team that the environment of torch.distributed.run names, or this process alone.

    >>> with team() as alone:
    ...     alone.rank, alone.size
    (0, 1)
    """
    said = os.environ.get("WORLD_SIZE", "1")
    if said == "1":
        yield ALONE
        return
    missing = [name for name in VARIABLES if not os.environ.get(name)]
    if missing or not said.isdecimal():
        raise TeamError(
            f"the environment says WORLD_SIZE={said}, but {', '.join(missing) or 'that'} is not set as "
            "torch.distributed.run sets it: start with `python -m torch.distributed.run`, or unset WORLD_SIZE"
        )
    if device.startswith("cuda"):
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    try:
        yield Team(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()
