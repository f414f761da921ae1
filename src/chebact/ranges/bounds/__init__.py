"""Sound bounds of values inside a network for every input of a box."""

from chebact.ranges.bounds.interpreter import bound_network

__all__ = ["bound_network"]
