"""Trials of a model that leave it as it was: its copy, its state, its random numbers, and whether two runs agree."""

__all__: list[str] = []
