"""Trials of a model that leave it as it was: its copy, classes, state, random numbers, and whether two runs agree."""

__all__: list[str] = []
