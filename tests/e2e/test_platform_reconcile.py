"""Two finished jobs, compared term by term."""

from __future__ import annotations

import json

import pytest

from tests.e2e.kit import LONG, Desk, needs_gromacs, portable, water

pytestmark = [pytest.mark.e2e, needs_gromacs]


def test_two_runs_of_one_input_agree_and_two_engines_are_compared(desk: Desk) -> None:
    jobs = (water(100), water(100), *(portable("water", 20, backend_pref=engine) for engine in ("gromacs", "openmm")))
    assert desk.run("submit", desk.file("jobs.json", *jobs)).code == 0
    code, out, err = desk.run("reconcile", 1, 2)
    assert (code, err, out.splitlines()[-1]) == (0, "", "verdict: pass")
    assert out.startswith("jobs 1 and 2 (gromacs-mixed:gromacs-mixed), kJ/mol:\nterm ")
    compared = json.loads(desk.run("reconcile", 3, 4, "--json").out)
    assert compared["pair"] == "gromacs-mixed:openmm-mixed"
    assert {term["term"]: term["verdict"] for term in compared["terms"]}["potential"] == "pass"
    assert [record["verdict"] for record in desk.records("--type", "PairReconciled")] == ["pass", "pass"]


def test_what_can_not_be_compared_is_told(desk: Desk) -> None:
    desk.serve()
    (job,) = desk.submit(water(LONG))
    desk.until("AttemptStarted", job)
    code, out, err = desk.run("reconcile", job, job)
    assert (code, out) == (1, "")
    assert err.startswith(f"error: job {job} is running; only completed jobs can be compared")
    assert desk.run("reconcile", job, 99).err.startswith("error: there is no job 99")
