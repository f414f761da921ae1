"""The progress of image trainings on a console."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console

from chebact.lab.images.run import Watch
from chebact.lab.images.spec import ImageSpec
from chebact.lab.images.training import Epoch
from chebact.lab.progress import progress_bar, tell, time_left

__all__ = ["TrainingProgress", "percent"]


def percent(accuracy: float | None) -> str:
    """An accuracy between 0 and 1 in words."""
    return "diverged" if accuracy is None else f"{100 * accuracy:.2f} %"


class TrainingProgress:
    """A bar over all epochs of some specs, with a line for each epoch that ends."""

    def __init__(self, specs: Sequence[ImageSpec], console: Console) -> None:
        self.specs, self.console = list(specs), console
        self.total = sum(spec.seeds * spec.epochs for spec in specs)
        self.before = 0  # epochs of the specs that are done
        self.spent, self.gained = 0.0, 0.0  # seconds and epochs that this process has seen

    @contextmanager
    def show(self, spec: ImageSpec) -> Iterator[Watch]:
        """Within this context a bar shows the progress of a spec."""
        if spec not in self.specs:
            yield Watch()
            return
        head = f"run {self.specs.index(spec) + 1} of {len(self.specs)}: {spec.activation} on {spec.dataset}"
        with progress_bar(self.console) as progress:
            task = progress.add_task(head, total=spec.seeds * spec.epochs, left="")
            first: list[float] = []

            def on_start(seed: int, epochs_done: int) -> None:
                if epochs_done and epochs_done < spec.epochs:
                    tell(progress.console, f"seed {seed} continues after epoch {epochs_done}")

            def on_step(seed: int, epoch: int, step: int, steps: int) -> None:
                done = seed * spec.epochs + epoch - 1 + step / steps
                first.append(done) if not first else None
                spent, gained = self.spent + (progress.tasks[0].elapsed or 0), self.gained + done - first[0]
                left = time_left(spent, gained, self.total - self.before - done)
                where = f"{head}, seed {seed}, epoch {epoch} of {spec.epochs}"
                progress.update(task, completed=done, description=where, left=left)

            def on_epoch(seed: int, epoch: Epoch) -> None:
                accuracy = percent(epoch.test_accuracy)
                tell(
                    progress.console,
                    f"{spec.activation}, seed {seed}, epoch {epoch.epoch}: training loss {epoch.train_loss:.4f}, "
                    f"test loss {epoch.test_loss:.4f}, test accuracy {accuracy}, {epoch.seconds:.1f} s",
                )

            yield Watch(on_start, on_step, on_epoch)
            self.spent += progress.tasks[0].elapsed or 0
            self.gained += spec.seeds * spec.epochs - (first[0] if first else 0)
            self.before += spec.seeds * spec.epochs
