"""The figures of the image experiment on the page: curves, captured units, and where their inputs lie."""

from __future__ import annotations

from collections.abc import Sequence

from chebact.lab.images.figures import comparable_groups, curve_panel, shape_of
from chebact.lab.images.record import ImageRecord, Unit
from chebact.lab.images.sets import IMAGE_DATASETS
from chebact.lab.images.spec import ImageSpec
from chebact.lab.images.tables import activation_title, count_epochs
from chebact.lab.images.unit_table import unit_sheet
from chebact.lab.page.colours import look_of, model_keys
from chebact.lab.page.document import Block, Fold, Key, Missing, Panel, Picture
from chebact.lab.page.learned import SHAPE_KEYS, shape_panel
from chebact.lab.starts import PAPER, RELEASED, start_words, weight_words

__all__ = ["curve_pictures", "describe_inputs", "unit_blocks"]

UNIT = (258, 178)
UNITS = (
    "Units before the last captured convolution (the paper's figure: the last linear layer of a ResNet-32), two per "
    "set and start after training, by number. Before training all learned units of a record are the same, so each "
    "start has one panel: the paper's is zero. ReLU is the same everywhere and has one too. Bars: the inputs that up "
    "to 500 test images send there."
)


def curve_pictures(records: Sequence[ImageRecord]) -> list[Block]:
    """Accuracy and loss by epoch of every group of comparable records."""
    groups = comparable_groups(records)
    panels = tuple(
        curve_panel(group, curve, describe_run(group[0].spec), f"im-{index}-{curve}".replace("_", "-"))
        for curve in ("test_accuracy", "train_loss")
        for index, group in enumerate(groups)
    )
    caption = "Test accuracy and training loss by epoch, one line per seed."
    return [Picture("im-curves", caption, panels, curve_keys(records))] if panels else []


def curve_keys(records: Sequence[ImageRecord]) -> tuple[Key, ...]:
    """The legend of the curves: a colour per activation, dashed for heights that do not start from zeros."""
    usual = {spec.activation: activation_title(spec.activation) for spec in specs_of(records) if spec.init == PAPER}
    others = dict.fromkeys((spec.activation, spec.init) for spec in specs_of(records) if spec.init != PAPER)
    dashed = (Key("dash", look_of(name)[0], activation_title(name, init)) for name, init in others)
    return (*model_keys(usual), *dashed)


def specs_of(records: Sequence[ImageRecord]) -> list[ImageSpec]:
    return [record.spec for record in records]


def unit_blocks(records: Sequence[ImageRecord]) -> list[Block]:
    """The paper's first figure for every set, and in a fold all captured units, with those of ReLU after the learned
    ones of the same training; what was not captured is said.
    """
    blocks: list[Block] = []
    captured = [record for record in records if record.results.captures.after]
    learning = [record for record in captured if learns(record)]
    if learning:
        panels = first_figure(learning, [record for record in captured if not learns(record)])
        blocks.append(Picture("im-before-after", UNITS, panels, SHAPE_KEYS))
    if (measured := unit_sheet(records)) is not None:
        blocks.append(measured)
    if captured:
        ordered = [record for group in comparable_groups(captured) for record in sorted(group, key=starts_last)]
        pictures = tuple(unit_picture(record, f"im-{index}") for index, record in enumerate(ordered))
        blocks.append(Fold("All captured units", pictures))
    for record in records:
        if not record.results.captures.after:
            title = f"{activation_title(record.spec.activation, record.spec.init)}, {describe_run(record.spec)}"
            blocks.append(Missing(f"{title}: the units were not captured, since the first seed diverged."))
    return blocks


def learns(record: ImageRecord) -> bool:
    """Whether its captured units have learned heights."""
    return any(unit.values is not None for unit in record.results.captures.before)


def starts_last(record: ImageRecord) -> tuple[bool, ...]:
    """What sorts learned units first, and of these the usual starts and trainings on all images before others."""
    spec = record.spec
    return not learns(record), spec.init != PAPER, spec.start != RELEASED, spec.subset is not None


def last_units(units: Sequence[Unit]) -> list[Unit]:
    """The captured units before the last of the captured convolutions."""
    last = max(unit.convolution for unit in units)
    return [unit for unit in units if unit.convolution == last]


def first_figure(learning: Sequence[ImageRecord], others: Sequence[ImageRecord]) -> tuple[Panel, ...]:
    """One unit of every start, zeros first, before training; one of an activation that does not learn; two of every set
    and start after training.
    """
    starts, shown = dict[str, ImageRecord](), dict[tuple[str, str], ImageRecord]()
    for record in sorted(learning, key=starts_last):
        starts.setdefault(record.spec.init, record)
        shown.setdefault((record.spec.dataset, record.spec.init), record)
    shapes = [
        shape_of(last_units(record.results.captures.before)[0], record.spec, f"before, {init}: every unit")
        for init, record in starts.items()
    ]
    for record in others[:1]:
        title = f"{activation_title(record.spec.activation)}: every unit"
        shapes.append(shape_of(last_units(record.results.captures.after)[0], record.spec, title))
    for record in shown.values():
        title = set_and_start(record.spec)
        units = last_units(record.results.captures.after)[:2]
        shapes += [shape_of(unit, record.spec, f"{title}: {unit.unit + 1}") for unit in units]
    return tuple(shape_panel(shape, f"im-ba-{index}") for index, shape in enumerate(shapes))


def unit_picture(record: ImageRecord, name: str) -> Picture:
    """The captured units of a record after training."""
    panels = tuple(
        shape_panel(shape_of(unit, record.spec), f"{name}-{index}", size=UNIT)
        for index, unit in enumerate(record.results.captures.after)
    )
    caption = (
        f"{describe_run(record.spec)}, {activation_title(record.spec.activation, record.spec.init)}: the first units "
        "before the 6th and the 13th convolution after training, with the inputs that up to 500 test images send "
        "there, from the least to the greatest."
    )
    own = Key("line", look_of(record.spec.activation)[0], "the activation")
    keys = SHAPE_KEYS if learns(record) else (own, next(key for key in SHAPE_KEYS if key.look == "bar"))
    return Picture(f"{name}-units", caption, panels, keys)


def describe_inputs(records: Sequence[ImageRecord]) -> str:
    """How many inputs of the learned activations are outside the interval, from the captured units."""
    shares = []
    for record in records:
        units = [unit for unit in record.results.captures.after if unit.values is not None]
        first = min((unit.convolution for unit in units), default=0)
        outside = [unit.inputs.outside for unit in units if unit.convolution == first]
        if outside:
            title = set_and_start(record.spec)
            shares.append(f"{title}: {min(outside):.0%} to {max(outside):.0%} before convolution {first}")
    if not shares:
        return ""
    return (
        "After training many inputs of the learned activations lie outside [-1, 1], where the curves are straight "
        f"lines ({'; '.join(shares)}): the tails do much of the work."
    )


def describe_run(spec: ImageSpec) -> str:
    """Set, epochs, part of the images and first weights of a record."""
    part = "" if spec.subset is None else f", {spec.subset:,} images"
    return f"{IMAGE_DATASETS[spec.dataset].title}, {count_epochs(spec.epochs)}{part}{short_start(spec)}"


def set_and_start(spec: ImageSpec) -> str:
    return IMAGE_DATASETS[spec.dataset].title + start_words(spec.init) + short_start(spec)


def short_start(spec: ImageSpec) -> str:
    """What the weights start from, as short as the head of a panel needs it."""
    return weight_words(spec.start).removesuffix(" weights")
