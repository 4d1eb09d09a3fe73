"""Prober: finds the node's devices, lays out its slots, and asks every engine what it can do here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio
import structlog
from anyio.abc import TaskGroup

from actors.shell import PureShell
from events.devices import CapabilitiesProbed
from events.hardware import Absence, Device, Slot
from mdactors.core.effects import Effect, Look
from mdactors.core.probing import ProberCore
from mdactors.ports import Clock, Engine, Host, Probed, Substrate
from mdactors.runtime.bus import Bus

log = structlog.get_logger("mdactors.prober")


class Prober(PureShell):
    """The shell of `ProberCore`.

    Args:
        node: this node's name.
        bus: where the matrix is published.
        clock: for the time that the probe took.
        substrate: knows the devices, and runs what engines probe with.
        engines: asked in parallel; one that raises is an absence, and harms no other.
        slots_of: lays out the slots of all devices.
        search_path: folders in which engines look for programs.
    """

    name = "prober"

    def __init__(
        self,
        *,
        node: str,
        bus: Bus,
        clock: Clock,
        substrate: Substrate,
        engines: Sequence[Engine],
        slots_of: Callable[[Sequence[Device]], tuple[Slot, ...]],
        search_path: tuple[str, ...],
    ) -> None:
        self._node = node
        self._bus = bus
        self._clock = clock
        self._substrate = substrate
        self._engines = engines
        self._slots_of = slots_of
        self._search_path = search_path

    def core(self) -> ProberCore:
        """Return a fresh core."""
        return ProberCore(self._node)

    async def perform(self, effect: Effect, tasks: TaskGroup) -> None:
        """Look, beside the inbox."""
        assert isinstance(effect, Look)
        tasks.start_soon(self._look, effect)

    async def _look(self, effect: Look) -> None:
        began = self._clock.monotonic()
        devices = await self._substrate.devices()
        host = Host(node=self._node, devices=devices, search_path=self._search_path)
        found: dict[str, Probed] = {}
        async with anyio.create_task_group() as tasks:
            for engine in self._engines:
                tasks.start_soon(self._ask, engine, host, found)
        probed = [found[engine.name] for engine in self._engines]
        await self._bus.publish(
            CapabilitiesProbed(
                node=self._node,
                devices=devices,
                slots=self._slots_of(devices),
                capabilities=tuple(row for each in probed for row in each.capabilities),
                absences=tuple(row for each in probed for row in each.absences),
                seconds=round(self._clock.monotonic() - began, 3),
            ),
            cause=effect.cause,
        )

    async def _ask(self, engine: Engine, host: Host, found: dict[str, Probed]) -> None:
        try:
            found[engine.name] = await engine.probe(self._substrate.run, host)
        except Exception as error:
            log.exception("an engine's probe raised", engine=engine.name)
            why = f"its probe failed: {type(error).__name__}: {error}"
            found[engine.name] = Probed(absences=(Absence(engine=engine.name, what="probe", why=why),))
