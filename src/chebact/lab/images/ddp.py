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

from chebact.lab import LabError

__all__ = ["SINGLE_PROCESS", "Team", "TeamError", "join_team"]

VARIABLES = ("RANK", "MASTER_ADDR", "MASTER_PORT")


class TeamError(LabError):
    """An environment that names a team but not how to join it."""


@dataclass(frozen=True)
class Team:
    """This process among those that train together: its number and how many there are."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process writes files and messages for all of them."""
        return self.rank == 0

    @property
    def share(self) -> slice:
        """The rows of a batch that this process computes."""
        return slice(self.rank, None, self.size)

    def parallelize(self, network: nn.Module, has_idle_parameters: bool = False) -> nn.Module:
        """The network whose backward pass averages the gradients over all processes; for one process, itself."""
        if self.size == 1:
            return network
        on_gpu = next(network.parameters()).device.type == "cuda"
        devices = [torch.cuda.current_device()] if on_gpu else None
        return DistributedDataParallel(network, device_ids=devices, find_unused_parameters=has_idle_parameters)

    def add_(self, numbers: Tensor) -> Tensor:
        """The sum over all processes, in place."""
        if self.size > 1:
            dist.all_reduce(numbers)
        return numbers

    def broadcast_buffers_(self, network: nn.Module) -> None:
        """Give all processes the buffers of the leader, such as the running means of batch norm."""
        if self.size > 1:
            for buffer in network.buffers():
                dist.broadcast(buffer, 0)

    def gather(self, value: Any) -> list[Any]:
        """The value of each process, in the order of their numbers."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def broadcast_from_leader(self, compute: Callable[[], Any]) -> Any:
        """What the leader computes, in all processes; an error that it meets is raised in all of them.

        >>> SINGLE_PROCESS.broadcast_from_leader(lambda: 3)
        3
        """
        if self.size == 1:
            return compute()
        answer: list[Any] = [None, None]
        if self.leads:
            try:
                answer[0] = compute()
            except Exception as error:
                answer[1] = error
        dist.broadcast_object_list(answer, 0)
        if answer[1] is not None:
            raise answer[1]
        return answer[0]


SINGLE_PROCESS = Team()


@contextmanager
def join_team(device: str = "cpu") -> Iterator[Team]:
    """The team that the environment of torch.distributed.run names, or this process only.

    >>> with join_team() as team:
    ...     team.rank, team.size
    (0, 1)
    """
    size = os.environ.get("WORLD_SIZE", "1")
    if size == "1":
        yield SINGLE_PROCESS
        return
    missing = [name for name in VARIABLES if not os.environ.get(name)]
    if missing or not size.isdecimal():
        raise TeamError(
            f"the environment says WORLD_SIZE={size}, but {', '.join(missing) or 'that'} is not set as "
            "torch.distributed.run sets it: start with `python -m torch.distributed.run`, or unset WORLD_SIZE"
        )
    if device.startswith("cuda"):
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    try:
        yield Team(dist.get_rank(), dist.get_world_size())
        dist.barrier()  # nobody leaves while another is still connected
    finally:
        dist.destroy_process_group()
