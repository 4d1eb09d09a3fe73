"""Prometheus reads what the platform tells."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.e2e.kit import Desk, needs_gromacs, water

pytestmark = [pytest.mark.e2e, needs_gromacs]

BUILD = 'backend="CPU",engine="gromacs",precision="mixed"'


def samples(text: str) -> dict[str, float]:
    """Return series -> value, labels in the order of their names."""
    found = {}
    for name, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE):
        ordered = ",".join(sorted(re.findall(r'\w+="[^"]*"', labels)))
        found[f"{name}{{{ordered}}}"] = float(value)
    return found


def test_what_was_done_is_counted_and_promtool_finds_nothing_but_the_given_name(desk: Desk) -> None:
    desk.serve()
    assert desk.run("submit", desk.file("jobs.json", water(1100), water(50), water(-1)), "--wait").code == 1
    desk.run("reconcile", 1, 2)
    status, body = desk.ask("/metrics")
    assert status == 200
    seen = samples(body.decode())
    assert seen[f'mdplatform_jobs_total{{{BUILD},state="completed"}}'] == 2
    assert seen['mdplatform_slots{device_type="cpu",state="free"}'] >= 1
    assert seen['mdplatform_queue_wait_seconds_count{priority_class="normal"}'] == 2
    assert seen['mdplatform_reconcile_pass_ratio{pair="gromacs-mixed:gromacs-mixed"}'] == 1
    assert seen['mdplatform_job_ns_per_day_count{backend="CPU",engine="gromacs",system="1029 atoms"}'] == 1
    if shutil.which("promtool"):
        done = subprocess.run(("promtool", "check", "metrics"), input=body, capture_output=True, check=False)
        remarks = set((done.stdout + done.stderr).decode().splitlines())
        # The field fixed the name, and nanoseconds in "ns/day" are no time unit of the metric.
        assert remarks <= {"mdplatform_job_ns_per_day metric names should not contain abbreviated units"}
