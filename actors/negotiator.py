"""Negotiator: answers every submission with ranked candidates, or with a reason for everything that was tried."""

from __future__ import annotations

from actors.shell import PureShell
from mdactors.core.negotiation import NegotiatorCore


class Negotiator(PureShell):
    """The shell of `NegotiatorCore`."""

    name = "negotiator"

    def core(self) -> NegotiatorCore:
        """Return a fresh core."""
        return NegotiatorCore()
