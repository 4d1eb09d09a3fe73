"""The platform as rows: slots and what runs on them, the matrix, and everything at a glance."""

from __future__ import annotations

import itertools

import msgspec

from events.hardware import Absence, Capability, Device, Slot
from mdactors.core.capabilities import Matrix
from mdactors.core.lifecycle import ACTIVE, Job, Jobs
from mdactors.views.jobs import JobRow, job_row, name_of

LATEST = 10
"""Jobs that a summary shows besides the active ones."""


class SlotRow(msgspec.Struct, frozen=True, kw_only=True):
    """One slot and what runs on it."""

    slot: str
    node: str
    device: str
    device_type: str
    threads: int
    cpus: tuple[int, ...]
    state: str
    """`idle`, `busy` or `unhealthy`."""
    job: int | None
    name: str
    reason: str


class StatusView(msgspec.Struct, frozen=True, kw_only=True):
    """The platform at a glance."""

    version: str
    node: str
    state_folder: str
    running: bool
    """False: read from the files of a platform that is stopped."""
    started_at: float | None
    uptime_seconds: float | None
    last_seq: int
    closed: str
    """Why no new work is taken; empty: it is."""
    total: int
    counts: dict[str, int]
    """State -> jobs, every state listed."""
    slots: list[SlotRow]
    active: list[JobRow]
    latest: list[JobRow]
    """The newest of the others."""


class CapabilityRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the matrix."""

    capability: str
    node: str
    engine: str
    version: str
    build: str
    backend: str
    precision: str
    device: str
    device_name: str
    kinds: tuple[str, ...]
    binary: str
    features: dict[str, str]
    health: str
    """`ready`, `unhealthy` or `frozen`; the device's own state included."""
    why: str


class NodeRow(msgspec.Struct, frozen=True, kw_only=True):
    """When and how a node was looked at."""

    node: str
    probed_at: float
    probe_seconds: float


class MatrixView(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to run on, and what is missing and why."""

    nodes: list[NodeRow]
    devices: list[Device]
    capabilities: list[CapabilityRow]
    absences: list[Absence]


def slot_rows(jobs: Jobs, matrix: Matrix) -> list[SlotRow]:
    """Return every slot and what runs on it."""
    busy = {row.attempts[-1].slot: row for row in jobs.active.values()}
    return [_slot(slot, busy.get(slot.id), matrix) for slot in matrix.slots.values()]


def _slot(slot: Slot, row: Job | None, matrix: Matrix) -> SlotRow:
    device = matrix.devices.get(slot.device)
    trouble = matrix.unhealthy.get(slot.device)
    return SlotRow(
        slot=slot.id,
        node=slot.node,
        device=slot.device,
        device_type=device.type if device else slot.device.partition(":")[0],
        threads=slot.threads,
        cpus=slot.cpus,
        state="unhealthy" if trouble is not None else "busy" if row else "idle",
        job=row.job if row else None,
        name=name_of(row) if row else "",
        reason=trouble or "",
    )


def status_view(
    jobs: Jobs,
    matrix: Matrix,
    *,
    version: str,
    node: str,
    state_folder: str,
    last_seq: int,
    running: bool,
    started_at: float | None = None,
    uptime_seconds: float | None = None,
    closed: str = "",
) -> StatusView:
    """Return the platform at a glance."""
    others = (row for row in jobs.ordered(newest=True) if row.state not in ACTIVE)
    return StatusView(
        version=version,
        node=node,
        state_folder=state_folder,
        running=running,
        started_at=started_at,
        uptime_seconds=uptime_seconds,
        last_seq=last_seq,
        closed=closed,
        total=len(jobs),
        counts={state.value: count for state, count in jobs.counts.items()},
        slots=slot_rows(jobs, matrix),
        active=[job_row(row, matrix) for row in jobs.active.values()],
        latest=[job_row(row, matrix) for row in itertools.islice(others, LATEST)],
    )


def matrix_view(matrix: Matrix) -> MatrixView:
    """Return the capability matrix."""
    nodes = [
        NodeRow(node=name, probed_at=matrix.probed_at[name], probe_seconds=probed.seconds)
        for name, probed in matrix.nodes.items()
    ]
    return MatrixView(
        nodes=nodes,
        devices=list(matrix.devices.values()),
        capabilities=[_capability(row, matrix) for row in matrix.capabilities.values()],
        absences=list(matrix.absences),
    )


def _capability(row: Capability, matrix: Matrix) -> CapabilityRow:
    device = matrix.devices.get(row.device)
    trouble = matrix.trouble(row)
    return CapabilityRow(
        capability=row.id,
        node=row.node,
        engine=row.engine,
        version=row.version,
        build=row.build,
        backend=row.backend,
        precision=row.precision,
        device=row.device,
        device_name=device.name if device else "",
        kinds=row.kinds,
        binary=row.binary,
        features=row.features,
        health="unhealthy" if trouble and row.health == "ready" else row.health,
        why=trouble,
    )
