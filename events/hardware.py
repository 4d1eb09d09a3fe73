"""What there is to run on: devices, slots, and the rows of the capability matrix."""

from __future__ import annotations

from typing import Literal

import msgspec

DeviceType = Literal["cpu", "cuda", "rocm", "oneapi", "musa", "ascend", "dcu"]
Health = Literal["ready", "unhealthy", "frozen"]


class Device(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A GPU, an accelerator, or the CPU of one node."""

    id: str
    """`cpu:0`, `cuda:1` ...: type and index on the node."""
    node: str
    type: DeviceType
    index: int | None = None
    """Number by which users ask for it: accelerators in PCI order; the CPU is 0 only where there are none."""
    name: str = ""
    uuid: str = ""
    driver: str = ""
    memory_bytes: int = 0
    cpus: tuple[int, ...] = ()
    """Logical CPUs, in the kernel's numbering, that belong to it or lie near it."""


class Slot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A share of a device that runs one attempt at a time."""

    id: str
    """`cpu:0/0`, `cpu:0/1` ...: device and share."""
    node: str
    device: str
    cpus: tuple[int, ...] = ()
    """Logical CPUs that this slot alone may use."""
    threads: int = 1
    """Threads that an engine should start: one for each physical core of `cpus`."""


class Capability(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of the matrix: this engine build can run here, in this way."""

    id: str
    """`gromacs@2022.5/CPU/mixed@NODE/cpu:0`; unique."""
    node: str
    engine: str
    version: str
    """Comparable version (`2022.5`)."""
    build: str = ""
    """The raw version string of the build (`2022.5-Debian_2022.5_2`)."""
    backend: str
    """`CPU`, `CUDA`, `HIP`, `SYCL`, `OpenCL`, `Reference` ..."""
    precision: Literal["mixed", "double", "single"]
    device: str
    binary: str = ""
    """Absolute path of the program."""
    fingerprint: str = ""
    """Changes whenever the binary changes."""
    kinds: tuple[str, ...] = ()
    """Kinds of job that it can run."""
    limits: dict[str, int] = {}
    """Greatest values that it can take, by name (`tpx_version`, `threads`)."""
    features: dict[str, str] = {}
    """What else the build says of itself (`SIMD instructions`, `MPI library`)."""
    speed: int = 0
    """Stated preference among feasible capabilities, higher first; measured figures overrule it."""
    health: Health = "ready"
    why: str = ""
    """Why it is not ready."""


class Absence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An engine or backend that was looked for and is not usable, with what was found instead."""

    engine: str
    what: str
    """`gmx`, `CUDA platform` ..."""
    why: str
    remedy: str = ""
