"""The columns of the ledger: one table of name, meaning with unit, and where the value comes from.

Columns are only ever added at the right end; a name never changes its meaning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from events.codec import timestamp
from events.outcome import Figures
from events.results import Context
from events.spec import MDJobSpec
from mdactors.core.lifecycle import Attempt, Job

Value = str | int | float | bool | Iterable[str | int] | None
"""What a column may hold; lists become words with a space between, None an empty cell."""


class Source(NamedTuple):
    """What one row of the ledger is made of."""

    job: Job
    attempt: Attempt
    context: Context

    @property
    def spec(self) -> MDJobSpec:
        """What the user asked for."""
        return self.job.submitted.spec

    @property
    def figures(self) -> Figures:
        """What the attempt did."""
        return self.attempt.figures


class Column(NamedTuple):
    """One column."""

    name: str
    meaning: str
    value: Callable[[Source], Value]


CONTEXT_NEEDED = (
    "engine",
    "version",
    "backend",
    "precision",
    "device",
    "device_name",
    "node",
    "slot",
    "threads",
    "system",
    "inputs_sha256",
)
"""Fields of the context without which a speed says nothing. Build and driver may honestly be unknown (a CPU has none)."""


def lacking(context: Context, figures: Figures) -> tuple[str, ...]:
    """Return what is missing for the speed to be stored: names of empty context fields, and `atoms`."""
    empty = tuple(name for name in CONTEXT_NEEDED if not getattr(context, name))
    return empty if figures.atoms else (*empty, "atoms")


def name_of(job: Job) -> str:
    """Return the job's name, or the name of its first input where the user gave none."""
    spec, inputs = job.submitted.spec, job.submitted.inputs
    return spec.name or (inputs[0].name if inputs else "")


def ready_at(job: Job, attempt: Attempt) -> float:
    """Return when (epoch seconds) the attempt could have begun: at submission, or when the one before it ended."""
    before = [each.ended for each in job.attempts if each.number < attempt.number and each.ended is not None]
    return max(before, default=job.submitted_at)


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else timestamp(seconds)


def _speed(pick: Callable[[Figures], float | None]) -> Callable[[Source], Value]:
    """Return the getter of a speed, which is left out where its context is incomplete."""

    def value(source: Source) -> Value:
        return None if lacking(source.context, source.figures) else pick(source.figures)

    return value


COLUMNS: tuple[Column, ...] = (
    Column("job", "number of the job", lambda s: s.job.job),
    Column("attempt", "number of the attempt, from 1", lambda s: s.attempt.number),
    Column("name", "the user's name for it, else the input's file name", lambda s: name_of(s.job)),
    Column("owner", "who asked", lambda s: s.spec.owner),
    Column("project", "on whose account", lambda s: s.spec.project),
    Column("outcome", "completed, stopped, failed or vanished", lambda s: s.attempt.outcome),
    Column(
        "diagnosis",
        "short name of what went wrong",
        lambda s: s.attempt.diagnosis.code if s.attempt.diagnosis else None,
    ),
    Column("engine", "gromacs, openmm ...", lambda s: s.context.engine),
    Column("version", "comparable version; text, not a number", lambda s: s.context.version),
    Column("build", "version string of the build", lambda s: s.context.build),
    Column("backend", "CPU, CUDA, OpenCL ...", lambda s: s.context.backend),
    Column("precision", "mixed, double or single", lambda s: s.context.precision),
    Column("device", "id of the device on its node", lambda s: s.context.device),
    Column("device_name", "model of the device", lambda s: s.context.device_name),
    Column("driver", "its driver", lambda s: s.context.driver),
    Column("node", "machine", lambda s: s.context.node),
    Column("slot", "share of the device", lambda s: s.context.slot),
    Column("threads", "threads that the engine ran", lambda s: s.context.threads),
    Column("cpus", "logical CPUs to which it was bound", lambda s: s.context.cpus),
    Column("neighbours", "other attempts on the node when it ended", lambda s: s.context.neighbours),
    Column("system", "class of system inside which speeds may be compared", lambda s: s.context.system),
    Column("atoms", "number of atoms", lambda s: s.figures.atoms),
    Column("timestep_ps", "ps", lambda s: s.figures.timestep_ps),
    Column("steps_asked", "steps of the whole job", lambda s: s.figures.steps_asked),
    Column("steps_done", "step reached, from the job's start", lambda s: s.figures.steps_done),
    Column("steps_timed", "steps over which the speed was measured", lambda s: s.figures.steps_timed),
    Column("simulated_ns", "ns, by this attempt", lambda s: s.figures.simulated_ns),
    Column("wall_seconds", "s, of the MD loop by the engine's own clock", lambda s: s.figures.wall_seconds),
    Column("ns_per_day", "ns/day", _speed(lambda f: f.ns_per_day)),
    Column("hours_per_ns", "h/ns", _speed(lambda f: f.hours_per_ns)),
    Column("ms_per_step", "ms", _speed(lambda f: f.ms_per_step)),
    Column("matom_steps_per_second", "million atom steps/s", _speed(lambda f: f.matom_steps_per_second)),
    Column("mnbf_per_second", "million non-bonded forces/s", _speed(lambda f: f.mnbf_per_second)),
    Column("mflops", "million floating-point operations/s, estimated", _speed(lambda f: f.mflops)),
    Column("steady", "true: timed long enough to be compared with others", lambda s: s.figures.steady),
    Column("cpu_use_percent", "% of the threads that it was given", lambda s: s.figures.cpu_use_percent),
    Column("conserved_drift", "kJ/mol/ps per atom", lambda s: s.figures.conserved_drift),
    Column("submitted", "UTC, ISO 8601", lambda s: _moment(s.job.submitted_at)),
    Column("started", "UTC, ISO 8601; the engine process", lambda s: _moment(s.attempt.started)),
    Column("ended", "UTC, ISO 8601", lambda s: _moment(s.attempt.ended)),
    Column(
        "wait_seconds",
        "s, from submission (or the end of the attempt before) until a slot was given",
        lambda s: round(max(s.attempt.assigned - ready_at(s.job, s.attempt), 0.0), 6),
    ),
    Column("exit_code", "exit status, -N for signal N", lambda s: s.attempt.exit.code if s.attempt.exit else None),
    Column("inputs_sha256", "digests of the inputs", lambda s: s.context.inputs_sha256),
    Column("added", "words that the platform chose beyond the user's own", lambda s: s.context.added),
)
"""All columns, in the order of the file."""


def cell(value: Value) -> str | int | float | None:
    """Return a value as it is written: lists joined by spaces, line breaks made spaces, what is not a number left out."""
    match value:
        case bool():
            return "true" if value else "false"
        case float() if not math.isfinite(value):
            return None
        case None | int() | float():
            return value
        case str():
            return guard(" ".join(value.splitlines()).replace("\0", " "))
        case _:
            return cell(" ".join(str(word) for word in value))


FORMULA = ("=", "+", "-", "@", "\t", "＝", "＋", "－", "＠")
"""How a text begins that a spreadsheet would take for a formula (OWASP, CSV injection)."""


def guard(text: str) -> str:
    """Return text so that no spreadsheet computes it: an apostrophe in front, which `unguard` takes away again."""
    return f"'{text}" if text.lstrip("'").startswith(FORMULA) else text


def unguard(text: str) -> str:
    """Return the text that `guard` was given."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(FORMULA) else text
