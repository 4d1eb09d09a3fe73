"""The one door for a child's environment (law 3).

What a child gets is, in this order: the names of `KEPT` that the platform itself was started with, `LC_ALL=C`, what the plan
names, and the variable by which the device's vendor shows one device and hides the others. Nothing else, so that an
`OMP_NUM_THREADS` or an `LD_PRELOAD` in somebody's profile can't change a simulation.

Engines test many of their variables for presence alone (`GMX_CUDA_GRAPH=0` turns it on), so a variable is set or absent, never
emptied, save for the devices that are hidden from CPU runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from events.hardware import Device, DeviceType
from mdactors.errors import InputError

KEPT: dict[str, str] = {
    "PATH": "programs that engines and wrapper scripts call",
    "HOME": "caches and settings of drivers and launchers",
    "USER": "launchers and logs ask who runs",
    "LOGNAME": "the same",
    "SHELL": "launchers start it",
    "TMPDIR": "the site's scratch space",
    "TZ": "times in logs as people here read them",
    "XDG_CACHE_HOME": "caches of compiled GPU kernels",
    "XDG_RUNTIME_DIR": "containers and MPI keep sockets there",
    "LD_LIBRARY_PATH": "shared libraries of engines installed by hand or by modules",
    "PYTHONPATH": "Python packages of engines installed by modules",
    "CONDA_PREFIX": "engines installed by conda find their data there",
    "CUDA_HOME": "the CUDA toolkit, for kernels compiled at run time",
    "CUDA_PATH": "the same",
    "CUDA_CACHE_PATH": "compiled kernels; the default lies in HOME, which may be slow or full",
    "CUDA_MPS_PIPE_DIRECTORY": "where the site's MPS daemon listens",
    "CUDA_MPS_LOG_DIRECTORY": "the same daemon's logs",
    "ROCM_PATH": "the ROCm toolkit",
    "ONEAPI_ROOT": "the oneAPI toolkit",
    "MUSA_HOME": "the MUSA toolkit",
    "ASCEND_HOME_PATH": "the CANN toolkit",
    "OCL_ICD_VENDORS": "where OpenCL drivers are registered",
    "MODULEPATH": "wrapper scripts load modules",
    "MODULESHOME": "the same",
    "LMOD_CMD": "the same",
    "LOADEDMODULES": "what is loaded already, in step with PATH",
    "_LMFILES_": "the same",
    "LM_LICENSE_FILE": "licences of commercial engines and run-time libraries",
}
"""Names that pass from the platform's own environment, each with its reason."""

DROPPED = re.compile(r"(OMP|KMP|GMX|OPENMM|HDF5|LD)_")
"""Names whose loss is worth a line in the explanation: people set them in profiles and then wonder."""

VISIBILITY = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",
    "ZE_FLAT_DEVICE_HIERARCHY",
    "ZE_ENABLE_PCI_ID_DEVICE_ORDER",
    "ONEAPI_DEVICE_SELECTOR",
    "SYCL_DEVICE_FILTER",
    "MUSA_VISIBLE_DEVICES",
    "MTHREADS_VISIBLE_DEVICES",
    "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_VISIBLE_DEVICES",
)
"""Every vendor's variables; only the device decides them."""

HIDDEN: dict[str, str] = {
    "CUDA_VISIBLE_DEVICES": "",  # set and empty: none; unset: all
    "ROCR_VISIBLE_DEVICES": "",  # the same
    "HIP_VISIBLE_DEVICES": "-1",  # an impossible index ends the list
    "ONEAPI_DEVICE_SELECTOR": "*:cpu",  # ZE_AFFINITY_MASK has no word for none
    "MUSA_VISIBLE_DEVICES": "",  # as CUDA, after which it is made
}
"""What a run on the CPU gets: an engine built for GPUs takes the first that it sees, which may be another job's."""

_UNSTOPPABLE = "the engine could not be asked to stop any more"
_PHYSICS = "it hides errors in the physics"
_PLACEMENT = "the slot decides this, and the engine gets it on its command line"
_LOADER = "it puts foreign code into every process"

REFUSED: dict[str, str] = {
    "GMX_NO_TERM": _UNSTOPPABLE,
    "GMX_NO_INT": _UNSTOPPABLE,
    "GMX_NO_USR1": _UNSTOPPABLE,
    "GMX_IGNORE_FSYNC_FAILURE": "checkpoints could be lost without a word",
    "GMX_ENX_NO_FATAL": _PHYSICS,
    "GMX_MAXCONSTRWARN": _PHYSICS,
    "GMX_NO_NONBONDED": "it leaves out forces",
    "GMX_EMULATE_GPU": "its speed means nothing",
    "GMX_GPU_ID": _PLACEMENT,
    "GMX_GPUTASKS": _PLACEMENT,
    "LD_PRELOAD": _LOADER,
    "LD_AUDIT": _LOADER,
    "BASH_ENV": _LOADER,
    "ENV": _LOADER,
    "LC_ALL": "it is always C, so that numbers in outputs can be read",
    **dict.fromkeys(VISIBILITY, "the device decides it"),
}
"""Names that no plan may set, each with its reason."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Built(msgspec.Struct, frozen=True):
    """A child's whole environment, and where each part of it came from."""

    environment: dict[str, str]
    explanation: tuple[str, ...]
    """One line for each variable, values of the parent's left out: they may be secrets."""


def build_env(base: Mapping[str, str], variables: Mapping[str, str], device: Device | None) -> Built:
    """Return what a child is given: of `base` what `KEPT` lists, then `variables`, then what shows it `device` alone.

    With a CPU as device, accelerators are hidden. Without a device, as for probes, nothing is hidden.

    Raises:
        InputError: a variable is malformed or refused, or an accelerator has neither an index nor a UUID.
    """
    _check(variables)
    kept = {name: base[name] for name in KEPT if name in base and name not in variables}
    shown = {} if device is None else visibility(device)
    lines = (
        *(f"{name}: kept: {KEPT[name]}" for name in kept),
        "LC_ALL=C: always, so that numbers in outputs can be read",
        *(f"{name}={value}: the plan" for name, value in variables.items()),
        *(f"{name}={value}: {_reason(device)}" for name, value in shown.items()),
        *(f"{name}: dropped" for name in _lost(base, {**variables, **shown})),
    )
    return Built(environment={**kept, "LC_ALL": "C", **variables, **shown}, explanation=lines)


def visibility(device: Device) -> dict[str, str]:
    """Return the variables that show one device and hide the others; the engine then sees it under index 0.

    | type | variables | named by |
    | --- | --- | --- |
    | cuda | `CUDA_VISIBLE_DEVICES`, `CUDA_DEVICE_ORDER=PCI_BUS_ID` | UUID, which MPS does not renumber; else index |
    | rocm | `ROCR_VISIBLE_DEVICES` alone, for HIP's indices would count what is left | UUID, else index |
    | oneapi | `ZE_AFFINITY_MASK`, `ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE`: an index is a card, not a tile | index |
    | musa, ascend, dcu | `MUSA_`, `ASCEND_RT_`, `HIP_VISIBLE_DEVICES` | index |
    | cpu | those of `HIDDEN` | - |

    Raises:
        InputError: the device has nothing by which its vendor can name it.
    """
    match device.type:
        case "cpu":
            return dict(HIDDEN)
        case "cuda":
            return {"CUDA_VISIBLE_DEVICES": _named(device, "GPU-", "MIG-"), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
        case "rocm":
            return {"ROCR_VISIBLE_DEVICES": _named(device, "GPU-")}
        case "oneapi":
            return {"ZE_AFFINITY_MASK": _named(device), "ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"}
        case other:
            return {_BY_INDEX[other]: _named(device)}


_BY_INDEX: dict[DeviceType, str] = {
    "musa": "MUSA_VISIBLE_DEVICES",
    "ascend": "ASCEND_RT_VISIBLE_DEVICES",
    "dcu": "HIP_VISIBLE_DEVICES",
}


def _named(device: Device, *prefixes: str) -> str:
    if prefixes and device.uuid.startswith(prefixes):
        return device.uuid
    if device.index is None:
        raise InputError(f"device {device.id}: it has no index, so no run can be bound to it; probe the node again")
    return str(device.index)


def _check(variables: Mapping[str, str]) -> None:
    for name, value in variables.items():
        if not _NAME.fullmatch(name) or "\0" in value:
            raise InputError(f"variable {name!r} = {value!r}: no process can be given it; use letters, digits and _")
        if reason := REFUSED.get(name):
            raise InputError(f"variable {name} = {value!r} is refused: {reason}; leave it out")
    if variables.get("GMX_MAXBACKUP", "").strip().startswith("-"):
        raise InputError(
            "variable GMX_MAXBACKUP is refused where it is negative: files are overwritten; raise it instead"
        )


def _lost(base: Mapping[str, str], given: Mapping[str, str]) -> Iterator[str]:
    names = (name for name in sorted(base) if name not in KEPT and name not in given)
    return (name for name in names if DROPPED.match(name) or name in VISIBILITY)


def _reason(device: Device | None) -> str:
    return (
        "accelerators are hidden from CPU runs" if device and device.type == "cpu" else "this device alone is visible"
    )
