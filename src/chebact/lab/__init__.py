"""The laboratory: specs in, records out, tables and figures from the records."""

__all__ = ["LabError"]


class LabError(Exception):
    """Something the user can put right. Its message is one clear sentence, and the command line shows that alone."""
