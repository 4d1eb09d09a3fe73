"""How things went: refusals, diagnoses, exit records, figures."""

from __future__ import annotations

from typing import Literal

import msgspec


class Refusal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why one capability, or the platform as a whole, can't run a job."""

    subject: str
    """The capability, engine or file that was tried."""
    clause: str
    """The rule: `precision`, `engine`, `device`, `kind`, `input`, `tpx_version`, `health`, `field` ..."""
    wanted: str = ""
    found: str = ""
    remedy: str = ""

    def text(self) -> str:
        """One line for people: subject, what is asked, what is there, what helps."""
        middle = (
            f"the job asks for {self.wanted}; {self.found}" if self.wanted and self.found else self.wanted or self.found
        )
        tail = f" ({self.remedy})" if self.remedy else ""
        return f"{self.subject}: {middle}{tail}"


class Requirement(msgspec.Struct, frozen=True):
    """Something that an input needs of the engine that reads it: at least `value` of `name`."""

    name: str
    value: int
    text: str
    """The fact in words: `the tpr has format 138 (GROMACS 2026)`."""


class Examination(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one engine read in a job's inputs before anything was decided."""

    engine: str
    refusals: tuple[Refusal, ...] = ()
    """Non-empty: this engine can't run this input, whatever the build."""
    requires: tuple[Requirement, ...] = ()
    atoms: int = 0
    """0: not known before the run."""
    system: str = ""
    """System class (`648 atoms, PME, h-bonds`) inside which speeds may be compared; empty where not known yet."""
    notes: tuple[str, ...] = ()
    """Differences that change no dynamics but that a reader of the result should know."""


class Candidate(msgspec.Struct, frozen=True):
    """A capability that can run the job; candidates are listed best first."""

    capability: str
    device: str
    why: str = ""


OutcomeName = Literal["completed", "stopped", "failed", "vanished"]
"""completed: the last step was reached. stopped: ended in good order before it. failed: by itself. vanished: no exit record."""

DiagnosisClass = Literal[
    "visibility", "build", "numerics", "resource", "files", "performance", "substrate", "user", "unknown"
]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What went wrong, by which evidence, and what a retry could mend."""

    kind: DiagnosisClass
    code: str
    """Stable short name (`lincs-blowup`, `disk-full`) for metrics and grep."""
    summary: str
    evidence: str = ""
    """The line that proves it, as the engine wrote it."""
    retry: Literal["same", "other", "no"] = "no"
    """same: the same device will do; other: only elsewhere; no: needs a person."""
    remedy: str = ""


class ExitRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the shim left when the engine process ended."""

    code: int
    """Exit status; -N where signal N ended it (a shell's 128+N is translated)."""
    time: float
    """When it ended, seconds since the epoch (the record's modification time)."""
    user_seconds: float = 0.0
    system_seconds: float = 0.0
    max_rss_bytes: int = 0
    """0: not measured (the platform was away)."""


class Figures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an attempt did and how fast; None where the evidence does not say."""

    steps_asked: int | None = None
    """Total steps of the job."""
    steps_done: int | None = None
    """Step reached, counted from the job's start."""
    steps_timed: int | None = None
    """Steps over which the speed was measured."""
    simulated_ns: float | None = None
    """By this attempt."""
    timestep_ps: float | None = None
    atoms: int | None = None
    wall_seconds: float | None = None
    """Of the MD loop, as the engine timed it."""
    core_seconds: float | None = None
    ns_per_day: float | None = None
    hours_per_ns: float | None = None
    ms_per_step: float | None = None
    matom_steps_per_second: float | None = None
    mnbf_per_second: float | None = None
    mflops: float | None = None
    cpu_use_percent: float | None = None
    """Of the threads that it was given: 100 is all of them all the time."""
    conserved_drift: float | None = None
    """kJ/mol/ps per atom."""
    threads: int | None = None
    ranks: int | None = None
    engine_version: str = ""
    hardware: str = ""
    """Device name as the engine itself reports it."""
    steady: bool = False
    """Long enough (1,000 timed steps and 30 s) to be compared with others."""
