"""Compressed files, unpacked as they are read and only up to a limit: a few kilobytes may claim terabytes."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any

from chebact.lab.images.files import DataError

__all__ = ["GZIP", "UNREADABLE", "Unpacked"]

CHUNK = 2**18  # bytes that are read, and that are unpacked, at a time
MEMORY = 256 * 2**20  # bytes that xz may use; its strongest usual setting takes 65 million
UNREADABLE = (zlib.error, lzma.LZMAError)
GZIP = b"\x1f\x8b"
ENGINES: dict[bytes, Callable[[], Any]] = {
    GZIP: lambda: zlib.decompressobj(16 + zlib.MAX_WBITS),
    b"\xfd7zXZ\x00": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY),
}
"""What unpacks a file, by its first bytes."""


class Unpacked:
    """The content of a file of gzip, xz or plain bytes from its position on, by `read`; a DataError that names `where`
    once there are more than `most` bytes.

    >>> import gzip, io
    >>> Unpacked(io.BytesIO(gzip.compress(b"abc")), "here", most=3).read()
    b'abc'
    """

    def __init__(self, file: IO[bytes], where: str, most: int) -> None:
        self.where, self.most, self.total = where, most, 0
        self.pieces, self.ready = unpack(file), bytearray()

    def read(self, size: int = -1) -> bytes:
        """The next `size` bytes, fewer at the end; all of them without a size."""
        while (size < 0 or len(self.ready) < size) and (piece := next(self.pieces, b"")):
            self.total += len(piece)
            if self.total > self.most:
                raise DataError(f"{self.where} holds more than {self.most:,} bytes, as no file of the image sets does")
            self.ready += piece
        end = len(self.ready) if size < 0 else size
        taken = bytes(self.ready[:end])
        del self.ready[:end]
        return taken


def unpack(file: IO[bytes]) -> Iterator[bytes]:
    """The content in pieces. Streams of one kind may follow each other; an EOFError if one is cut off."""
    rest = file.read(CHUNK)
    kind = next((magic for magic in ENGINES if rest.startswith(magic)), None)
    while kind is None and rest:
        yield rest
        rest = file.read(CHUNK)
    while kind is not None and rest.startswith(kind):
        engine = ENGINES[kind]()
        while not engine.eof:
            if not rest and getattr(engine, "needs_input", True) and not (rest := file.read(CHUNK)):
                raise EOFError("it ends too early")
            if piece := engine.decompress(rest, CHUNK):
                yield piece
            rest = engine.unused_data if engine.eof else getattr(engine, "unconsumed_tail", b"")
        rest = rest or file.read(CHUNK)
