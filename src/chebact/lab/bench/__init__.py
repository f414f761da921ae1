"""Measurements: what is timed, how it is timed, and how it is told."""
