"""The commands that make image records again, and how a training differs from the paper's."""

from __future__ import annotations

from collections.abc import Iterable

from chebact.lab.images.spec import CONTROL, ONLY_LEARNED, ImageSettings, ImageSpec, Subjects, paper_spec
from chebact.lab.options import options
from chebact.lab.spec import as_plain
from chebact.table import ACTIVATIONS

__all__ = ["image_commands", "unusual_options"]

IN_TABLES = ("epochs", "seeds", "subset")  # every table shows these


def image_commands(specs: Iterable[ImageSpec]) -> list[str]:
    """One command for the specs that differ in the activation only."""
    models: dict[str, set[str]] = {}
    for spec in specs:
        team = f"python -m torch.distributed.run --standalone --nproc-per-node {spec.processes} -m "
        start = f"{'' if spec.processes == 1 else team}chebact run images --datasets {spec.dataset}"
        words = options(as_plain(spec), paper_spec(spec.dataset), ImageSettings)
        models.setdefault(" ".join([start, *words]), set()).add(spec.activation)
    return [command + models_option(names) for command, names in models.items()]


def models_option(names: set[str]) -> str:
    """The option that names these models; empty for the default ones."""
    if names == set(Subjects().models):
        return ""
    known = [name for name in ACTIVATIONS if name in names]
    return f" --models {' '.join([*known, *sorted(names - set(known))])}"


def unusual_options(spec: ImageSpec) -> tuple[str, str]:
    """The options that are not the paper's: of the training, and of the learned shapes (empty for ReLU)."""
    plain, learned = as_plain(spec), set(ONLY_LEARNED) - {"seeds"}
    training = {name: value for name, value in plain.items() if name not in (*learned, *IN_TABLES)}
    shapes = {name: value for name, value in plain.items() if name in learned and spec.activation != CONTROL}
    first, second = (", ".join(options(part, paper_spec(spec.dataset), ImageSettings)) for part in (training, shapes))
    return first, second
