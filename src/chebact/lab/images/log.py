"""What a training gave, epoch by epoch, as a table in a file and as curves for TensorBoard."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from chebact.files import write_atomic
from chebact.lab.images.training import Epoch

__all__ = ["Curves", "write_log"]


def write_log(path: Path, history: Sequence[Epoch]) -> None:
    """Write one line an epoch under a line of names, as comma-separated values; the file is replaced in one step."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Epoch))
    writer.writerows(asdict(epoch).values() for epoch in history)
    write_atomic(path, text.getvalue().encode())


class Curves:
    """Curves that TensorBoard shows, in a folder of their own; needs the package tensorboard.

    After a restart, what was written beyond `start` epochs is shown no more.
    """

    def __init__(self, folder: Path, start: int = 0) -> None:
        try:
            from torch.utils.tensorboard.writer import SummaryWriter
        except ImportError as error:
            raise ModuleNotFoundError("curves for TensorBoard need its package: pip install tensorboard") from error
        self.writer = SummaryWriter(str(folder), purge_step=start + 1)

    def add(self, epoch: Epoch) -> None:
        """Add the numbers of an epoch."""
        for name, value in asdict(epoch).items():
            if name != "epoch":
                self.writer.add_scalar(name, value, epoch.epoch)
        self.writer.flush()

    def close(self) -> None:
        """Write out what is left."""
        self.writer.close()
