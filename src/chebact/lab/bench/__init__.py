"""Measurements of time: what is timed, how, and the tables and figures of the results."""
