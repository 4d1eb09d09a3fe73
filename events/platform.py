"""The platform's own life."""

from __future__ import annotations

from typing import Literal

import msgspec

from events.base import Event

Mode = Literal["work", "settle", "look"]
"""What an assembled platform does. work: everything, the API included. settle: sees through what was begun, stops and
compares, but starts no waiting job. look: only finds out what there is to run on."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What the deciding cores were told; an old log is judged by the policy that it carries."""

    logic: int = 1
    """Number of the decision logic, raised whenever the same log would lead to other decisions."""
    aging_per_hour: float = 1.0
    """Priority that a waiting job gains in an hour."""
    retries: int = 3
    """Failures of one job that a retry may follow; being stopped or moved never counts."""
    suspicions: int = 3
    """Failures in a row, blamed on a device, that take it out of service."""
    probe_ttl_seconds: float = 300.0
    """Age at which the capability matrix is renewed."""


class PlatformStarted(Event, frozen=True, tag="PlatformStarted"):
    """A life of the platform began."""

    version: str
    node: str
    pid: int
    boot_id: str
    policy: Policy = Policy()
    mode: Mode = "work"


class PlatformStopped(Event, frozen=True, tag="PlatformStopped"):
    """It ended in good order; engines go on without it."""

    reason: str


class ActorRestarted(Event, frozen=True, tag="ActorRestarted"):
    """An actor raised and was rebuilt from the journal."""

    actor: str
    error: str
    at_seq: int
    """The last record that it had seen."""
    restarts: int


class JobsRegained(Event, frozen=True, tag="JobsRegained"):
    """The log was behind the job folders: what they know of these jobs follows, with the times at which it became true."""

    jobs: tuple[int, ...]


class IntakeClosed(Event, frozen=True, tag="IntakeClosed"):
    """An actor kept failing: no new work is taken until the platform is restarted; running jobs go on."""

    actor: str
    error: str
    at_seq: int
