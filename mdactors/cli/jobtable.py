"""Jobs as people read them: a table of many, the story of one."""

from __future__ import annotations

from mdactors.cli.text import build, duration, moment, rate, share, steps

TYPE_CHECKING = False  # known to type checkers; the typing module would cost a tenth of a whole `status`
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from mdactors.cli.output import Output

HEADS = ("job", "name", "state", "slot", "engine", "step", "done", "ns/day", "left", "why")
NUMBERS = "job step done ns/day"

FIGURES = {
    "ns_per_day": "ns/day",
    "ms_per_step": "ms/step",
    "matom_steps_per_second": "Matom-step/s",
    "wall_seconds": "s wall time",
    "simulated_ns": "ns simulated",
    "atoms": "atoms",
    "cpu_use_percent": "% CPU use",
    "conserved_drift": "kJ/mol/ps/atom drift",
}
"""Figures of an attempt that are shown, and their units."""


def table(out: Output, rows: Iterable[dict[str, Any]]) -> None:
    """Write jobs as a table."""
    out.table(HEADS, [cells(row) for row in rows], right=NUMBERS)


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """Return a job as the cells of a table."""
    return (
        str(row["job"]),
        row["name"],
        row["state"],
        row["slot"],
        build(row["engine"], row["backend"], row["precision"]) if row["attempt"] else row["engine"],
        steps(row["step"], row["steps_asked"]),
        share(row["step"], row["steps_asked"]),
        rate(row["ns_per_day"]),
        duration(row["seconds_left"]),
        row["reason"],
    )


def story(out: Output, job: dict[str, Any]) -> None:
    """Write all that is known of a job."""
    out.line(out.paint(f"job {job['job']}: {job['name']}, {job['state']}", "bold"))
    facts = {
        "kind": job["kind"],
        "owner": job["owner"],
        "project": job["project"],
        "submitted": moment(job["submitted_at"]),
        "started": moment(job["started_at"]),
        "ended": moment(job["ended_at"]),
        "waited": duration(job["wait_seconds"]),
        "step": steps(job["step"], job["steps_asked"]),
        "ns/day": rate(job["ns_per_day"]),
        "left": duration(job["seconds_left"]),
    }
    _pairs(out, facts)
    _list(out, "inputs", (f"{each['role']} {each['path']} (sha256 {each['sha256'][:12]})" for each in job["inputs"]))
    _list(out, "can run on", (_candidate(each) for each in job["candidates"]))
    _list(out, "notes", _notes(job))
    _list(out, "refused", (each["text"] for each in job["refusals"]))
    for attempt in job["attempts"]:
        _attempt(out, attempt)
    _diagnosis(out, job["diagnosis"], "")
    _list(out, "story", (f"record {each['seq']:<6} {each['fact']}" for each in job["story"]))


def _candidate(candidate: dict[str, Any]) -> str:
    return f"{candidate['capability']}: {candidate['why']}" if candidate["why"] else f"{candidate['capability']}"


def _notes(job: dict[str, Any]) -> Iterable[str]:
    """Yield what the engine that runs the job does otherwise than the input's own engine would."""
    for examination in job["examinations"]:
        if examination["engine"] == job["engine"]:
            yield from examination.get("notes", ())


def _attempt(out: Output, attempt: dict[str, Any]) -> None:
    outcome = attempt["outcome"] or ("running" if attempt["started_at"] else "assigned")
    out.line(f"\nattempt {attempt['attempt']} on {attempt['slot']}: {outcome}")
    facts = {
        "runs": attempt["capability"],
        "started": moment(attempt["started_at"]),
        "ended": moment(attempt["ended_at"]),
        "from step": str(attempt["from_step"] or ""),
        "stopped": f"{attempt['stop_reason']}{', by force' if attempt['by_force'] else ''}",
        "exit code": "" if attempt["exit_code"] is None else str(attempt["exit_code"]),
        "process": str(attempt["pid"] or ""),
        "cores": " ".join(map(str, attempt["cpus"])),
        "folder": attempt["folder"],
        "command": " ".join(attempt["argv"]),
        "added": " ".join(attempt["added"]),
        "figures": _figures(attempt["figures"]),
    }
    _pairs(out, facts, "  ")
    _list(out, "warnings", attempt["warnings"], "  ")
    _diagnosis(out, attempt["diagnosis"], "  ")


def _figures(figures: dict[str, Any]) -> str:
    return ", ".join(f"{figures[name]:.4g} {unit}" for name, unit in FIGURES.items() if figures.get(name) is not None)


def _diagnosis(out: Output, diagnosis: dict[str, Any] | None, indent: str) -> None:
    if diagnosis:
        facts = {name: diagnosis.get(name, "") for name in ("code", "evidence", "remedy")}
        out.line(f"{indent}{out.paint('diagnosis', 'red')}: {diagnosis['summary']}")
        _pairs(out, facts, indent + "  ")


def _pairs(out: Output, facts: dict[str, str], indent: str = "  ") -> None:
    for name, value in facts.items():
        if value:
            out.line(f"{indent}{name:10} {value}")


def _list(out: Output, title: str, entries: Iterable[str], indent: str = "  ") -> None:
    shown = list(entries)
    if shown:
        out.line(f"{indent}{title}:")
    for entry in shown:
        out.line(f"{indent}  {entry}")
