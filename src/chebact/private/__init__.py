"""Polynomial networks on encrypted rows: what they cost, files of numbers for other tools, client and server."""

from chebact.private.agreement import Agreement
from chebact.private.document import export, load
from chebact.private.planning import Plan, plan
from chebact.private.serving import Client, Server

__all__ = ["Agreement", "Client", "Plan", "Server", "export", "load", "plan"]
