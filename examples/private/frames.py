"""Messages between two processes over a pipe: eight bytes for the length, then the content."""

import struct


def write_frame(stream, content):
    stream.write(struct.pack("<Q", len(content)) + content)
    stream.flush()


def read_frame(stream):
    head = stream.read(8)
    if len(head) < 8:
        raise EOFError("the other side has ended")
    (size,) = struct.unpack("<Q", head)
    return stream.read(size)
