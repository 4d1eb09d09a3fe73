"""Finding this machine's devices: its CPU, and NVIDIA GPUs by `nvidia-smi`.

A tool that is absent, hangs or prints garbage costs its time limit and nothing more.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from pathlib import Path

import anyio
import msgspec

from events.hardware import Device
from mdactors.ports import Run
from mdactors.substrates.local.affinity import Core, parse_cpu_list
from mdactors.substrates.local.topology import usable_cores

NVIDIA_SMI = (
    "nvidia-smi",
    "--query-gpu=index,uuid,name,memory.total,driver_version,pci.bus_id",
    "--format=csv,noheader,nounits",
)
_TOOL_SECONDS = 1.0
_ACCELERATOR_CORES_MAX = 8
"""Cores that an accelerator gets for itself by default; more rarely make an MD engine faster."""

_ROOT = Path("/")
_BUS_ID = re.compile(r"(?P<domain>[0-9A-Fa-f]{4,8}):(?P<rest>[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7])")


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `nvidia-smi`; empty where it says `[N/A]`."""

    bus_id: str
    """As /sys/bus/pci/devices names it."""
    name: str
    uuid: str = ""
    driver: str = ""
    memory_bytes: int = 0


async def find_devices(node: str, run: Run) -> tuple[Device, ...]:
    """Return the devices of this machine: accelerators in PCI order, then the CPU, which is index 0 where it is alone."""
    done = await run(NVIDIA_SMI, timeout=_TOOL_SECONDS)
    gpus = parse_nvidia_smi(done.stdout.decode(errors="replace")) if done.code == 0 else ()
    return await anyio.to_thread.run_sync(_describe, node, gpus)


def parse_nvidia_smi(text: str) -> tuple[Gpu, ...]:
    """Return the GPUs of the output of `NVIDIA_SMI` in PCI order; lines that are none are left out."""
    found = (_parse_line(line) for line in text.splitlines())
    return tuple(sorted((gpu for gpu in found if gpu), key=lambda gpu: gpu.bus_id))


def _parse_line(line: str) -> Gpu | None:
    cells = [_cell(cell) for cell in line.split(",")]
    if len(cells) != NVIDIA_SMI[1].count(",") + 1:
        return None
    _, uuid, name, memory, driver, bus = cells
    place = _BUS_ID.fullmatch(bus)
    if not place or not name:
        return None
    return Gpu(
        bus_id=f"{place['domain'][-4:]}:{place['rest']}".lower(),
        name=name,
        uuid=uuid,
        driver=driver,
        memory_bytes=int(memory) * 1024**2 if memory.isdecimal() else 0,
    )


def _cell(text: str) -> str:
    text = text.strip()
    return "" if text.startswith("[") else text  # [N/A], [Not Supported], [Unknown Error] ...


def _describe(node: str, gpus: Sequence[Gpu], root: Path = _ROOT) -> tuple[Device, ...]:
    cores = usable_cores(root)
    shares, rest = share_cores(cores, [near_cpus(gpu.bus_id, root) for gpu in gpus])
    accelerators = tuple(
        Device(
            id=f"cuda:{index}",
            node=node,
            type="cuda",
            index=index,
            name=gpu.name,
            uuid=gpu.uuid,
            driver=gpu.driver,
            memory_bytes=gpu.memory_bytes,
            cpus=_flat(share),
        )
        for index, (gpu, share) in enumerate(zip(gpus, shares, strict=True))
    )
    cpu = Device(
        id="cpu:0",
        node=node,
        type="cpu",
        index=None if accelerators else 0,
        name=cpu_name(root),
        memory_bytes=memory_bytes(root),
        cpus=_flat(rest),
    )
    return (*accelerators, cpu)


def share_cores(cores: Sequence[Core], near: Sequence[Sequence[int]]) -> tuple[list[list[Core]], list[Core]]:
    """Give each accelerator cores of its own, from those near it where there are any left; return the shares and the rest.

    Accelerators and the CPU, as one device more, share alike, so that no core is in two devices and each device has work to do.
    """
    size = min(_ACCELERATOR_CORES_MAX, max(1, len(cores) // (len(near) + 1)))
    rest = list(cores)
    shares: list[list[Core]] = []
    for cpus in near:
        first = sorted(rest, key=lambda core: not set(core) & set(cpus))[:size]  # stable: neighbours stay together
        shares.append(first)
        rest = [core for core in rest if core not in first]
    return shares, rest


def near_cpus(bus_id: str, root: Path = _ROOT) -> tuple[int, ...]:
    """Return the logical CPUs of the NUMA node that a PCI device hangs on; none where the kernel does not say."""
    try:
        return parse_cpu_list((root / "sys/bus/pci/devices" / bus_id / "local_cpulist").read_text("ascii"))
    except (OSError, ValueError):
        return ()


def cpu_name(root: Path = _ROOT) -> str:
    """Return the processor's name, or the architecture where the kernel does not know one."""
    return _field(root / "proc/cpuinfo", "model name") or platform.machine()


def memory_bytes(root: Path = _ROOT) -> int:
    """Return the machine's memory; 0 where it is not known."""
    number, _, _ = _field(root / "proc/meminfo", "MemTotal").partition(" ")
    return int(number) * 1024 if number.isdecimal() else 0


def _field(path: Path, name: str) -> str:
    try:
        lines = path.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    pairs = (line.partition(":") for line in lines)
    return next((value.strip() for key, _, value in pairs if key.strip() == name), "")


def _flat(cores: Sequence[Core]) -> tuple[int, ...]:
    return tuple(sorted(cpu for core in cores for cpu in core))
