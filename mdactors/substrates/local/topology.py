"""What the kernel says of the CPUs of this machine and of our share of them.

Virtual machines and containers leave out much of /sys: what is missing is taken to be flat (every CPU a core of its own, one
NUMA node, no limit).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from mdactors.substrates.local.affinity import Core, Cpu, cpu_layout, parse_cpu_list

_ROOT = Path("/")
_NODE = re.compile(r"node(\d+)")


def usable_cores(root: Path = _ROOT) -> tuple[Core, ...]:
    """Return the cores that this process may use, in the order in which slots should take them."""
    allowed = os.sched_getaffinity(0)
    return cpu_layout(read_topology(sorted(allowed), root), allowed, read_quota(root))


def read_topology(cpus: Iterable[int], root: Path = _ROOT) -> tuple[Cpu, ...]:
    """Return where each of the logical CPUs sits."""
    return tuple(_cpu(number, root / f"sys/devices/system/cpu/cpu{number}") for number in cpus)


def read_quota(root: Path = _ROOT) -> float | None:
    """Return the CPU time that our cgroup, or one above it, grants, in CPUs; None: no limit."""
    return min((quota for folder in _cgroups(root) if (quota := _quota(folder)) is not None), default=None)


def _cpu(number: int, folder: Path) -> Cpu:
    topology = folder / "topology"
    siblings = _text(topology / "core_cpus_list") or _text(topology / "thread_siblings_list")
    return Cpu(
        number=number,
        siblings=parse_cpu_list(siblings) or (number,),
        package=_number(_text(topology / "physical_package_id")) or 0,
        node=_node(folder),
    )


def _node(folder: Path) -> int:
    try:
        names = os.listdir(folder)
    except OSError:
        return 0
    return min((int(match[1]) for name in names if (match := _NODE.fullmatch(name))), default=0)


def _cgroups(root: Path) -> Iterator[Path]:
    """Yield the folders that may limit us: our own cgroup and those above it, in version 2 and in version 1."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        mount = root / "sys/fs/cgroup" / controllers
        own = mount / path.lstrip("/")
        yield from (own, *own.parents[: len(own.parts) - len(mount.parts)])


def _quota(folder: Path) -> float | None:
    quota, _, period = _text(folder / "cpu.max").partition(" ")  # version 2: "max 100000" or "150000 100000"
    limit = _number(quota) or _number(_text(folder / "cpu.cfs_quota_us"))  # version 1: -1 is no limit
    span = _number(period) or _number(_text(folder / "cpu.cfs_period_us"))
    return limit / span if limit and span and limit > 0 and span > 0 else None


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", errors="replace").strip()
    except OSError:
        return ""


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
