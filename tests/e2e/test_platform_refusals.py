"""What can't run is refused at once, with every reason, and harms nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import struct
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import EXAMPLES, Desk, needs_gromacs, portable, water

pytestmark = [pytest.mark.e2e, needs_gromacs]

TPX_VERSION = struct.pack(">i", 127)
"""Of the example's run input, which GROMACS 2022 wrote."""


def of_the_future(path: Path) -> Path:
    """Write the example's run input as a GROMACS of many years from now would label it."""
    before, _, after = (EXAMPLES / "water" / "topol.tpr").read_bytes().partition(TPX_VERSION)
    path.write_bytes(before + struct.pack(">i", 9999) + after)
    return path


def entries(folder: Path) -> dict[str, dict[str, Any]]:
    """Return a job for each reason to refuse one: what has to be said -> the job."""
    (folder / "empty.tpr").touch()
    (folder / "dangling.tpr").symlink_to("nowhere")
    (folder / "text.tpr").write_text("no run input")
    of_the_future(folder / "future.tpr")
    return {
        "the job asks for platform 'CUDA'; this is CPU": water(5, platform_hint="CUDA", precision="any"),
        "the job asks for engine 'lammps'; this is gromacs": water(5, backend_pref="lammps"),
        "missing.tpr: No such file or directory": {"kind": "tpr", "tpr": "missing.tpr"},
        "dangling.tpr: No such file or directory": {"kind": "tpr", "tpr": "dangling.tpr"},
        "the file is empty": {"kind": "tpr", "tpr": "empty.tpr"},
        f"{folder}: is not a file": {"kind": "tpr", "tpr": "."},
        "it is not a tpr": {"kind": "tpr", "tpr": "text.tpr"},
        "the tpr has format 9999": {"kind": "tpr", "tpr": "future.tpr"},
        "field 'nstep': unknown field (did you mean 'nsteps'?)": water(5, nstep=1),
        "field 'nsteps': -5 is not allowed": water(-5),
        "the job asks for device 7; this runs on cpu:0": water(5, device=7),
    }


@pytest.fixture
def running(desk: Desk) -> Desk:
    desk.serve()
    return desk


def test_every_reason_is_told_in_under_a_second_and_the_good_job_runs(running: Desk) -> None:
    reasons = entries(running.folder)
    file = running.file("jobs.json", *reasons.values(), water(50))
    said = running.run("submit", file, "--wait", "--json")
    assert said.code == 1
    *refused, good = said.json()["submissions"]
    for reason, answer in zip(reasons, refused, strict=True):
        assert answer["state"] in ("refused", "rejected")
        assert any(reason in refusal["text"] for refusal in answer["refusals"]), (reason, answer["refusals"])
    assert running.job(good["job"])["state"] == "completed", running.run("status", good["job"]).out
    for number in [answer["job"] for answer in refused if answer["job"]]:
        assert seconds_to_refuse(running, number) < 1


def seconds_to_refuse(desk: Desk, number: int) -> float:
    asked, answered = (
        datetime.fromisoformat(record["time"])
        for record in desk.records("--job", number)
        if record["type"] in ("JobSubmitted", "JobRejected")
    )
    return (answered - asked).total_seconds()


def test_each_capability_that_was_tried_has_its_own_reason(running: Desk) -> None:
    known = {row["capability"] for row in json.loads(running.run("caps", "--json").out)["capabilities"]}
    said = running.run("submit", running.file("jobs.json", water(5, device=7)), "--json")
    (answer,) = said.json()["submissions"]
    assert {refusal["subject"] for refusal in answer["refusals"]} >= known


def test_double_precision_where_only_a_mixed_build_is(desk: Desk) -> None:
    tools = desk.folder / "bin"
    tools.mkdir()
    (tools / "gmx").symlink_to(shutil.which("gmx") or "")
    file = desk.file("jobs.json", water(5, precision="double"))
    code, out, _ = desk.run("submit", file, PATH=str(tools))
    assert code == 1
    assert "the job asks for double precision; this build computes in mixed precision" in out
    assert desk.run("submit", file, "--dry-run", PATH=str(tools)).code == 1


def test_gromacs_where_there_is_none(desk: Desk) -> None:
    file = desk.file("jobs.json", portable("water", 5, backend_pref="gromacs"))
    code, out, _ = desk.run("submit", file, "--dry-run", PATH=str(desk.folder))
    assert code == 1
    assert "the job asks for engine 'gromacs'; this is openmm" in out
    assert "gmx" in out


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("none.json", None, "can't be read: No such file or directory"),
        ("folder", "folder", "can't be read: Is a directory"),
        ("empty.json", "", "not JSON"),
        ("nothing.json", "[]", "holds no job"),
        ("deep.json", "[" * 20_000, "nested too deeply"),
        ("torn.json", '{"kind": "tpr"', "line 1, column 15: not JSON"),
    ],
)
def test_a_job_file_that_can_not_be_used(desk: Desk, name: str, content: str | None, why: str) -> None:
    if content == "folder":
        (desk.folder / name).mkdir()
    elif content is not None:
        (desk.folder / name).write_text(content)
    code, out, err = desk.run("submit", name)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {name}")
    assert why in err
    assert not desk.state.exists()


def test_a_state_folder_that_can_not_be_used(desk: Desk) -> None:
    desk.state.write_text("a file")
    code, out, err = desk.run("submit", desk.file("jobs.json", water(5)))
    assert (code, out) == (2, "")
    assert err == f"error: state folder {desk.state} can't be used: File exists; choose another with --state\n"


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("mount"), reason="only root mounts a small disk")
def test_a_full_disk_refuses_jobs_and_takes_them_when_there_is_room(desk: Desk) -> None:
    desk.state.mkdir()
    if subprocess.run(("mount", "-t", "tmpfs", "-o", "size=1m", "none", desk.state), check=False).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        platform = desk.serve()
        fill(desk.state / "ballast")
        file = desk.file("jobs.json", water(20))
        code, out, _ = desk.run("submit", file)
        assert (code, "No space left on device" in out) == (1, True)
        (desk.state / "ballast").unlink()
        assert desk.run("submit", file, "--wait").code == 0
        assert desk.end(platform) == 0
    finally:
        desk.clear()
        subprocess.run(("umount", desk.state), check=True)


def fill(path: Path) -> None:
    """Write until there is no room."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
