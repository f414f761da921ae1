"""Which pictures the synthetic section shows, and of which records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chebact.lab.functions import DATASETS
from chebact.lab.page.axes import interval_keys
from chebact.lab.page.colours import model_keys
from chebact.lab.page.document import Block, Fold, Missing, Panel, Picture
from chebact.lab.page.learned import SHAPE_KEYS, shape_panel
from chebact.lab.synthetic.figures import NOISE_KEYS, curve_panel, interval_panel, layer_shapes, slice_panel
from chebact.lab.synthetic.record import Activations, SyntheticRecord
from chebact.networks.residual_mlp import ARCHITECTURES

__all__ = ["all_pictures"]

SUBJECT = "cl-extrapolate"
SHOWN = "gravity"  # the data set whose activations are drawn first
QUIET, LOUD = 0.01, 0.04


def all_pictures(records: Sequence[SyntheticRecord], form: str) -> list[Block]:
    """The pictures of one form of the recipes, in the order of the page; those that few need are folded."""
    levels = sorted({record.spec.noise for record in records})
    main = [block for noise in levels[:1] for block in intervals(records, form, noise)]
    more = [Fold(f"The same at noise {noise:g}", tuple(intervals(records, form, noise))) for noise in levels[1:]]
    slice_blocks, curve_blocks = slices(records, form, QUIET) + samples(records, form), curves(records, form)
    return [
        *main,
        *more,
        *learned(records, form),
        Fold("What the networks learned, along one input", tuple(slice_blocks)),
        *([Fold("Training loss", tuple(curve_blocks))] if curve_blocks else []),
    ]


def select_records(records: Sequence[SyntheticRecord], **wanted: object) -> list[SyntheticRecord]:
    """The records whose spec has these values, in the order of the data sets."""
    found = [record for record in records if all(getattr(record.spec, name) == value for name, value in wanted.items())]
    order = list(DATASETS)
    return sorted(found, key=lambda record: order.index(record.spec.dataset))


def legend(records: Sequence[SyntheticRecord]) -> dict[str, str]:
    """The models of records and their titles, in the order of the paper."""
    there = {record.spec.model for record in records}
    return {model: row.title for model, row in ARCHITECTURES.items() if model in there}


def learned(records: Sequence[SyntheticRecord], form: str) -> list[Block]:
    """The paper's first figure, and behind a fold the learned activations on every data set."""
    there = select_records(records, model=SUBJECT, noise=QUIET)
    kept = {record.spec.dataset: found for record in there if (found := record.results.activations) is not None}
    if not kept:
        sentence = (
            "The learned activations: no record of CL-extrapolate at noise 0.01 keeps any. Train into a new folder:"
        )
        command = f"chebact run synthetic --recipe {form} --models cl-extrapolate --noise 0.01 --results FOLDER"
        return [Missing(sentence, command)]
    first = SHOWN if SHOWN in kept else next(iter(kept))
    caption = (
        f"Activations of the CL-extrapolate network that learned {DATASETS[first].title} (seed 0). Before training "
        "every channel is zero; after it each has its own curve: channels 1 and 2 of the last activation, channel 1 "
        "of the first. The paper's first figure shows the same for CIFAR-10."
    )
    picture = Picture(f"before-after-{form}", caption, before_and_after(kept[first], f"ba-{form}"), SHAPE_KEYS)
    rest = tuple(
        Picture(
            f"shapes-{form}-{dataset}",
            f"{DATASETS[dataset].title}: each of the four activations, channel 1 above and channel 2 below, with the "
            "inputs that reach them on the test points.",
            learned_panels(found, f"sh-{form}-{dataset}"),
        )
        for dataset, found in kept.items()
    )
    return [picture, Fold("The learned activations of every layer, on each data set", rest)]


def before_and_after(kept: Activations, name: str) -> tuple[Panel, ...]:
    """One flat channel before training, then three after it."""
    before, after = layer_shapes(kept, before=True), layer_shapes(kept)
    shapes = [replace(before[-1][0], title="before training"), *after[-1], after[0][0]]
    return tuple(shape_panel(shape, f"{name}-{index}") for index, shape in enumerate(shapes))


def learned_panels(kept: Activations, name: str) -> tuple[Panel, ...]:
    """Layers across, channels down."""
    layers = layer_shapes(kept)
    return tuple(
        shape_panel(shape, f"{name}-{channel}-{index}")
        for channel in range(len(layers[0]))
        for index, shape in enumerate(layer[channel] for layer in layers)
    )


def intervals(records: Sequence[SyntheticRecord], form: str, noise: float) -> list[Block]:
    """RMSE of all models, one panel per data set."""
    own = select_records(records, noise=noise)
    panels = tuple(
        interval_panel(select_records(own, dataset=name), name, noise, f"iv-{form}-{noise:g}-{name}".replace(".", "-"))
        for name in dict.fromkeys(record.spec.dataset for record in own)
    )
    caption = (
        f"RMSE of every model at noise {noise:g}, {form} recipes. Left is better; the scale is logarithmic. An "
        "arrowhead marks a deviation that goes on beyond the axis."
    )
    keys = interval_keys(colour=model_keys(legend(own))[-1].colour, published=True)
    return [Picture(f"rmse-{form}-{noise:g}".replace(".", "-"), caption, panels, keys)]


def slices(records: Sequence[SyntheticRecord], form: str, noise: float) -> list[Block]:
    """The paper's sample plots: tanh (smooth) or ReLU (not smooth) beside CL-extrapolate."""
    shown = [
        record
        for dataset, recipe in DATASETS.items()
        for model in ("tanh" if recipe.smooth else "relu", SUBJECT)
        for record in select_records(records, dataset=dataset, model=model, noise=noise)
    ]
    if not shown:
        command = f"chebact run synthetic --recipe {form}"
        return [Missing(f"The slices at noise {noise:g}: their records are missing.", command)]
    caption = (
        f"What seed 0 has learned, along x0 with the other inputs at 0.5, at noise {noise:g}: tanh on the smooth "
        "functions and ReLU on the others, each beside CL-extrapolate. The number is the RMSE on the test points, "
        "which vary all inputs."
    )
    panels = tuple(slice_panel(each, f"sl-{form}-{each.spec.dataset}-{each.spec.model}") for each in shown)
    return [Picture(f"slices-{form}", caption, panels, (*NOISE_KEYS, *model_keys(legend(shown))))]


def samples(records: Sequence[SyntheticRecord], form: str) -> list[Block]:
    """CL-extrapolate at noise 0.04."""
    own = select_records(records, model=SUBJECT, noise=LOUD)
    if not own:
        command = f"chebact run synthetic --recipe {form} --models {SUBJECT} --noise {LOUD:g}"
        return [Missing(f"The samples at noise {LOUD:g}: their records are missing.", command)]
    caption = (
        f"The same at noise {LOUD:g}, CL-extrapolate only: how large that noise is, and what is learned through it."
    )
    panels = tuple(slice_panel(record, f"sm-{form}-{record.spec.dataset}") for record in own)
    return [Picture(f"samples-{form}", caption, panels, (*NOISE_KEYS, *model_keys(legend(own))))]


def curves(records: Sequence[SyntheticRecord], form: str) -> list[Block]:
    """Training loss over the epochs at noise 0.01."""
    own = select_records(records, noise=QUIET)
    there = dict.fromkeys(record.spec.dataset for record in own)
    panels = tuple(curve_panel(select_records(own, dataset=name), name, f"tc-{form}-{name}") for name in there)
    if not panels:
        return []
    caption = (
        "Training loss at noise 0.01, the mean over the seeds that did not diverge. Its floor is the noise itself: "
        "0.008, the mean distance from zero of a normal number of deviation 0.01."
    )
    return [Picture(f"curves-{form}", caption, panels, model_keys(legend(records_with_curve(own))))]


def records_with_curve(records: Sequence[SyntheticRecord]) -> list[SyntheticRecord]:
    """The records that have a curve: of a model whose seeds all diverged there is none."""
    return [record for record in records if any(loss is not None for loss in record.results.curve.loss)]
