"""From a network to the steps of a program."""

from chebact.export.reading.reader import read_program

__all__ = ["read_program"]
