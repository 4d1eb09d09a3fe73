"""Which CPUs a slot gets. Pure: topology in, disjoint shares out.

A *core* is a physical core: the tuple of its logical CPUs (hardware threads). Cores are never divided between slots, because
two runs on the two hardware threads of one core halve each other; and an engine starts one thread for each core.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from events.hardware import Device, Slot
from mdactors.errors import ConfigError

Core = tuple[int, ...]

_SMALL_CORES = 4
"""Up to this many cores every core is a slot of its own; a larger machine gets slots of about this many."""


class Cpu(msgspec.Struct, frozen=True, kw_only=True):
    """Where one logical CPU sits."""

    number: int
    """As the kernel counts."""
    siblings: Core
    """The logical CPUs of its core, itself included."""
    package: int = 0
    node: int = 0
    """NUMA node."""


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Return the CPUs of a kernel list like `0-3,8`; garbage in it is left out."""
    return tuple(sorted({cpu for part in text.strip().split(",") for cpu in _parse_range(part)}))


def _parse_range(part: str) -> Iterable[int]:
    first, _, last = part.strip().partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()):
        return ()
    return range(int(first), int(last or first) + 1)


def cpu_layout(topology: Iterable[Cpu], allowed: Collection[int], quota: float | None = None) -> tuple[Core, ...]:
    """Return the cores that may be used, those of one NUMA node together, nearest neighbours first.

    `allowed` are the logical CPUs of our own mask. `quota` is the CPU time that a cgroup grants, in CPUs: cores beyond it
    would only make threads wait for each other at their barriers, so no more than that many are returned, but one at least.
    """
    cores: dict[Core, tuple[int, int, int]] = {}
    for cpu in topology:
        core = tuple(number for number in sorted({cpu.number, *cpu.siblings}) if number in allowed)
        if core:
            cores.setdefault(core, (cpu.node, cpu.package, core[0]))
    ordered = tuple(_disjoint(sorted(cores, key=lambda core: cores[core])))
    return ordered if quota is None else ordered[: max(1, int(quota))]


def _disjoint(cores: Iterable[Core]) -> Iterator[Core]:
    """Yield the cores without the CPUs that an earlier one has: contradictory topology must not give one CPU to two slots."""
    taken: set[int] = set()
    for core in cores:
        if rest := tuple(cpu for cpu in core if cpu not in taken):
            taken.update(rest)
            yield rest


def slots_for(
    device: Device,
    threads_per_slot: int | None = None,
    count: int | None = None,
    *,
    cores: Sequence[Core] | None = None,
) -> tuple[Slot, ...]:
    """Return the slots of a device, each with cores of its own.

    `cores` is the layout of the node (`cpu_layout`), of which those that belong to the device are used; without it every CPU
    of the device is taken for a core. Where nothing is configured, an accelerator is one slot, a CPU of up to four cores gets
    slots of one core, and a larger one slots of four, the remainder shared out.

    Raises:
        ConfigError: what is configured can't be had without two slots sharing a core, or is below 1.
    """
    cpus = set(device.cpus)
    own = [core for core in cores or [(cpu,) for cpu in device.cpus] if cpus.issuperset(core)]
    _check("slots.threads", threads_per_slot, len(own), device)
    _check("slots.count", count, len(own), device)
    shares = _shares(device, own, threads_per_slot, count)
    return tuple(_slot(device, place, share) for place, share in enumerate(shares))


def _shares(device: Device, own: Sequence[Core], threads: int | None, count: int | None) -> list[Sequence[Core]]:
    if threads is None:
        return _share_out(own, count or _default_count(device, len(own)))
    number = count or len(own) // threads
    if number * threads > len(own):
        raise ConfigError(
            f"slots.threads = {threads} with slots.count = {count} on {device.id}: {number * threads} cores are needed and "
            f"{len(own)} are there; take fewer slots, or at most {len(own) // number} threads in each"
        )
    return [own[place * threads : (place + 1) * threads] for place in range(number)]


def _default_count(device: Device, cores: int) -> int:
    if device.type != "cpu":
        return 1
    return cores if cores <= _SMALL_CORES else cores // _SMALL_CORES


def _share_out(own: Sequence[Core], count: int) -> list[Sequence[Core]]:
    """Divide into `count` contiguous shares whose sizes differ by one at most."""
    size, larger = divmod(len(own), max(count, 1))
    starts = [place * size + min(place, larger) for place in range(count + 1)]
    return [own[start:end] for start, end in itertools.pairwise(starts)]


def _slot(device: Device, place: int, share: Sequence[Core]) -> Slot:
    return Slot(
        id=f"{device.id}/{place}",
        node=device.node,
        device=device.id,
        cpus=tuple(sorted(cpu for core in share for cpu in core)),
        threads=max(1, len(share)),
    )


def _check(setting: str, value: int | None, cores: int, device: Device) -> None:
    if value is not None and not 1 <= value <= cores:
        raise ConfigError(
            f"{setting} = {value} on {device.id}: it has {cores} core{'s' * (cores != 1)}, and a core is never shared; "
            f"take a number from 1 to {cores}, or leave it out"
        )
