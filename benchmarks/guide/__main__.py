"""The small trainings behind docs/guide.md: python benchmarks/guide [STUDY ...]

Trains what has no record below results/guide yet, on one thread: about half an hour for all. With --update and
--pictures it trains nothing, and makes the tables and pictures from the records.
"""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from pathlib import Path

import torch
from figures import write_pictures
from modules import train_modules
from outcomes import read_outcomes
from settings import Setting
from studies import STUDIES
from tables import tables
from train import train_stack

from chebact.lab.environment import environment, host
from chebact.lab.page.documents import update_document
from chebact.lab.spec import as_plain
from chebact.lab.store import Record, holds, write_record

ROOT = Path(__file__).resolve().parents[2]


def run(setting: Setting, path: Path) -> None:
    """Train a setting and write its record."""
    began, created = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    trained = train_stack(setting) if setting.network in ("plain", "residual") else train_modules(setting)
    seconds = round(time.perf_counter() - began, 2)
    times = {"created": created, "seconds": seconds, "host": host()}
    write_record(path, Record("guide", as_plain(setting), trained, environment(), times))
    print(f"{path.parent.name}/{path.name}: {seconds:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"some of {', '.join(STUDIES)}; all without any")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "guide")
    parser.add_argument("--list", action="store_true", help="print what has no record, and train nothing")
    parser.add_argument("--update", type=Path, metavar="FILE", help="fill the tables of a document: docs/guide.md")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="write the pictures: docs/images")
    given = parser.parse_args()
    if given.update or given.pictures:
        write_documents(given)
    else:
        train_missing(given)


def write_documents(given: argparse.Namespace) -> None:
    outcomes = read_outcomes(given.results)
    if given.update:
        update_document(given.update, tables(outcomes))
    if given.pictures:
        write_pictures(outcomes, given.pictures)


def train_missing(given: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    for name in given.studies or STUDIES:
        for setting in STUDIES[name]():
            path = given.results / name / setting.name
            if holds(path, as_plain(setting)):
                continue
            if given.list:
                print(f"{name}/{setting.name}")
            else:
                run(setting, path)


if __name__ == "__main__":
    main()
