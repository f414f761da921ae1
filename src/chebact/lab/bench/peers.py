"""The peers that can be timed here: a library that is missing or does not work with the torch at hand gives a reason
instead of a row.
"""

from __future__ import annotations

from functools import partial

import torch

from chebact.lab.bench.ops import Contender
from chebact.lab.environment import installed_version
from chebact.lab.peers import PEERS, Peer

__all__ = ["find_peers", "peer_versions"]

# Elements: above, some of them require gigabytes. 128x64x16x16 is the largest case of the table below it.
LIMIT = 2**22


def find_peers(peers: tuple[Peer, ...] = PEERS) -> tuple[list[Contender], list[str]]:
    """The libraries that work here as contenders, and a sentence for each of the others."""
    rows, sentences = [], []
    for peer in peers:
        reason = why_not(peer)
        if reason is None:
            rows.append(Contender(peer.name, peer.degree, peer.build, only_below=LIMIT))
        else:
            sentences.append(f"{peer.name} is left out: {reason}")
    return rows, sentences


def peer_versions(peers: tuple[Peer, ...] = PEERS) -> dict[str, str | None]:
    """The versions installed; None for what is not."""
    return {peer.name: installed_version(peer.name) for peer in peers}


def why_not(peer: Peer) -> str | None:
    """Why a library cannot be timed, found by training a little on each kind of tensor; None if it can."""
    if installed_version(peer.name) is None:
        return "it is not installed"
    try:
        for x in samples():
            module = peer.build(x.shape[1])
            out = module(x)
            if out.shape != x.shape:
                return f"it gave {tuple(out.shape)} for {tuple(x.shape)}"
            torch.autograd.grad(out, [x, *module.parameters()], torch.ones_like(x))
    except (Exception, SystemExit) as error:  # one of them leaves the program where it lacks a table
        return f"it does not work here ({type(error).__name__}: {' '.join(str(error).split())})"
    return None


def samples() -> list[torch.Tensor]:
    """A small matrix, and a small image batch in either layout."""
    draw = partial(torch.randn, generator=torch.Generator().manual_seed(0))
    image = draw(2, 3, 4, 5)
    made = (draw(4, 3), image, image.contiguous(memory_format=torch.channels_last))
    return [x.requires_grad_() for x in made]
