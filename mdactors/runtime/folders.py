"""A job's folder: where it lies, what the platform itself writes there, and how an attempt's files are laid out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from events.attempts import AttemptStarted, Handle
from events.hardware import Capability, Device, Slot
from events.jobs import JobSubmitted
from events.outcome import Candidate
from events.spec import InputFile
from mdactors.core.lifecycle import Job
from mdactors.ports import KeptInputs, LaunchPlan
from mdactors.runtime.inputs import link_or_copy

JOB_FILE = "job.json"
LAUNCH_FILE = ".launch.json"
"""After the attempt's number."""


T = TypeVar("T")


class Launched(msgspec.Struct, frozen=True, kw_only=True):
    """What a later life of the platform has to know of an attempt; written before the attempt starts."""

    capability: Capability
    device: Device
    slot: Slot
    assigned_at: float
    argv: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    from_step: int = 0
    stop_signal: int = 15
    grace_seconds: float = 120.0

    def started(self, job: int, attempt: int, folder: Path, handle: Handle) -> AttemptStarted:
        """Return the fact that the attempt runs."""
        return AttemptStarted(
            job=job,
            attempt=attempt,
            slot=self.slot.id,
            folder=str(folder),
            handle=handle,
            argv=self.argv,
            added=self.added,
            cpus=self.slot.cpus,
            from_step=self.from_step,
        )


class JobFile(msgspec.Struct, frozen=True, kw_only=True):
    """`job.json`: what was asked for and where it may run, so that a lost log can be made again from the folders alone."""

    submitted_at: float
    submitted: JobSubmitted
    candidates: tuple[Candidate, ...] = ()


class Folders:
    """All job folders of one state folder."""

    def __init__(self, state: Path, store: KeptInputs) -> None:
        self.root = state / "jobs"
        self.cache = state / "prepared"
        self._store = store

    def of(self, job: int) -> Path:
        """Return a job's folder: `<state>/jobs/000042`."""
        return self.root / f"{job:06d}"

    def prepare(self, row: Job) -> Path:
        """Make the folder with its inputs and its `job.json`; what is there already stays."""
        folder = self.of(row.job)
        (folder / "attempts").mkdir(parents=True, exist_ok=True)
        self._store.place(row.submitted.inputs, folder)
        if not (folder / JOB_FILE).exists():
            told = JobFile(submitted_at=row.submitted_at, submitted=row.submitted, candidates=row.candidates)
            write(folder / JOB_FILE, msgspec.json.encode(told))
        return folder

    def lay_out(self, folder: Path, attempt: int, plan: LaunchPlan, launched: Launched) -> None:
        """Bring the folder into the state that the plan wants; nothing is deleted."""
        set_aside(folder, plan.set_aside)
        for name, product in plan.links.items():
            _show(Path(product), folder / name)
        for name, text in plan.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write(folder / name, text.encode())
        write(self.launch_file(folder, attempt), msgspec.json.encode(launched))

    def launched(self, folder: Path, attempt: int) -> Launched | None:
        """Return what was written before the attempt started; None where it can't be read."""
        return _read(self.launch_file(folder, attempt), Launched)

    def numbers(self) -> list[int]:
        """Return the number of every job folder that is there, ascending."""
        if not self.root.is_dir():
            return []
        return sorted(int(name) for name in os.listdir(self.root) if name.isdecimal())

    def told(self, folder: Path) -> JobFile | None:
        """Return what a job folder says of its job; None where it can't be read."""
        return _read(folder / JOB_FILE, JobFile)

    def launches(self, folder: Path) -> list[tuple[int, Launched]]:
        """Return the attempts that a job folder tells of, by number, up to the first that can't be read."""
        names = (path.name.removesuffix(LAUNCH_FILE) for path in (folder / "attempts").glob(f"*{LAUNCH_FILE}"))
        numbers = sorted(int(name) for name in names if name.isdecimal())
        made: list[tuple[int, Launched]] = []
        for number in numbers:
            launched = self.launched(folder, number)
            if launched is None or number != len(made) + 1:
                break
            made.append((number, launched))
        return made

    @staticmethod
    def launch_file(folder: Path, attempt: int) -> Path:
        """Return the path of an attempt's launch file."""
        return folder / "attempts" / f"{attempt}{LAUNCH_FILE}"


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError):
        return None


def _show(product: Path, name: Path) -> None:
    """Make a product appear under a name, in the place of what an earlier attempt used."""
    if name.exists() and not name.samefile(product):
        part = name.with_name(f".{name.name}.part")
        part.unlink(missing_ok=True)
        link_or_copy(product, part)
        part.rename(name)
    else:
        link_or_copy(product, name)


def write(path: Path, data: bytes) -> None:
    """Write a whole file, complete or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(data)
    part.rename(path)


def set_aside(folder: Path, names: Iterable[str]) -> None:
    """Move files into the next free `aside-N/`: what is in the way is kept."""
    present = [folder / name for name in names if (folder / name).exists()]
    if not present:
        return
    number = 1
    while (folder / f"aside-{number}").exists():
        number += 1
    aside = folder / f"aside-{number}"
    aside.mkdir()
    for path in present:
        path.rename(aside / path.name)


def digests(inputs: Iterable[InputFile]) -> tuple[str, ...]:
    """Return the sha256 of each input, in the order of the spec."""
    return tuple(item.sha256 for item in inputs)
