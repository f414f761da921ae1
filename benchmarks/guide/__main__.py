"""The small trainings behind docs/guide.md: python benchmarks/guide [STUDY ...]

Trains what has no record below results/guide yet, on one thread.
"""

from __future__ import annotations

import argparse
import time
from datetime import UTC, datetime
from pathlib import Path

import torch
from modules import train_modules
from settings import Setting
from stacks import train_stack
from studies import STUDIES

from chebact.lab.environment import environment, host
from chebact.lab.spec import as_plain
from chebact.lab.store import Record, holds, write_record

ROOT = Path(__file__).resolve().parents[2]


def run(setting: Setting, path: Path) -> None:
    """Train a setting and write its record."""
    began, started = time.perf_counter(), datetime.now(UTC).isoformat(timespec="seconds")
    trained = train_stack(setting) if setting.network in ("plain", "residual") else train_modules(setting)
    seconds = round(time.perf_counter() - began, 2)
    times = {"started": started, "seconds": seconds, "host": host()}
    write_record(path, Record("guide", as_plain(setting), trained, environment(), times))
    print(f"{path.parent.name}/{path.name}: {seconds:.1f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"some of {', '.join(STUDIES)}; all without any")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "guide")
    given = parser.parse_args()
    torch.set_num_threads(1)
    for name in given.studies or STUDIES:
        for setting in STUDIES[name]():
            path = given.results / name / setting.name
            if not holds(path, as_plain(setting)):
                run(setting, path)


if __name__ == "__main__":
    main()
