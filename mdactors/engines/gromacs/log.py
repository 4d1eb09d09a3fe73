"""md.log of GROMACS 4.0 to 2026: text -> structs. No file access here.

Rules of this file:

- A log has a *head* (up to the first `Started ... on rank`) and a *tail* (its last 64 KiB); what lies between is energy
  rows and is never needed, so a log of gigabytes costs no more than one of 200 kB.
- An appended log holds several parts. Figures and signals count only after the last `Started` or `Restarting`.
- Values are found by their words, never by line or column; units are zipped with the row that follows them, since
  their order and number changed with versions and environment variables.
- A pattern for the start of a line begins with the line feed before it, and texts get one in front: `^` is tried at every
  character and costs ten times as much, which is most of what judging a short run costs.
- `Finished mdrun` says neither that the last step was reached nor that nothing went wrong.
"""

from __future__ import annotations

import math
import re

import msgspec

from mdactors.engines.gromacs.versions import parse_version

INTEGRATORS_IN_TIME = frozenset({"md", "md-vv", "md-vv-avek", "sd", "sd1", "sd2", "bd"})
"""All others (steep, cg, l-bfgs, nm, tpi) have no time step that means anything, and write no checkpoint."""

STARTED = re.compile(r"\nStarted (.+) on (?:rank|node) \d+")
RESTARTED = "Restarting from checkpoint"


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What a run says of itself before its first step."""

    version: str = ""
    precision: str = ""
    """As printed: `single`, `mixed`, `double`."""
    gpu_support: str = ""
    mpi: str = ""
    command: str = ""
    integrator: str = ""
    timestep_ps: float | None = None
    steps_input: int | None = None
    """`nsteps` of the input; -1 is without end."""
    steps_override: int | None = None
    """The same, given on the command line."""
    first_step: int = 0
    """`init-step` of the input."""
    atoms: int | None = None
    ranks: int | None = None
    threads: int | None = None
    """OpenMP threads of each rank."""
    hardware: str = ""
    uses_gpu: bool = False
    started: bool = False
    """The first step was about to be made: this head is complete."""

    @property
    def steps_planned(self) -> int | None:
        """Steps from `first_step` to the end; -1 is without end."""
        return self.steps_input if self.steps_override is None else self.steps_override

    @property
    def in_time(self) -> bool:
        """It integrates equations of motion, so it can be continued from a checkpoint."""
        return self.integrator in INTEGRATORS_IN_TIME or not self.integrator


class Tail(msgspec.Struct, frozen=True, kw_only=True):
    """How a run's last part went."""

    last_step: int | None = None
    finished: bool = False
    """It left its loop in good order: at the last step, by a signal or at a time limit."""
    signal: str = ""
    """`TERM`, `INT`, or `second INT/TERM`."""
    time_exceeded: bool = False
    converged: bool = False
    fatal: str = ""
    """The engine's own last words."""
    performance: dict[str, float] = {}
    """Unit -> value of the last `Performance:` row."""
    core_seconds: float | None = None
    wall_seconds: float | None = None
    cpu_percent: float | None = None
    """100 for one busy core."""
    ranks: int | None = None
    threads: int | None = None
    force_calls: int | None = None
    """Times that forces were computed while the clock ran: timed steps + 1."""
    pair_interactions: float | None = None
    """Million; from the table of floating-point operations."""
    megaflops: float | None = None
    """Million operations, from the same table."""
    drift: float | None = None
    """Of the conserved energy, kJ/mol/ps per atom."""
    imbalance_percent: float | None = None
    imbalance_lost_percent: float | None = None
    pme_force_ratio: float | None = None
    pme_lost_percent: float | None = None
    lincs_warnings: int = 0
    notes: tuple[str, ...] = ()


class Log(msgspec.Struct, frozen=True, kw_only=True):
    """Both ends of one md.log."""

    head: Head
    tail: Tail
    parts: int = 1
    """1 + restarts seen in what was read."""

    @property
    def ranks(self) -> int | None:
        """Of the last part where it says so."""
        return self.head.ranks if self.tail.ranks is None else self.tail.ranks

    @property
    def threads(self) -> int | None:
        """OpenMP threads of each rank."""
        return self.head.threads if self.tail.threads is None else self.tail.threads


def parse_log(head: str, tail: str) -> Log:
    """Read a log from its two ends, which may overlap or be the same text."""
    return Log(head=parse_head(head), tail=parse_tail(tail), parts=1 + tail.count(RESTARTED))


# ---------------------------------------------------------------- the head


def parse_head(text: str) -> Head:
    """Read what stands before the first step."""
    text = f"\n{text}"
    started = STARTED.search(text)
    text = text[: started.start()] if started else text
    build = parse_version(text)
    labels = build.labels if build else {}
    steps, override, first = (_integer(pattern, text) for pattern in (STEPS_INPUT, STEPS_OVERRIDE, FIRST_STEP))
    uses_gpu = re.search(GPU_USED, text) is not None
    return Head(
        version=build.raw if build else _first(OLD_VERSION, text),
        precision=labels.get("Precision", "double" if "(double precision)" in text else ""),
        gpu_support=labels.get("GPU support", ""),
        mpi=labels.get("MPI library", ""),
        command=_first(COMMAND, text).strip(),
        integrator=_first(INTEGRATOR, text),
        timestep_ps=_real(TIMESTEP, text),
        steps_input=steps,
        steps_override=override,
        first_step=first or 0,
        atoms=_atoms(text),
        ranks=_integer(RANKS, text),
        threads=_integer(THREADS, text),
        hardware=(uses_gpu and _first(GPU_NAME, text)) or _first(CPU_NAME, text).strip(),
        uses_gpu=uses_gpu,
        started=started is not None,
    )


OLD_VERSION = r"(?::-\)|Program \S+,)\s+VERSION (\S+)"
COMMAND = r"\nCommand line:\n\s*(.+)$"
INTEGRATOR = r"\n\s+integrator\s+= (\S+)"
TIMESTEP = r"\n\s+(?:dt|delta[_-]t)\s+= (\S+)"
STEPS_INPUT = r"\n\s+nsteps\s+= (-?\d+)"
STEPS_OVERRIDE = r"\nOverriding nsteps with value passed on the command line: (-?\d+) steps"
FIRST_STEP = r"\n\s+init[_-]step\s+= (\d+)"
RANKS = r"\nUsing (\d+) MPI (?:thread|process)"
THREADS = r"\nUsing (\d+) OpenMP thread"
CPU_NAME = r"\n\s+Brand:\s+(.+)$"
GPU_NAME = r"\n\s+#\d+: (?:name: )?(?:, )?(?:NVIDIA )?(.+?),"
GPU_USED = r"\n(?:(?:On host \S+ )?\d+ GPUs? (?:auto-|user-)?selected for this run|Mapping of GPU IDs)"
VIRTUAL_SITES = r"\nThere are: (\d+) VSites"


def _atoms(text: str) -> int | None:
    """Add up what counts as an atom: virtual sites are printed apart but are atoms in every file."""
    real = _integer(r"\nThere are: (\d+) Atoms", text)
    return None if real is None else real + (_integer(VIRTUAL_SITES, text) or 0)


# ---------------------------------------------------------------- the tail


def parse_tail(text: str) -> Tail:
    """Read how the last part of a run went from the end of its log."""
    part = last_part(f"\n{text}")
    core, wall, percent = _times(part)
    ranks, threads = _ranks(part)
    return Tail(
        last_step=last_step(text),
        finished="\nFinished mdrun on" in part,
        signal=_last(r"\nReceived the (second INT/TERM|\w+) signal", part),
        time_exceeded="Run time exceeded" in part,
        converged=re.search(r"^\S.* converged to ", part, re.MULTILINE) is not None,
        fatal=fatal_error(part),
        performance=performance(part),
        core_seconds=core,
        wall_seconds=wall,
        cpu_percent=percent,
        ranks=ranks,
        threads=threads,
        force_calls=_force_calls(part),
        pair_interactions=_pair_interactions(part),
        megaflops=_last_real(MEGAFLOPS, part),
        drift=_last_real(r"Conserved energy drift:\s+(\S+)", part),
        imbalance_percent=_last_real(r"Average load imbalance:\s*([\d.]+)\s*%", part),
        imbalance_lost_percent=_last_real(r"waiting due to load imbalance:\s*([\d.]+)\s*%", part),
        pme_force_ratio=_last_real(r"Average PME mesh/force load:\s*([\d.]+)", part),
        pme_lost_percent=_last_real(r"waiting due to PP/PME imbalance:\s*([\d.]+)\s*%", part),
        lincs_warnings=part.count("LINCS WARNING"),
        notes=notes(part),
    )


MEGAFLOPS = r"M E G A - F L O P S(?:.*\n)+?^ Total\s+([\d.]+)\s+100\.0"
STEP_ROW = r"\n\s+Step\s+Time.*\n\s+(\d+)\s"
CHECKPOINT_ROW = r"\nWriting checkpoint, step (\d+)"
EXCHANGE_ROW = r"\nReplica exchange at step (\d+)"


def last_part(text: str) -> str:
    """Return what follows the last start or restart, or all of it where the text begins after that."""
    starts = [match.start() for match in STARTED.finditer(text)]
    return text[max([0, *starts, text.rfind(RESTARTED)]) :]


def last_step(text: str) -> int | None:
    """Return the greatest step of which the text speaks."""
    rows = (re.findall(row, f"\n{text}") for row in (STEP_ROW, CHECKPOINT_ROW, EXCHANGE_ROW))
    return max((int(step) for found in rows for step in found), default=None)


def performance(text: str) -> dict[str, float]:
    """Return the last `Performance:` row by the units printed above it, without values that are no numbers."""
    rows = re.findall(r"^((?:\s*\([^()\n]+\))+)\s*\nPerformance:(.*)$", text, re.MULTILINE)
    if not rows:
        return {}
    units, values = rows[-1]
    pairs = zip(re.findall(r"\(([^()]+)\)", units), values.split(), strict=False)
    numbers = ((unit, _number(value)) for unit, value in pairs)
    return {unit: number for unit, number in numbers if number is not None}


def fatal_error(text: str) -> str:
    """Return the engine's error message on one line, without the word for its class; empty: there is none."""
    match = re.search(
        r"^-{20,}\nProgram:?\s(?:.*\n)+?\n((?:.+\n)+?)(?=\n|For more information|-{20})", text, re.MULTILINE
    )
    if not match:
        return ""
    lines = [line.strip() for line in match.group(1).splitlines()]
    if len(lines) > 1 and lines[0] in ERROR_CLASSES:
        lines = lines[1:]
    return " ".join(lines)


ERROR_CLASSES = frozenset(
    {
        "Fatal error:",
        "File input/output error:",
        "Error in user input:",
        "Inconsistency in user input:",
        "Invalid command-line options",
        "Feature not implemented:",
        "Range checking error:",
        "Internal error (bug):",
        "Unknown exception:",
        "MPI error:",
        "Standard library runtime error (possible bug):",
        "Standard library logic error (bug):",
    }
)
"""`getErrorCodeString` of GROMACS: what kind of error it is; the message follows."""


def notes(text: str) -> tuple[str, ...]:
    """Return the `NOTE:` blocks, each on one line."""
    blocks = re.findall(r"^NOTE: (.+(?:\n(?!NOTE:).+)*)", text, re.MULTILINE)
    return tuple(" ".join(block.split()) for block in blocks)


def _times(text: str) -> tuple[float | None, float | None, float | None]:
    """Return core seconds, wall seconds and their ratio in percent from the last `Time:` row."""
    rows = re.findall(r"^\s+Time:\s+(\S+)\s+(\S+)(?:\s+(\S+))?\s*$", text, re.MULTILINE)
    if not rows:
        return None, None, None
    core, wall, percent = (_number(value) for value in rows[-1])
    return core, wall, percent


ACCOUNTED = r"^On (\d+) MPI ranks?(?: doing PP)?(?:, each using (\d+) OpenMP threads)?"
ACCOUNTED_PME = r"^On \d+ MPI ranks? doing PP.*\n\s*on (\d+) MPI ranks? doing PME"


def _ranks(text: str) -> tuple[int | None, int | None]:
    """Return ranks and threads a rank: from the accounting at the end, which speaks of the last part, or its start."""
    rows = re.findall(ACCOUNTED, text, re.MULTILINE)
    if not rows:
        return _last_integer(RANKS, text), _last_integer(THREADS, text)
    ranks, threads = rows[-1]
    return int(ranks) + (_last_integer(ACCOUNTED_PME, text) or 0), int(threads or 1)


def _force_calls(text: str) -> int | None:
    """Return the call count of the `Force` row: the last whole number before the first time in it."""
    rows = re.findall(r"\n Force {3,}((?:\d+ +)+)\d+\.\d+ ", text)
    return int(rows[-1].split()[-1]) if rows else None


def _pair_interactions(text: str) -> float | None:
    table = text[max(0, text.rfind("M E G A - F L O P S")) :]
    rows = re.findall(r"^ NxN \S.*?\s{2,}([\d.]+)\s+[\d.]+\s+[\d.]+$", table, re.MULTILINE)
    return sum(float(row) for row in rows) if rows else None


# ---------------------------------------------------------------- words and numbers


def _first(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    return match.group(1) if match else ""


def _last(pattern: str, text: str) -> str:
    found = re.findall(pattern, text, re.MULTILINE)
    return str(found[-1]) if found else ""


def _number(text: str) -> float | None:
    """Return a finite number, None for anything else (`nan`, `inf`, a word)."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _integer(pattern: str, text: str) -> int | None:
    found = _first(pattern, text)
    return int(found) if found else None


def _real(pattern: str, text: str) -> float | None:
    return _number(_first(pattern, text))


def _last_integer(pattern: str, text: str) -> int | None:
    found = _last(pattern, text)
    return int(found) if found else None


def _last_real(pattern: str, text: str) -> float | None:
    return _number(_last(pattern, text))
