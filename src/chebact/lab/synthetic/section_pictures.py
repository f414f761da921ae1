"""Which pictures the synthetic section shows, and of which records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chebact.lab.page.axes import INTERVAL_KEYS
from chebact.lab.page.colours import model_keys
from chebact.lab.page.document import Block, Fold, Missing, Panel, Picture
from chebact.lab.page.learned import SHAPE_KEYS, shape_panel
from chebact.lab.store import Record
from chebact.lab.synthetic.figures import SLICE_KEYS, curve_panel, interval_panel, shapes_in, slice_panel
from chebact.lab.synthetic.recipes import DATASETS
from chebact.networks.residual_mlp import ARCHITECTURES

__all__ = ["all_pictures", "shapes_blocks"]

SUBJECT = "cl-extrapolate"
SHOWN = "gravity"  # whose activations stand for all
QUIET, LOUD = 0.01, 0.04


def all_pictures(records: Sequence[Record], form: str) -> list[Block]:
    """The pictures of one form of the recipes, in the order of the page."""
    blocks: list[Block] = []
    for noise in sorted({record.spec["noise"] for record in records}):
        blocks += intervals(records, form, noise)
    blocks += slices(records, form, QUIET)
    blocks += samples(records, form)
    blocks += curves(records, form)
    return blocks


def chosen(records: Sequence[Record], **wanted: object) -> list[Record]:
    """The records whose spec has these values."""
    return [record for record in records if all(record.spec[name] == value for name, value in wanted.items())]


def shapes_blocks(records: Sequence[Record], form: str) -> list[Block]:
    """The paper's first figure, and behind a fold the learned activations on every data set."""
    own = [record for record in chosen(records, model=SUBJECT, noise=QUIET) if record.results.get("activations")]
    if not own:
        return [
            Missing(
                "The learned activations: no record of CL-extrapolate at noise 0.01 keeps any. Train it into a new "
                "folder:",
                f"chebact run synthetic --recipes {form} --models cl-extrapolate --noise 0.01 --results FOLDER",
            )
        ]
    own.sort(key=lambda record: list(DATASETS).index(record.spec["dataset"]))
    first = next((record for record in own if record.spec["dataset"] == SHOWN), own[0])
    caption = (
        "Learned activations before training (the first two) and after it (the next two): channels 1 and 2 of the "
        "last "
        f"activation of the CL-extrapolate network that learned {title_of(first)}, seed 0. All values start at "
        "zero. The "
        "paper's first figure shows the same for CIFAR-10."
    )
    picture = Picture(f"before-after-{form}", caption, tuple(before_and_after(first, f"ba-{form}")), SHAPE_KEYS)
    rest = tuple(
        Picture(
            f"shapes-{form}-{record.spec['dataset']}",
            f"{title_of(record)}: each of the four activations, channel 1 above and channel 2 below, with what "
            "reaches them on "
            "the test points.",
            tuple(learned_panels(record, f"sh-{form}-{record.spec['dataset']}")),
        )
        for record in own
    )
    return [picture, Fold("The learned activations of every layer, on each data set", rest)]


def title_of(record: Record) -> str:
    return DATASETS[record.spec["dataset"]].title


def before_and_after(record: Record, name: str) -> list[Panel]:
    """The last activation's kept channels before training, then after it."""
    kept = record.results["activations"]
    return [
        shape_panel(replace(shape, title=f"{when}: channel {index + 1}"), f"{name}-{when}-{index}")
        for when, before in (("before", True), ("after", False))
        for index, shape in enumerate(shapes_in(kept, before=before)[-1])
    ]


def learned_panels(record: Record, name: str) -> list[Panel]:
    """Layers across, channels down."""
    layers = shapes_in(record.results["activations"])
    return [
        shape_panel(shape, f"{name}-{channel}-{index}")
        for channel in range(len(layers[0]))
        for index, shape in enumerate(layer[channel] for layer in layers)
    ]


def intervals(records: Sequence[Record], form: str, noise: float) -> list[Block]:
    """RMSE of all models, a panel a data set."""
    own = chosen(records, noise=noise)
    there = [name for name in DATASETS if chosen(own, dataset=name)]
    panels = tuple(
        interval_panel(chosen(own, dataset=name), name, noise, f"iv-{form}-{noise:g}-{name}".replace(".", "-"))
        for name in there
    )
    caption = (
        f"RMSE of every model at noise {noise:g}, {form} recipes. Dots: the seeds; blue: their mean and deviation; "
        "orange: the "
        "published mean and deviation. Left is better; the scale is logarithmic."
    )
    picture = Picture(f"rmse-{form}-{noise:g}".replace(".", "-"), caption, panels, INTERVAL_KEYS)
    return [picture] if noise == QUIET else [Fold(f"The same at noise {noise:g}", (picture,))]


def slices(records: Sequence[Record], form: str, noise: float) -> list[Block]:
    """The paper's sample plots: tanh (smooth) or ReLU (not smooth) beside CL-extrapolate."""
    panels = []
    for dataset, recipe in DATASETS.items():
        for model in ("tanh" if recipe.smooth else "relu", SUBJECT):
            panels += [
                slice_panel(record, f"sl-{form}-{dataset}-{model}")
                for record in chosen(records, dataset=dataset, model=model, noise=noise)
            ]
    if not panels:
        return [
            Missing(
                f"The slices at noise {noise:g}: their records are missing.", f"chebact run synthetic --recipes {form}"
            )
        ]
    caption = (
        f"What seed 0 has learned, along x0 with the other inputs at 0.5, at noise {noise:g}: tanh on the smooth "
        "functions and "
        "ReLU on the others, each beside CL-extrapolate. The RMSE is that on the test points, which vary all inputs."
    )
    return [Picture(f"slices-{form}", caption, tuple(panels), SLICE_KEYS)]


def samples(records: Sequence[Record], form: str) -> list[Block]:
    """CL-extrapolate at noise 0.04."""
    own = chosen(records, model=SUBJECT, noise=LOUD)
    order = list(DATASETS)
    own.sort(key=lambda record: order.index(record.spec["dataset"]))
    if not own:
        command = f"chebact run synthetic --recipes {form} --models {SUBJECT} --noise {LOUD:g}"
        return [Missing(f"The samples at noise {LOUD:g}: their records are missing.", command)]
    caption = (
        f"The same with noise {LOUD:g}, CL-extrapolate only: how large that noise is, and what is learned through it."
    )
    panels = tuple(slice_panel(record, f"sm-{form}-{record.spec['dataset']}") for record in own)
    return [Picture(f"samples-{form}", caption, panels, (SLICE_KEYS[0], SLICE_KEYS[1], SLICE_KEYS[3]))]


def curves(records: Sequence[Record], form: str) -> list[Block]:
    """Training loss over the epochs at noise 0.01."""
    own = chosen(records, noise=QUIET)
    there = [name for name in DATASETS if chosen(own, dataset=name)]
    panels = tuple(curve_panel(chosen(own, dataset=name), name, f"tc-{form}-{name}") for name in there)
    if not panels:
        return []
    caption = (
        "Training loss at noise 0.01, the mean over the seeds that stayed finite. Its floor is the noise itself: "
        "0.008, the "
        "mean distance of a normal number of deviation 0.01 from zero."
    )
    drawn = {record.spec["model"] for record in own}
    keys = model_keys({model: row.title for model, row in ARCHITECTURES.items() if model in drawn})
    return [Picture(f"curves-{form}", caption, panels, keys)]
