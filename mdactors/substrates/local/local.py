"""The substrate of one machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping

from events.attempts import Handle
from events.devices import DeviceReported
from events.hardware import Device
from events.outcome import ExitRecord
from mdactors.ports import Found, LaunchOrder, Run
from mdactors.substrates.local import adopt, launch, watch
from mdactors.substrates.local import stop as stopping
from mdactors.substrates.local.devices import find_devices
from mdactors.substrates.local.masks import masks
from mdactors.substrates.local.place import Place
from mdactors.substrates.local.reports import Silence
from mdactors.substrates.local.run import LocalRun


class LocalSubstrate:
    """Starts and watches processes on this machine; implements `mdactors.ports.Substrate`.

    It remembers nothing: all it knows is in the job folders and in the process table, so another instance, in this process or
    in a later one, goes on where this one was.
    """

    name = "local"

    def __init__(
        self,
        base_env: Mapping[str, str],
        node: str,
        *,
        source: Callable[[], AsyncIterator[DeviceReported]] = Silence,
    ) -> None:
        self.run: Run = LocalRun(base_env)
        self.node = node
        self._source = source

    async def devices(self) -> tuple[Device, ...]:
        """Return the node's devices, numbered as users number them: accelerators in PCI order, the CPU where there are none."""
        return await find_devices(self.node, self.run)

    async def launch(self, order: LaunchOrder) -> Handle:
        """Start the attempt detached: it outlives us.

        Raises:
            AlreadyClaimedError: it was launched before.
            FolderBusyError: something still lives in the job's folder.
            LaunchError: the process could not be started.
        """
        return await launch.launch(order)

    async def find(self, folder: str, attempt: int) -> Found:
        """Return what became of an attempt, by lock, claim, record and process table."""
        return await adopt.find(Place(folder, attempt))

    async def wait(self, folder: str, attempt: int, handle: Handle) -> ExitRecord | None:
        """Wait until nothing of the attempt lives any more; None: it left no exit record."""
        return await watch.wait(Place(folder, attempt), handle)

    async def stop(self, folder: str, attempt: int, handle: Handle, *, signal: int, grace_seconds: float) -> None:
        """Ask it to stop, once; after the grace end it and everything it started."""
        await stopping.stop(Place(folder, attempt), handle, signal, grace_seconds)

    def masks(self, handle: Handle) -> tuple[tuple[int, ...], ...]:
        """Return the distinct CPU masks of the attempt's threads as the kernel reports them."""
        return masks(handle)

    def reports(self) -> AsyncIterator[DeviceReported]:
        """Yield what the substrate hears about its devices, as it hears it."""
        return self._source()
