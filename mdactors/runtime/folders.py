"""A job's folder: where it lies, what the platform itself writes there, and how an attempt's files are laid out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from events.attempts import AttemptStarted
from events.spec import InputFile
from mdactors.core.lifecycle import Job
from mdactors.ports import KeptInputs, LaunchPlan
from mdactors.runtime.inputs import link_or_copy

JOB_FILE = "job.json"
"""What was submitted, so that a lost journal can be rebuilt from the folders alone."""


class Launched(msgspec.Struct, frozen=True, kw_only=True):
    """What a later life of the platform has to know of an attempt; written before the attempt starts."""

    argv: tuple[str, ...]
    added: tuple[str, ...]
    cpus: tuple[int, ...]
    from_step: int
    stop_signal: int
    grace_seconds: float

    def started(self, template: AttemptStarted) -> AttemptStarted:
        """Return the fact that the attempt runs; `template` has what is known besides."""
        return msgspec.structs.replace(
            template, argv=self.argv, added=self.added, cpus=self.cpus, from_step=self.from_step
        )


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
            write(
                folder / JOB_FILE, msgspec.json.encode({"submitted_at": row.submitted_at, "submitted": row.submitted})
            )
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
        try:
            return msgspec.json.decode(self.launch_file(folder, attempt).read_bytes(), type=Launched)
        except (OSError, msgspec.MsgspecError):
            return None

    @staticmethod
    def launch_file(folder: Path, attempt: int) -> Path:
        """Return the path of an attempt's launch file."""
        return folder / "attempts" / f"{attempt}.launch.json"


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
