"""The command that shows every kernel: whether it runs on this machine, and why not."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from rich import box
from rich.console import Console
from rich.table import Table

from chebact import kernels
from chebact.basis import Basis
from chebact.lab import LabError
from chebact.training import fused

__all__ = ["KernelRow", "kernel_rows", "show", "trainer_row"]

USUAL = Basis(3)  # the call that kernels are asked about: degree 3 with linear tails, as in the paper


@dataclass(frozen=True)
class KernelRow:
    """One kernel on this machine."""

    kernel: str
    device: str
    why_not: str | None
    threads: int | None = None
    layer: str | None = None

    @property
    def runs(self) -> bool:
        """Whether it can serve tensors here."""
        return self.why_not is None


def kernel_rows() -> list[KernelRow]:
    """One row per kernel, in the order of preference."""
    return [_row(name) for name in kernels.NAMES]


def trainer_row() -> KernelRow:
    """The row of the fused trainer of replicas."""
    name, serves, reason = "fused trainer", "replicas of a ResidualMLP", fused.why_not_here()
    if reason is not None:
        return KernelRow(name, serves, reason)
    from chebact.kernels.cpu.registers import native_lanes  # only where it runs
    from chebact.kernels.cpu.threads import available_threads

    return KernelRow(name, serves, None, available_threads(), f"Python threads, {native_lanes()} lanes")


def show() -> None:
    """Show every kernel and the fused trainer: whether it runs here and why not, its threads and what starts them."""
    choice = _choice()
    rows = [*kernel_rows(), trainer_row()]
    table = Table("kernel", "serves", "runs here", "threads", "threading layer", box=box.SIMPLE_HEAD)
    for row in rows:
        threads = "" if row.threads is None else str(row.threads)
        table.add_row(row.kernel, row.device, "yes" if row.runs else "no", threads, row.layer or "")
    console = Console()
    console.print(table)
    for row in rows:
        if not row.runs:
            console.print(f"{row.kernel}: not available, {row.why_not}", highlight=False, markup=False)
    console.print(choice, highlight=False, markup=False)


def _row(name: str) -> KernelRow:
    if name == "gpu":
        return _gpu_row()
    reason = kernels.why_not(name, torch.device("cpu"))
    if name == "reference":
        return KernelRow(name, "any tensor", reason, torch.get_num_threads(), "torch's own")
    if reason is not None:
        return KernelRow(name, "CPU tensors", reason)
    from chebact.kernels.cpu import threads as team  # only where the kernel runs
    from chebact.native import level

    return KernelRow(name, "CPU tensors", None, team.available_threads(), f"{team.threading_layer()}, {level()}")


def _gpu_row() -> KernelRow:
    if torch.cuda.is_available():
        device = torch.device("cuda")
        return KernelRow("gpu", "GPU tensors", kernels.why_not("gpu", device), layer=torch.cuda.get_device_name())
    reason = kernels.why_not("gpu", torch.device("cpu"))
    if reason is None:
        return KernelRow("gpu", "CPU tensors", None, 1, "Triton's interpreter")
    return KernelRow("gpu", "GPU tensors", "torch finds no GPU")


def _choice() -> str:
    try:
        asked = kernels.requested_kernel()
    except ValueError as error:
        raise LabError(str(error)) from None
    if asked is not None:
        return f"Asked for by CHEBACT_KERNEL: {asked}, which runs or raises its reason."
    chosen = kernels.choose(torch.device("cpu"), USUAL).name
    return f"For CPU tensors the choice is {chosen}. CHEBACT_KERNEL=NAME asks for one by name."
