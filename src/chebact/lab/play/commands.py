"""The command that writes and opens the playground."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from chebact.lab import LabError
from chebact.lab.play.page import render
from chebact.lab.play.shapes import shapes_in_model, shapes_in_record
from chebact.lab.store import write_whole

__all__ = ["play"]


def play(
    *,
    model: Path | None = None,
    record: Path | None = None,
    output: Path = Path("playground.html"),
    open: bool = True,
) -> None:
    """Write the playground, one page that needs nothing beside it, and open it in the browser.

    Parameters
    ----------
    model
        A file of torch.save whose learned activations are to be shown: a state dict or a whole model.
    record
        A record whose learned activations are to be shown.
    output
        The file to write.
    open
        Open the page once it is written.
    """
    if model is not None and record is not None:
        raise LabError("--model and --record came together: name one of them")
    sets = shapes_in_model(model) if model else shapes_in_record(record) if record else []
    source = model or record
    page = render(sets, source.name if source else "")
    if output.is_dir():
        raise LabError(f"cannot write {output}: it is a folder, and the name of a file is wanted")
    try:
        write_whole(output, page.encode())
    except OSError as error:
        raise LabError(f"cannot write {output}: {error.strerror}") from error
    print(output)
    if open and not webbrowser.open(output.resolve().as_uri()):
        print("No browser could be started here: open that file in one.")
