"""The results of a training, epoch by epoch: a table in a file, and curves for TensorBoard."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from chebact.files import write_atomic
from chebact.lab.images.training import Epoch

__all__ = ["Log"]


class Log:
    """`log.csv` in a folder, and with `tensorboard` curves in a folder beside it, which need the package tensorboard.

    After a restart, TensorBoard no longer shows what was written after the first `start` epochs.
    """

    def __init__(self, folder: Path, start: int = 0, tensorboard: bool = False) -> None:
        self.path, self.curves = folder / "log.csv", None
        if tensorboard:
            try:
                from torch.utils.tensorboard.writer import SummaryWriter
            except ImportError as error:
                raise ModuleNotFoundError("curves for TensorBoard need its package: pip install tensorboard") from error
            self.curves = SummaryWriter(str(folder / "tensorboard"), purge_step=start + 1)

    def add(self, history: Sequence[Epoch]) -> None:
        """Write the table of all epochs, and add the numbers of the last one to the curves."""
        self.write(history)
        if self.curves is not None:
            for name, value in asdict(history[-1]).items():
                if name != "epoch":
                    self.curves.add_scalar(name, value, history[-1].epoch)
            self.curves.flush()

    def write(self, history: Sequence[Epoch]) -> None:
        """One line per epoch under a line of names, as comma-separated values; the file is replaced in one step."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(field.name for field in fields(Epoch))
        writer.writerows(asdict(epoch).values() for epoch in history)
        write_atomic(self.path, text.getvalue().encode())

    def close(self, history: Sequence[Epoch]) -> None:
        """Write the table once more, and the end of the curves."""
        self.write(history)
        if self.curves is not None:
            self.curves.close()
