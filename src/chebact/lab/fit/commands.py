"""The commands that learn one's own table and predict with what was learned."""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any, Literal

from rich.console import Console

from chebact.estimators import load_model, save_model
from chebact.lab import LabError
from chebact.lab.columns.encoding import Encoding
from chebact.lab.columns.reading import read_sheet
from chebact.lab.fit.scores import make_estimator, most_folds, scores
from chebact.lab.options import Integer, Several
from chebact.lab.output import check_file, check_folder, make_folder, save
from chebact.lab.progress import tell

__all__ = ["fit", "predict"]

MODEL, TABLE, PICTURE = "model.npz", "table.json", "activations.svg"
FEWEST = 10  # rows, to learn from


def fit(
    data: Path,
    /,
    *,
    target: str,
    task: Literal["auto", "regression", "classification"] = "auto",
    output: Path = Path("model"),
    drop: Annotated[tuple[str, ...], Several] = (),
    folds: Integer = 5,
    seed: Integer = 0,
) -> None:
    """Learn one column of a table from the others: scores by cross-validation, a saved model, a picture.

    Parameters
    ----------
    data
        A file of comma-separated values with a line of column names. Columns of texts become one column per value.
    target
        The column to learn.
    task
        Regression for numbers or classification for classes; auto takes texts and few integers for classes.
    output
        Folder to write the model and the picture of its activations into.
    drop
        Columns to leave out.
    folds
        Parts of the cross-validation; 0 or 1 leaves it out.
    seed
        Of the folds and of the networks.
    """
    check_folder(output, "--output")
    console = Console(stderr=True)
    sheet = read_sheet(data)
    encoding = Encoding.of(sheet, target, task, drop)
    x, y = encoding.x(sheet), encoding.y(sheet)
    kinds = f"{x.shape[1]} columns after texts became 0 and 1" if x.shape[1] > len(encoding.inputs) else "all numbers"
    tell(console, f"{data}: {len(x)} rows, {len(encoding.inputs)} inputs ({kinds}); {encoding.task} of {target!r}")
    if len(x) < FEWEST:
        raise LabError(f"{data} must have {FEWEST} rows or more, got {len(x)}")
    parts = most_folds(encoding.task, y, folds)
    for title, name, mean, spread, seconds in scores(encoding.task, x, y, parts, seed) if parts > 1 else ():
        tell(console, f"{title}: {name} {mean:.4f} ± {spread:.4f} over {parts} folds, {seconds:.1f} s")
    model, start = make_estimator(encoding.task, seed), time.perf_counter()
    try:
        model.fit(x, y)
    except ValueError as error:
        raise LabError(f"{data} cannot be learned: {error}") from error
    make_folder(output, "--output")
    save_model(model, output / MODEL)
    save(output / TABLE, (json.dumps(encoding.as_plain(), indent=1, ensure_ascii=False) + "\n").encode())
    save(output / PICTURE, picture_of(model, x))
    tell(console, f"fitted on all rows in {time.perf_counter() - start:.1f} s; the model: {output / MODEL}")
    tell(console, f"its learned activations: {output / PICTURE}")
    tell(console, f"to use it: chebact predict {output} DATA.csv")


def picture_of(model: Any, x: Any) -> bytes:
    """The learned activations of the first network as SVG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 8.4), layout="constrained")
    model.plot_activations(x, figure=figure)
    file = io.BytesIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()


def predict(model: Path, data: Path, /, *, output: Path | None = None) -> None:
    """Predict the rows of a table with a model of `chebact fit`.

    Parameters
    ----------
    model
        The folder that `chebact fit` wrote.
    data
        A file with the columns that the model was fitted on; others are not looked at.
    output
        The file to write; without it the predictions are shown.
    """
    if output is not None:
        check_file(output)
    estimator, encoding = read_model(model)
    x = encoding.x(read_sheet(data))
    rows = predicted(estimator, encoding, x)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    if output is None:
        sys.stdout.write(text.getvalue())
    else:
        save(output, text.getvalue().encode())
        tell(Console(stderr=True), f"{len(x)} predictions: {output}")


def read_model(folder: Path) -> tuple[Any, Encoding]:
    """The estimator and the encoding in a folder; a LabError where there is none."""
    try:
        encoding = Encoding.from_plain(json.loads((folder / TABLE).read_text(encoding="utf-8")))
        return load_model(folder / MODEL), encoding
    except OSError as error:
        raise LabError(f"cannot read a model from {folder}: {error.strerror}; `chebact fit` writes one") from error
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(f"{folder} does not hold a model that chebact wrote: fit it again") from error


def predicted(estimator: Any, encoding: Encoding, x: Any) -> list[list[Any]]:
    """A line of names, then a line per row: the prediction with its deviation, or the class with all probabilities."""
    if encoding.task == "regression":
        mean, std = estimator.predict(x, return_std=True)
        pairs = zip(mean.tolist(), std.tolist(), strict=True)
        return [[encoding.target, "std"], *([f"{m:.8g}", f"{s:.3g}"] for m, s in pairs)]
    shares = estimator.predict_proba(x)
    classes = [str(each) for each in estimator.classes_]
    lines = [[classes[row.argmax()], *(f"{each:.4f}" for each in row)] for row in shares]
    return [[encoding.target, *(f"p({name})" for name in classes)], *lines]
