"""The command that writes and opens the playground."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

from chebact.lab import LabError
from chebact.lab.options import about
from chebact.lab.output import check_file, save
from chebact.lab.play.page import render
from chebact.lab.play.saved_models import shapes_in_model
from chebact.lab.play.shapes import shapes_in_record

__all__ = ["play"]

MODEL = "A file of torch.save whose learned activations to show: a state dict or a complete model."


def play(
    *,
    model: Annotated[Path | None, about(MODEL)] = None,
    record: Annotated[Path | None, about("A record whose learned activations to show.")] = None,
    output: Annotated[Path, about("The file to write.")] = Path("playground.html"),
    open: Annotated[bool, about("Open the page once it is written.")] = True,
) -> None:
    """Write the playground, one self-contained page, and open it in the browser."""
    if model is not None and record is not None:
        raise LabError("--model and --record must not be given together: name one of them")
    check_file(output)
    sets = shapes_in_model(model) if model else shapes_in_record(record) if record else []
    source = model or record
    page = render(sets, source.name if source else "")
    save(output, page.encode())
    print(output)
    if open and not webbrowser.open(output.resolve().as_uri()):
        print("No browser could be started here: open that file in one.")
