"""Downloads by pooch that resume after a broken connection."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from chebact.lab.images.files import DataError

__all__ = ["download"]

ATTEMPTS = 3
CONNECT, TIMEOUT = 10, 30  # seconds to find the server, and seconds without a byte
CHUNK = 2**18


def download(addresses: Sequence[str], sha256: str, path: Path, tell: Callable[[str, int, int], None]) -> Path:
    """Get a file from the first address that has it; it gets its name only with the right sha256.

    What arrived before a connection broke is kept beside it, as NAME.part, and the rest is requested, three times per
    run and in the next run again; a server that cannot resume sends everything again.
    """
    try:
        import pooch
    except ImportError as error:
        raise DataError("downloads need the package pooch: pip install 'chebact[lab]'") from error
    pooch.get_logger().setLevel(logging.WARNING)  # it reports every download, and so do we
    reasons = []
    for address in addresses:
        downloader, known = Resuming(path, tell), f"sha256:{sha256}"
        try:
            try:
                pooch.retrieve(address, known, path.name, path.parent, downloader=downloader)
            except ValueError as error:
                if not downloader.resumed or isinstance(error, OSError):
                    raise  # the part from an earlier run may have been wrong: once more, all of it
                pooch.retrieve(address, known, path.name, path.parent, downloader=Resuming(path, tell))
            return path
        except OSError as error:  # those of requests are among them, and some of those are ValueErrors too
            if error.errno is not None and not isinstance(error, ConnectionError):
                raise DataError(f"cannot write {path}: {error.strerror}") from error
            reasons.append(f"{address} cannot be downloaded ({first_line(error)})")
        except ValueError:
            reasons.append(f"{address} sent another file: its sha256 is wrong")
    raise DataError("; ".join(reasons))


class Resuming:
    """A downloader for pooch: fetches an address into a file, and resumes."""

    def __init__(self, path: Path, tell: Callable[[str, int, int], None]) -> None:
        self.part, self.name, self.tell = path.with_name(path.name + ".part"), path.name, tell
        self.resumed = False

    def __call__(self, address: str, output_file: str, _pooch: Any = None) -> None:
        """Fetch the address, with at most three attempts, and move the complete file to `output_file`."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self.fetch(address)
                break
            except OSError as error:
                hopeless = getattr(getattr(error, "response", None), "status_code", 0) in range(400, 500)
                if attempt == ATTEMPTS or hopeless or error.errno is not None:
                    raise
        shutil.move(self.part, output_file)

    def fetch(self, address: str) -> None:
        """Request the bytes that are missing."""
        import requests

        done = self.part.stat().st_size if self.part.exists() else 0
        headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={done}-"} if done else {})}
        with requests.get(address, headers=headers, stream=True, timeout=(CONNECT, TIMEOUT)) as answer:
            if answer.status_code == 416:  # the part is as long as the file, or longer: start again
                self.part.unlink()
                raise requests.exceptions.ConnectionError("the part on disk does not fit the file of the server")
            answer.raise_for_status()
            resumes = answer.status_code == 206
            self.resumed = self.resumed or resumes
            done = done if resumes else 0
            length = int(answer.headers.get("Content-Length", 0))
            total = done + length if length else 0  # 0 if the server does not say
            with self.part.open("ab" if resumes else "wb") as file:
                for chunk in answer.iter_content(CHUNK):
                    file.write(chunk)
                    done += len(chunk)
                    self.tell(self.name, done, total)
            if total and done != total:
                raise requests.exceptions.ConnectionError(f"the connection broke after {done:,} of {total:,} bytes")


def first_line(error: BaseException) -> str:
    """The first line of an error and of its deepest cause."""
    cause: BaseException | None = error
    while cause is not None and cause.__context__ is not None:
        cause = cause.__context__
    return f"{type(error).__name__}: {next(iter(str(cause or error).splitlines()), '')}"[:160]
