"""The laboratory: specs in, records out, tables and figures from the records."""

__all__ = ["LabError"]


class LabError(Exception):
    """An error that the user can correct. Its message is one clear sentence; the command line prints only that."""
