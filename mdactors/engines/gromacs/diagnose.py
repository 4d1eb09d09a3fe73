"""How an attempt ended: who asked, exit code, step reached, step planned, and what the files say.

| files | code | asked to stop | outcome |
| --- | --- | --- | --- |
| last step reached | any | any | completed |
| - | no exit record | any | vanished |
| `Received the ... signal`, left its loop | 1 or 2 (number of signals) | any | stopped |
| steps missing, left its loop | 0 (`-maxh`) | any | stopped |
| no complaint | 1, 2, or a signal's | yes | stopped |
| anything else | | | failed |
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from events.outcome import Diagnosis, Figures, OutcomeName
from mdactors.engines.gromacs.figures import measured, timed_steps, unmeasured
from mdactors.engines.gromacs.folder import Terminal, read_log, read_terminal, steps_asked
from mdactors.engines.gromacs.log import Log, Tail
from mdactors.engines.gromacs.progress import terminal_step
from mdactors.engines.gromacs.signatures import by_code, matches
from mdactors.engines.gromacs.situation import situation_by
from mdactors.ports import Evidence, Situation, Verdict

STOP_SIGNALS = frozenset({-2, -9, -15})
"""Ends that our own stop can have: before the engine's handler was there, by its handler, by force after the grace."""

SIGNAL_RECEIVED = re.compile(r"Received the (?:second INT/TERM|\w+) signal")
NUMERIC_CODE = -11


class Traces(msgspec.Struct, frozen=True):
    """Everything that an attempt left."""

    log: Log
    terminal: Terminal
    situation: Situation

    @property
    def tail(self) -> Tail:
        """The end of the log as far as this attempt wrote it.

        mdrun that refuses to start leaves the log of the attempt before it untouched, with its signals and figures.
        """
        silent = not self.terminal.head.strip()
        return self.log.tail if silent or self.terminal.began else Tail()

    @property
    def reported(self) -> bool:
        """It left its loop in good order and wrote its closing report."""
        return self.tail.finished

    @property
    def signalled(self) -> bool:
        """It says that it was asked to stop."""
        return bool(SIGNAL_RECEIVED.search(self.terminal.tail)) or bool(self.tail.signal and self.reported)

    @property
    def complains(self) -> bool:
        """It says what went wrong."""
        return bool(self.tail.fatal or matches(self.terminal.tail))


def judge(folder: Path, evidence: Evidence) -> Verdict:
    """Return how an attempt ended and what it measured. Reads files; changes none."""
    log = read_log(folder)
    traces = Traces(log, read_terminal(folder, evidence.attempt), situation_by(log, folder, evidence.spec))
    code = evidence.exit.code if evidence.exit else None
    outcome = decide(traces, code, stop_asked=evidence.stop_asked)
    causes = _causes(traces, code) if outcome == "failed" else []
    warnings = [*_warnings(traces, outcome, code, evidence), *(f"also: {cause.summary}" for cause in causes[1:])]
    return Verdict(
        outcome=outcome,
        figures=_figures(traces, evidence, outcome, code),
        diagnosis=causes[0] if causes else None,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def decide(traces: Traces, code: int | None, *, stop_asked: bool) -> OutcomeName:
    """Apply the table at the head of this file."""
    if traces.situation.finished:
        return "completed"
    if code is None:
        return "vanished"
    if code in (1, 2) and traces.signalled:
        return "stopped"
    if code == 0 and traces.reported:
        return "stopped"
    if stop_asked and (code in STOP_SIGNALS or (code in (1, 2) and not traces.complains)):
        return "stopped"
    return "failed"


# ---------------------------------------------------------------- why


def _causes(traces: Traces, code: int | None) -> list[Diagnosis]:
    """Return what went wrong, most telling first: words on the terminal, words in the log, the exit code."""
    spoken = matches(traces.terminal.tail) or matches(traces.tail.fatal)
    if spoken:
        return spoken
    if traces.tail.fatal and not traces.reported:
        return [_in_its_own_words(traces.tail.fatal)]
    if code == NUMERIC_CODE and traces.tail.lincs_warnings:
        return matches("LINCS WARNING")
    return [by_code(code or 0, last_line(traces.terminal.tail))]


def _in_its_own_words(message: str) -> Diagnosis:
    return Diagnosis(kind="unknown", code="fatal-error", summary="GROMACS gave up", evidence=message, retry="no")


def last_line(text: str) -> str:
    """Return the last line that says something about the run; GROMACS closes with a quotation, which does not."""
    lines = [line.strip() for line in text.splitlines()]
    telling = [line for line in lines if line and not line.startswith(("GROMACS reminds you", "step "))]
    return telling[-1][:500] if telling else ""


# ---------------------------------------------------------------- how far and how fast


def _figures(traces: Traces, evidence: Evidence, outcome: OutcomeName, code: int | None) -> Figures:
    """Speeds are read only after an end in good order: a killed run leaves the report of an earlier part."""
    log = traces.log
    in_order = traces.reported and (code is None or code >= 0) and outcome in {"completed", "stopped"}
    figures = measured(log) if in_order and timed_steps(log) != 0 else unmeasured(log)  # no step, no speed
    first, asked = log.head.first_step, steps_asked(evidence.spec, log)
    done = _step_reached(traces, in_order=in_order)
    start = (traces.terminal.from_step or first) - first
    simulated = None
    if done is not None and figures.timestep_ps is not None and log.head.in_time:
        simulated = max(0, done - start) * figures.timestep_ps / 1000
    return msgspec.structs.replace(figures, steps_asked=asked, steps_done=done, simulated_ns=simulated)


def _step_reached(traces: Traces, *, in_order: bool) -> int | None:
    """Return the step reached from the job's start: the checkpoint's after an end in good order, else the last seen."""
    first = traces.log.head.first_step
    kept = traces.situation.step
    if in_order and (kept or traces.situation.finished):
        return kept
    terminal = terminal_step(traces.terminal.tail.encode())
    seen = [step - first for step in (traces.tail.last_step, terminal) if step is not None]
    return max([*seen, kept]) if seen or kept else None


# ---------------------------------------------------------------- worth telling


def _warnings(traces: Traces, outcome: OutcomeName, code: int | None, evidence: Evidence) -> list[str]:
    head, tail = traces.log.head, traces.tail
    lincs = max(tail.lincs_warnings, traces.terminal.tail.count("LINCS WARNING"))
    found = [
        (lincs > 0, f"{lincs} LINCS warnings"),
        (_oversubscribed(traces), "more threads than processors: speeds of this run mean nothing"),
        (_without_its_gpu(traces), f"built for {head.gpu_support}, but it ran on the CPU"),
        (traces.reported and not tail.performance and outcome != "failed" and head.in_time, "no performance data"),
        (outcome == "completed" and not head.in_time and not tail.converged, "the minimisation did not converge"),
        (outcome == "completed" and code not in (0, None), f"the last step was reached, then it ended with {code}"),
        (outcome == "stopped" and not evidence.stop_asked and code != 0, "stopped by a signal that we did not send"),
        (outcome == "stopped" and code == 2, "stopped off a pair-list step: the continuation is not exact"),
        (outcome == "stopped" and code == -9, "ended by force: steps after the last checkpoint are lost"),
    ]
    return [text for applies, text in found if applies] + list(traces.situation.remarks)


def _oversubscribed(traces: Traces) -> bool:
    return "versubscribing" in traces.terminal.head or any("versubscribing" in note for note in traces.tail.notes)


def _without_its_gpu(traces: Traces) -> bool:
    head = traces.log.head
    built = head.gpu_support not in {"", "disabled"}
    return built and head.started and not head.uses_gpu and "-nb cpu" not in head.command
