"""One word for the state that a log leads to: the same log gives the same word on every machine."""

from __future__ import annotations

import hashlib

import msgspec

from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import Job, Jobs


def digest(jobs: Jobs, matrix: Matrix) -> str:
    """Return the sha256 of jobs and hardware, without what is not in the log (progress)."""
    state = (
        [_durable(row) for row in jobs.ordered()],
        matrix.nodes,
        matrix.probed_at,
        matrix.unhealthy,
        matrix.ever,
    )
    return hashlib.sha256(msgspec.json.encode(state, order="sorted")).hexdigest()


def _durable(row: Job) -> Job:
    attempts = [msgspec.structs.replace(attempt, progress=None) for attempt in row.attempts]
    return msgspec.structs.replace(row, attempts=attempts)
