"""Learned activations in models that others wrote: find the fixed ones, replace them, say what was done."""

from chebact.surgery.operation import Replacement, replace_activations
from chebact.surgery.report import Left, Replaced, Report

__all__ = ["Left", "Replaced", "Replacement", "Report", "replace_activations"]
