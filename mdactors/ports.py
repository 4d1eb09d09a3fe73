"""The words that two neighbours share: engine and substrate, runtime and journal, everything and the clock."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from events.attempts import Handle
from events.base import Event, Record
from events.devices import DeviceReported
from events.hardware import Absence, Capability, Device, Slot
from events.outcome import Candidate, Diagnosis, Examination, ExitRecord, Figures, OutcomeName, Refusal
from events.spec import AnyJobSpec, InputFile
from mdactors.core.lifecycle import Closed, Job

# ---------------------------------------------------------------- time and storage


class Clock(Protocol):
    """Time, injected, so that a simulation can run days in milliseconds."""

    def time(self) -> float:
        """Return seconds since the epoch; may jump."""

    def monotonic(self) -> float:
        """Return seconds from an arbitrary origin; never jumps."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What a start can do with instead of the whole log up to a record."""

    seq: int
    """Up to which the log was folded."""
    needed: tuple[int, ...]
    """Records up to there that have to be folded again."""
    counters: bytes
    """The metrics' own, JSON."""


class Journal(Protocol):
    """The event log: append in groups, read in order; and the newest snapshot of it."""

    async def append(self, records: Sequence[Record]) -> None:
        """Make the records durable, all or none.

        Raises:
            JournalError: they are not durable (disk full, file damaged); nothing was kept.
        """

    def read(self, since: int = 0, kind: type[Event] | None = None) -> AsyncIterator[Record]:
        """Yield records with a sequence number greater than `since`, in order; only facts of one kind where one is named."""

    def pick(self, seqs: Sequence[int]) -> AsyncIterator[Record]:
        """Yield the records with these numbers, in order."""

    async def last(self) -> int:
        """Return the greatest sequence number, 0 for an empty log."""

    async def keep(self, snapshot: Snapshot, closed: Sequence[Job]) -> None:
        """Make a snapshot durable together with the jobs that were closed since the one before, all or nothing.

        Raises:
            JournalError: it is not; the one before stays.
        """

    async def snapshot(self) -> tuple[Snapshot, Closed] | None:
        """Return the newest snapshot and all closed jobs; None where there is none that this version can use."""

    async def close(self) -> None:
        """Release the file."""


# ---------------------------------------------------------------- engines


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """How a short helper process ended."""

    code: int
    """Exit status; -N for signal N; 127 where the program could not be started."""
    stdout: bytes
    stderr: bytes
    timed_out: bool = False


class Run(Protocol):
    """Runs a short helper program to its end; what engines probe and prepare with. Given by a substrate."""

    async def __call__(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        cwd: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run argv with an environment from `build_env`; on timeout end it with everything it started."""


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """Where a probe looks."""

    node: str
    devices: tuple[Device, ...]
    search_path: tuple[str, ...]
    """Folders in which programs are looked for."""


class Probed(msgspec.Struct, frozen=True, kw_only=True):
    """What one engine found on one node."""

    capabilities: tuple[Capability, ...] = ()
    absences: tuple[Absence, ...] = ()


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """Where a job stands by the files in its folder: what the next attempt has to do."""

    finished: bool = False
    """The last step was reached; there is nothing left to run."""
    step: int = 0
    """Step of the newest checkpoint that can be trusted."""
    checkpoint: str = ""
    """That checkpoint's file, relative to the job's folder; empty: start from step 0."""
    stale: tuple[str, ...] = ()
    """Files of an earlier run that are in the way of a fresh start and have to be moved aside first."""
    remarks: tuple[str, ...] = ()


class PlanRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that an engine needs to know for the command line of one attempt."""

    job: int
    attempt: int
    spec: AnyJobSpec
    inputs: tuple[InputFile, ...]
    capability: Capability
    slot: Slot
    situation: Situation
    folder: str
    """The job's folder, absolute; its inputs lie under `inputs/`."""
    cache: str
    """Folder for derived inputs that jobs may share; a file appears there complete or not at all."""


class Preparation(msgspec.Struct, frozen=True, kw_only=True):
    """A short process whose product is needed before the engine can start; made once, then shared."""

    argv: tuple[str, ...]
    """Run in an empty folder of its own; relative names refer to it."""
    makes: str
    """File that it leaves there."""
    product: str
    """Absolute path to which that file is then moved; present: nothing to do."""
    what: str
    """The program as people call it (`gmx grompp`)."""
    remedy: str = ""
    """What a user can do where it refuses the input."""
    tolerates: tuple[str, ...] = ()
    """Beginnings of warnings that are passed on with the result and refuse nothing."""
    warnings_max: int | None = None
    """How many others it may give; None: it is not asked."""
    timeout: float = 60.0


class LaunchPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to run for one attempt. Pure data: no engine process is needed to make or to test one."""

    argv: tuple[str, ...]
    """Absolute program, then arguments; working directory is the job's folder, file names are relative to it."""
    prepare: tuple[Preparation, ...] = ()
    links: dict[str, str] = {}
    """Name in the job's folder -> absolute path of a product that has to appear under it (hard link or copy)."""
    files: dict[str, str] = {}
    """Name in the job's folder -> text to write there before the start."""
    set_aside: tuple[str, ...] = ()
    """Files in the job's folder to move into `aside-N/` before the start; never deleted."""
    variables: dict[str, str] = {}
    """What the engine wants in its environment; goes through `build_env`."""
    stop_signal: int = 15
    grace_seconds: float = 60.0
    """Between the stop signal and the end by force: long enough to write a checkpoint."""
    added: tuple[str, ...] = ()
    """Every word that the platform chose by itself, for the result."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How far a running attempt has come, read from its files."""

    step: int
    """Counted from the job's start."""
    steps_asked: int | None = None
    timestep_ps: float | None = None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of an ended attempt besides its files."""

    spec: AnyJobSpec
    attempt: int
    exit: ExitRecord | None
    """None: it vanished without a record."""
    stop_asked: bool
    """We asked it to stop."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt ended, by the files as well as by the exit code."""

    outcome: OutcomeName
    figures: Figures = Figures()
    diagnosis: Diagnosis | None = None
    warnings: tuple[str, ...] = ()


class Energies(msgspec.Struct, frozen=True, kw_only=True):
    """Energy terms over time of one job, in kJ/mol under the common names of `mdactors.reconcile.terms`."""

    times_ps: tuple[float, ...]
    """Shape (n,)."""
    terms: dict[str, tuple[float, ...]]
    """Name -> values, each of shape (n,)."""
    source: str
    """The file that they were read from."""


class Engine(Protocol):
    """How jobs run on one MD engine. Knows no queue and no substrate.

    `examine`, `survey`, `progress`, `judge` and `energies` read files and may block: callers run them in a thread.
    All folders are job folders: inputs under `inputs/`, the files of attempt N under `attempts/N/`
    (`stdout`, `stderr`, `exit`), everything that the engine writes beside them.
    """

    name: str
    kinds: tuple[str, ...]
    """Kinds of job that some build of it can run."""

    async def probe(self, run: Run, host: Host) -> Probed:
        """Find builds and what each can do; what is missing is an absence with its reason, never an exception."""

    def examine(self, spec: AnyJobSpec, files: Mapping[str, Path]) -> Examination:
        """Read the inputs as far as needed to say no before a run. Never raises for bad input.

        Args:
            spec: the job.
            files: role -> kept copy; files that a topology includes are under `include:NAME`.
        """

    def survey(self, folder: Path, spec: AnyJobSpec) -> Situation:
        """Read where the job stands. A folder without outputs is a fresh start."""

    def plan(self, request: PlanRequest) -> LaunchPlan:
        """Return what to run. Pure."""

    def progress(self, folder: Path, attempt: int) -> Reading | None:
        """Return how far the running attempt has come; None where nothing can be told yet. Costs under a millisecond."""

    def judge(self, folder: Path, evidence: Evidence) -> Verdict:
        """Return how the attempt ended."""

    def energies(self, folder: Path) -> Energies:
        """Return the job's energies.

        Raises:
            EnergiesMissingError: there are none, or they can't be read.
        """


# ---------------------------------------------------------------- substrates


class LaunchOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What a substrate needs to start one attempt."""

    folder: str
    """The job's folder, absolute; it exists."""
    attempt: int
    argv: tuple[str, ...]
    environment: dict[str, str]
    """The whole environment of the process."""
    cpus: tuple[int, ...] = ()
    """Logical CPUs to which it and all its threads are bound; empty: not bound."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What the substrate knows of an attempt."""

    state: Literal["absent", "running", "ended", "vanished"]
    """absent: it never ran, and may be launched. vanished: it ran, nothing of it lives, and it left no exit record."""
    handle: Handle | None = None
    exit: ExitRecord | None = None


class Substrate(Protocol):
    """What starts and watches processes. Knows no physics."""

    name: str
    run: Run

    async def devices(self) -> tuple[Device, ...]:
        """Return the node's devices, numbered as users number them."""

    async def launch(self, order: LaunchOrder) -> Handle:
        """Start the attempt detached: it outlives us. Exactly once: the attempt is claimed by exclusive creation.

        Raises:
            AlreadyClaimedError: it was launched before.
            FolderBusyError: something still lives in the job's folder.
            LaunchError: the process could not be started.
        """

    async def find(self, folder: str, attempt: int) -> Found:
        """Return what became of an attempt, by lock, claim, record and process table."""

    async def wait(self, folder: str, attempt: int, handle: Handle) -> ExitRecord | None:
        """Wait until nothing of the attempt lives any more; None: it left no exit record. Learns it by an event."""

    async def stop(self, folder: str, attempt: int, handle: Handle, *, signal: int, grace_seconds: float) -> None:
        """Ask it to stop, once; after the grace end it and everything it started."""

    def masks(self, handle: Handle) -> tuple[tuple[int, ...], ...]:
        """Return the distinct CPU masks of the attempt's threads as the kernel reports them."""

    def reports(self) -> AsyncIterator[DeviceReported]:
        """Yield what the substrate hears about its devices, as it hears it."""


class KeptInputs(Protocol):
    """The store of inputs: one copy for each digest, so that a later edit can't change a queued job."""

    def keep(self, path: Path) -> tuple[str, int, Path]:
        """Copy a file into the store; return sha256, size and the kept copy's path."""

    def place(self, inputs: Iterable[InputFile], folder: Path) -> None:
        """Make the inputs appear under the job's `inputs/` folder."""


# ---------------------------------------------------------------- the platform as people's tools see it


class Submission(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one entry of a job file."""

    index: int
    """Place in the job file, from 0."""
    name: str
    job: int | None = None
    """Its number; None where it was refused before it got one."""
    state: str = ""
    """`queued`, `rejected` ...; `refused` without a number; empty: not decided yet."""
    refusals: tuple[Refusal, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    """Best first."""
    examinations: tuple[Examination, ...] = ()
