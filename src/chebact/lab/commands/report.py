"""The commands that write the report page and the pictures of the README."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from chebact import __version__
from chebact.lab import LabError
from chebact.lab.output import check_folder, make_folder, save
from chebact.lab.page.page import Kind, as_html, sections_of
from chebact.lab.page.readme_pictures import readme_pictures
from chebact.lab.page.results import Results, read_results

__all__ = ["PAGE", "check_no_record", "everything", "pictures", "write_page"]

RESULTS = Path("results")
PAGE = Path("report")


def everything(*, results: Path = RESULTS, output: Path = PAGE) -> None:
    """Write the page of all experiments; what was not run yet is said there.

    Parameters
    ----------
    results
        Folder of the records of all experiments.
    output
        Folder to write index.html into.
    """
    check_folder(output, "--output")
    write_page("all", read_results(results), output)


def pictures(*, results: Path = RESULTS, output: Path = Path("docs/images")) -> None:
    """Draw the pictures of the README from the records.

    Parameters
    ----------
    results
        Folder of the records.
    output
        Folder to write the SVG files into.
    """
    must_have("matplotlib")
    check_folder(output, "--output")
    drawn = readme_pictures(read_results(results))
    make_folder(output, "--output")
    for name, content in drawn.items():
        save(output / name, content)
        tell(f"{output / name}")


def write_page(kind: Kind, results: Results, output: Path) -> None:
    """Write the page into a folder, whole or not at all, and say where it is."""
    if not results.records:
        raise LabError(f"there are no records below {results.folder}: run an experiment first (`chebact run --help`)")
    check_folder(output, "--output")
    must_have("jinja2", "matplotlib")
    foot = f"Made by chebact {__version__} from the {len(results.records):,} records below {results.folder}."
    page = as_html(sections_of(results, kind), foot).encode()
    make_folder(output, "--output")
    save(output / "index.html", page)
    tell(f"the page: {output / 'index.html'} ({len(page) / 1e6:.1f} MB)")


def check_no_record(results: Path, *paths: Path | None) -> None:
    """A LabError for a file that later reports would take for a record."""
    for path in paths:
        if path is not None and path.suffix == ".json" and path.resolve().is_relative_to(results.resolve()):
            raise LabError(f"{path} is among the records of {results}, where only records may be: write it elsewhere")


def must_have(*packages: str) -> None:
    """A LabError that says how to get a package that drawing needs and this environment lacks."""
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise LabError(f"the page needs {', '.join(missing)}: pip install 'chebact[lab]'")


def tell(sentence: str) -> None:
    Console(stderr=True).print(sentence, highlight=False, markup=False, soft_wrap=True)
