"""One flow for every report: read and filter the records, show their tables, write the files asked for and the page."""

from __future__ import annotations

import io
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.status import Status

from chebact import __version__
from chebact.lab import LabError
from chebact.lab.options import AllRecords, Flat, Several, about
from chebact.lab.output import check_folder, check_outputs, make_folder, save, wide_console
from chebact.lab.page.documents import update_document
from chebact.lab.page.page import as_html, sections_of
from chebact.lab.page.results import Results, read_results
from chebact.lab.page.sheet import as_csv, as_json

__all__ = [
    "NO_FILES",
    "FileOptions",
    "Files",
    "View",
    "check_no_record",
    "check_packages",
    "report",
    "report_everything",
    "tell",
    "write_files",
]

RESULTS = Path("results")
PAGE = Path("report")


@dataclass(frozen=True)
class Files:
    """Where to write what is shown."""

    markdown: Annotated[Path | None, about("Write the tables to this file as Markdown.")] = None
    text: Annotated[Path | None, about("Write the tables to this file as plain text.")] = None
    csv: Annotated[Path | None, about("Write the rows to this file as comma-separated values.")] = None
    json: Annotated[Path | None, about("Write the rows to this file as JSON.")] = None
    update: Annotated[
        tuple[Path, ...], Several, about("Documents whose marked blocks are to be filled from the records.")
    ] = ()

    @property
    def paths(self) -> tuple[Path | None, ...]:
        """The files to write."""
        return self.markdown, self.text, self.csv, self.json


@dataclass(frozen=True)
class Page:
    """Where the page is written."""

    output: Annotated[
        Path | None,
        about("Folder of the page, index.html; without it the page goes to `report` unless another file is asked for."),
    ] = None
    open: Annotated[bool, Parameter(negative=()), about("Open the page in the browser once it is written.")] = False


NO_FILES, USUAL_PAGE = Files(), Page()
FileOptions = Annotated[Files, Flat]
PageOptions = Annotated[Page, Flat]


@dataclass(frozen=True)
class View:
    """What is shown: rows as plain data, tables on a console of that width, the blocks of documents by name, and
    drawings for separate files. The blocks are the tables as Markdown; `also` are blocks of documents only.
    """

    rows: Sequence[Mapping[str, Any]]
    show: Callable[[Console], None]
    blocks: Mapping[str, str]
    also: Mapping[str, str] = field(default_factory=dict)
    drawings: Mapping[Path, Callable[[], bytes]] = field(default_factory=dict)
    width: int = 120
    folders: tuple[Path, ...] = ()  # to make for the drawings


def report(
    experiment: str,
    results: Path,
    files: Files,
    page: Page,
    keep: Callable[[Any], bool],
    view: Callable[[Sequence[Any]], View],
) -> None:
    """Show the records of an experiment that `keep` lets pass; the page is written unless another file is asked for.

    `keep` and `view` get typed records.
    """
    check_no_record(results, *files.paths)
    check_outputs(files=files.paths, folders=(page.output,), documents=files.update)
    found = read_results(results)
    records = [record for record in found.records_of(experiment) if keep(record.typed)]
    if not records:
        raise LabError(
            f"no {experiment} records below {results} are of that kind: `chebact run {experiment}` makes some"
        )
    shown = view([record.typed for record in records])
    wrote = write_files(shown, files)
    if page != USUAL_PAGE or not wrote:
        write_page((experiment,), replace(found, records=records), page)


def write_files(view: View, files: Files) -> bool:
    """Show the tables and write every file that is asked for; whether there was one."""
    view.show(wide_console(view.width))
    contents: list[tuple[Path | None, Callable[[], str]]] = [
        (files.text, lambda: as_text(view)),
        (files.markdown, lambda: "\n".join(view.blocks.values())),
        (files.csv, lambda: as_csv(view.rows)),
        (files.json, lambda: as_json(view.rows)),
    ]
    for path, content in contents:
        if path is not None:
            save(path, content().encode())
    for folder in view.folders:
        make_folder(folder, "--output")
    for path, draw in view.drawings.items():
        save(path, draw())
    for document in files.update:
        update_document(document, {**view.also, **view.blocks})
    return bool(files != NO_FILES or view.drawings)


def as_text(view: View) -> str:
    """What is shown, as plain text."""
    text = io.StringIO()
    view.show(Console(file=text, width=view.width))
    return text.getvalue()


def report_everything(*, results: AllRecords = RESULTS, page: PageOptions = USUAL_PAGE) -> None:
    """Write the page of all experiments; it says what was not run yet."""
    check_folder(page.output or PAGE, "--output")
    write_page(None, read_results(results), page)


def write_page(experiments: Sequence[str] | None, results: Results, page: Page) -> None:
    """Write the page of these experiments, or of all, into a folder and print its path."""
    output = page.output or PAGE
    if not results.records:
        raise LabError(f"there are no records below {results.folder}: run an experiment first (`chebact run --help`)")
    check_folder(output, "--output")
    check_packages("jinja2", "matplotlib")
    foot = f"Made by chebact {__version__} from the {len(results.records):,} records below {results.folder}."
    console = Console(stderr=True)
    with console.status("drawing") as status:
        sections = sections_of(results, experiments, lambda title: tell_drawing(title, console, status))
    content = as_html(sections, foot).encode()
    make_folder(output, "--output")
    save(output / "index.html", content)
    tell(f"the page: {output / 'index.html'} ({len(content) / 1e6:.1f} MB)")
    if page.open and not webbrowser.open((output / "index.html").resolve().as_uri()):
        tell("no browser could be started here: open that file in one")


def tell_drawing(title: str, console: Console, status: Status) -> None:
    """Print what is drawn next: on a line that changes, or on one line each where the output is no terminal."""
    if console.is_terminal:
        status.update(f"drawing: {title}")
    else:
        tell(f"drawing: {title}")


def check_no_record(results: Path, *paths: Path | None) -> None:
    """A LabError for a file among the records, where later reports would read it as one."""
    for path in paths:
        if path is not None and path.suffix == ".json" and path.resolve().is_relative_to(results.resolve()):
            raise LabError(f"{path} is among the records of {results}, where only records may be: write it elsewhere")


def check_packages(*packages: str) -> None:
    """A LabError that says how to install a package that drawing needs."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise LabError(f"the page needs {', '.join(missing)}: pip install 'chebact[lab]'")


def tell(sentence: str) -> None:
    """Print a sentence on the error stream."""
    Console(stderr=True).print(sentence, highlight=False, markup=False, soft_wrap=True)
