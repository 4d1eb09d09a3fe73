"""A whole story as data: hardware, what people do and when, what breaks and when, where the platform dies."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from events.hardware import Device
from events.spec import PriorityClass
from mdactors.config import PolicySettings, SlotSettings
from mdactors.ports import Mode
from tests.simulation.script import LABEL, Script
from tests.simulation.substrate import Delays


class Wish(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One entry of a job file."""

    script: Script = Script()
    priority: float = 0.0
    priority_class: PriorityClass = "normal"
    engine: str | None = None
    precision: Literal["mixed", "double"] = "mixed"
    device: str | None = None

    def entry(self) -> dict[str, Any]:
        """Return it as a job file has it."""
        return {
            "kind": "tpr",
            "tpr": "input.tpr",
            "labels": {LABEL: msgspec.json.encode(self.script).decode()},
            "priority": self.priority,
            "priority_class": self.priority_class,
            "backend_pref": self.engine,
            "precision": self.precision,
            "device": self.device,
        }


class Submit(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Somebody hands over a batch, again and again until it is acknowledged."""

    at: float
    wishes: tuple[Wish, ...]


class Cancel(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Somebody wants a job to end."""

    at: float
    job: int


class Report(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Somebody injects what they know of a device."""

    at: float
    device: str
    condition: Literal["unhealthy", "recovered"]


class Refresh(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Somebody has the node probed again."""

    at: float


class Compare(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Somebody wants the energies of two jobs compared."""

    at: float
    a: int
    b: int


class Restart(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The platform is stopped in good order, and started again."""

    at: float


Deed = Submit | Cancel | Report | Refresh | Compare | Restart
"""What people do."""


TroubleKind = Literal["lose", "remove", "recover", "kill", "vanish", "power", "crash"]
"""lose, remove, recover: a device. kill, vanish: a process; what vanishes leaves no record. crash: the platform. power: all."""


class Trouble(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What breaks."""

    at: float
    kind: TroubleKind
    device: str = ""
    pick: float = 0.0
    """Which of the living processes: the share of the way down their list."""


class Scenario(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run of the simulation; times are seconds from its beginning."""

    seed: int = 0
    """Of the little that is decided on the way (whether a sync had reached the disk)."""
    devices: tuple[Device, ...]
    cores: int = 2
    """Of the CPU device."""
    slots: tuple[SlotSettings, ...] = ()
    """How the cores are shared out in each life of the platform; one core a slot beyond the last."""
    deeds: tuple[Deed, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    deaths: tuple[int | None, ...] = ()
    """For each life of the platform, the number of the moment at which it dies; lives beyond the last die of nothing."""
    away: tuple[float, ...] = ()
    """Seconds between two lives; 5 beyond the last."""
    between: tuple[Mode, ...] = ()
    """Between two lives somebody looks, or sees through what was begun, for `away` seconds; "work": nobody."""
    full: tuple[tuple[float, float], ...] = ()
    """Times between which the journal's disk is full."""
    files_full: tuple[tuple[float, float], ...] = ()
    """Times between which nothing else can be written either: no job folder, no ledger."""
    delays: Delays = Delays()
    policies: tuple[PolicySettings, ...] = (PolicySettings(),)
    """Of each life of the platform; the last one's is that of all further ones."""
    horizon: float = 30 * 86_400.0
    """By when every job must have ended."""
    look_every: float = 30.0
    """Seconds between two looks at the progress of all jobs."""

    @property
    def wishes(self) -> int:
        """How many jobs are asked for."""
        return sum(len(deed.wishes) for deed in self.deeds if isinstance(deed, Submit))


def cpu(cores: int = 2) -> Device:
    """Return a CPU."""
    return Device(id="cpu:0", node="node", type="cpu", name="CPU", cpus=tuple(range(cores)))


def gpu(index: int) -> Device:
    """Return an accelerator; it is one slot."""
    return Device(id=f"cuda:{index}", node="node", type="cuda", index=index, name="GPU")
