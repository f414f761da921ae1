"""The three networks, drawn, and the paper's table of the synthetic ones with their parameters counted."""

from __future__ import annotations

from chebact.lab.page.diagrams import DIAGRAM_KEYS, clinical_diagram, image_diagram, synthetic_diagram
from chebact.lab.page.document import Cell, Picture, Section, Table
from chebact.networks.residual_mlp import ARCHITECTURES, ResidualMLP

__all__ = ["networks_section"]

FEATURES = 3  # the paper counts parameters with three inputs
PRINTED = {"relu-2x-depth": 6500, "relu-2x-layers": 6500, "pcs-cl": 6785}
DIAGRAMS = {"synthetic": synthetic_diagram, "clinical": clinical_diagram, "images": image_diagram}
CAPTION = (
    "The networks: {}. σ is the activation that is compared; + adds a shortcut, ½ takes the mean of both. In the image "
    "network a shortcut that changes the shape is ReLU, two 1×1 convolutions and batch norm."
)
NAMES = {"synthetic": "synthetic functions", "clinical": "voice recordings", "images": "images"}


def networks_section(experiments: tuple[str, ...]) -> Section:
    """Diagrams of the networks of these experiments."""
    shown = [name for name in DIAGRAMS if name in experiments]
    picture = Picture(
        "networks-drawn",
        CAPTION.format(", ".join(NAMES[name] for name in shown)),
        tuple(DIAGRAMS[name]() for name in shown),
        DIAGRAM_KEYS,
    )
    blocks = (picture, parameter_table()) if "synthetic" in shown else (picture,)
    return Section("networks", "The networks", blocks)


def parameter_table() -> Table:
    """Blocks, layers and parameters; both forms counted by building them."""
    rows = []
    for index, (name, row) in enumerate(ARCHITECTURES.items()):
        released, paper = (count(name, form) for form in ("released", "paper"))
        printed = PRINTED.get(name, 3800 if "cl" in name or name == "wcp" else 3300)
        rows.append(
            (
                Cell(row.title, sort=float(index)),
                Cell(str(row.blocks), sort=row.blocks),
                Cell(str(row.layers), sort=row.layers),
                Cell(f"{released:,}", sort=released),
                Cell(f"{paper:,}", sort=paper),
                Cell(f"{printed:,}", sort=printed),
            )
        )
    heads = ("model", "blocks", "layers a block", "parameters", "with σ before the last layer", "the paper says")
    caption = (
        "The networks of the synthetic experiment with three inputs, their parameters counted. The published figures "
        "were made "
        "without an activation before the last layer in CL, WCP, PCS-CL and tanh-CL."
    )
    return Table("parameters", caption, heads, tuple(rows))


def count(name: str, form: str) -> int:
    network = ResidualMLP.from_table(name, FEATURES, form=form)  # type: ignore[arg-type]
    return sum(parameter.numel() for parameter in network.parameters())
