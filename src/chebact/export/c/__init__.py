"""The parts of a C file: its loops, its tables, its calls and its work space."""

from chebact.export.c.source import WORK_SPACES, write_c

__all__ = ["WORK_SPACES", "write_c"]
