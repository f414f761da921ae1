"""Compressed files, unpacked as they are read and no further than a limit: a few kilobytes may claim terabytes."""

from __future__ import annotations

import lzma
import zlib
from typing import IO, Any

from chebact.lab.images.files import DataError

__all__ = ["GZIP", "UNREADABLE", "Unpacked"]

GZIP, XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
CHUNK = 2**18  # bytes that are read, and that are unpacked, at a time
MEMORY = 256 * 2**20  # bytes that xz may use; its strongest usual setting takes 65 million
UNREADABLE = (zlib.error, lzma.LZMAError)


class Unpacked:
    """What a file of gzip, xz or plain bytes holds from where it stands, by `read` alone; a DataError that names
    `where` it is from once more than `most` bytes came out.

    >>> import gzip, io
    >>> Unpacked(io.BytesIO(gzip.compress(b"abc")), "here", most=3).read()
    b'abc'
    """

    def __init__(self, file: IO[bytes], where: str, most: int) -> None:
        self.file, self.where, self.most, self.total = file, where, most, 0
        self.rest, self.ready = file.read(CHUNK), bytearray()
        self.kind = GZIP if self.rest.startswith(GZIP) else XZ if self.rest.startswith(XZ) else b""
        self.engine: Any = self.started()

    def started(self) -> Any:
        """An engine for the stream that begins here, or None for plain bytes."""
        if self.kind == XZ:
            return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MEMORY)
        return zlib.decompressobj(16 + zlib.MAX_WBITS) if self.kind == GZIP else None

    def read(self, size: int = -1) -> bytes:
        """The next `size` bytes, fewer at the end; all of them without a size."""
        while (size < 0 or len(self.ready) < size) and (piece := self.piece()):
            self.total += len(piece)
            if self.total > self.most:
                raise DataError(f"{self.where} holds more than {self.most:,} bytes, as no file of the image sets does")
            self.ready += piece
        end = len(self.ready) if size < 0 else size
        taken = bytes(self.ready[:end])
        del self.ready[:end]
        return taken

    def piece(self) -> bytes:
        """Some bytes, or none at the end; an EOFError where the stream is cut off."""
        while True:
            if self.engine is None:
                taken, self.rest = self.rest, self.file.read(CHUNK)
                return taken
            if self.engine.eof and not self.next_stream():
                return b""
            needed = getattr(self.engine, "needs_input", True)
            if needed and not self.rest:
                self.rest = self.file.read(CHUNK)
                if not self.rest:
                    raise EOFError("it ends too early")
            out: bytes = self.engine.decompress(self.rest if needed else b"", CHUNK)
            if self.kind == GZIP:
                self.rest = self.engine.unconsumed_tail or self.engine.unused_data
            else:
                self.rest = self.engine.unused_data if self.engine.eof else b""
            if out:
                return out

    def next_stream(self) -> bool:
        """Go on with another stream of the same kind that follows; whatever else follows is no part of it."""
        self.rest = self.rest or self.file.read(CHUNK)
        if not self.rest.startswith(self.kind):
            return False
        self.engine = self.started()
        return True
