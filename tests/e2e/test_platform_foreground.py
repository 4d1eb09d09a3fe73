"""A batch without a platform: one command from the job file to the ledger."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.kit import EXAMPLES, LONG, RUN, Desk, needs_gromacs, portable, water

pytestmark = [pytest.mark.e2e, needs_gromacs]

MDCTL = Path(sys.executable).parent / "mdctl"


def argon_tpr(path: Path) -> None:
    """Make a run input that runs fast: argon."""
    argon = EXAMPLES / "argon"
    inputs = ("-f", argon / "nvt.mdp", "-c", argon / "conf.gro", "-p", argon / "topol.top")
    words = ("gmx", "grompp", *inputs, "-o", path, "-po", path.with_suffix(".mdp"))
    subprocess.run(words, capture_output=True, check=True)


def test_a_mixed_batch_ends_with_a_summary_and_its_lines_of_the_ledger(desk: Desk) -> None:
    file = desk.file(
        "jobs.json", water(200, name="w"), portable("argon", 300, name="a", precision="any"), water(100, name="w")
    )
    code, out, err = desk.run("submit", file)
    assert code == 0, err
    assert re.search(r"\n3 jobs in \d+ s: 3 completed\n", out)
    assert f"\nledger ({desk.state}/ledger.csv):\n" in out
    assert all(line.startswith("job ") for line in err.splitlines())
    assert [line.rsplit(", ", 1)[0] for line in err.splitlines() if "completed" in line].count(
        "job 2 a: completed"
    ) == 1
    rows = json.loads(desk.run("ledger", "--json").out)
    assert sorted((row["job"], row["name"], row["outcome"]) for row in rows) == [
        ("1", "w", "completed"),
        ("2", "a", "completed"),
        ("3", "w", "completed"),
    ]
    assert all(float(row["ns_per_day"]) > 0 and row["version"] and row["system"] for row in rows)


def test_the_job_file_of_the_tutorial_runs_as_it_is(desk: Desk) -> None:
    argon_tpr(desk.folder / "benchMEM.tpr")
    shutil.copy(desk.folder / "benchMEM.tpr", desk.folder / "ligand-prod.tpr")
    (desk.folder / "jobs.json").write_text(
        '[{"kind":"tpr","tpr":"benchMEM.tpr","nsteps":5000,"precision":"mixed","backend_pref":"gromacs","device":0},'
        ' {"kind":"tpr","tpr":"ligand-prod.tpr","nsteps":500000,"precision":"mixed","backend_pref":null,'
        '"platform_hint":null,"device":1}]'
    )
    if len(json.loads(desk.run("caps", "--json").out)["devices"]) > 1:
        pytest.skip("device 1 is there, and half a million steps take long")
    code, out, _ = desk.run("submit", "jobs.json")
    assert code == 1
    assert re.search(r"benchMEM +completed .* 5000/5000", out)
    assert "the job asks for device 1; this runs on cpu:0; on node" in out
    assert "1 job accepted, 1 refused" in out


def test_every_format_and_standard_input_with_paths_relative_to_the_file(desk: Desk) -> None:
    place = desk.folder / "süß und salzig"
    place.mkdir()
    shutil.copy(EXAMPLES / "water" / "topol.tpr", place / "wässer 水.tpr")
    job = {"kind": "tpr", "tpr": "wässer 水.tpr", "nsteps": 5}
    line = json.dumps(job)
    files = {
        "object.json": line,
        "array.json": f"[{line}]",
        "lines.jsonl": f"{line}\n{line}\n",
        "list.yaml": 'kind: tpr\ntpr: "wässer 水.tpr"\nnsteps: 5\n',
        "one.toml": 'kind = "tpr"\ntpr = "wässer 水.tpr"\nnsteps = 5\n',
    }
    for name, text in files.items():
        (place / name).write_text(text)
    names = [f"../{place.name}/{name}" for name in files]
    elsewhere = desk.folder / "elsewhere"
    elsewhere.mkdir()
    said = desk.run("submit", *names, "--dry-run", "--json", cwd=elsewhere)
    assert [answer["state"] for answer in said.json()["submissions"]] == ["feasible"] * 6
    assert said.code == 0
    said = desk.run("submit", "-", "--dry-run", "--json", cwd=place, stdin=line)
    assert [(answer["file"], answer["state"]) for answer in said.json()["submissions"]] == [("-", "feasible")]
    assert desk.run("status").out.splitlines()[1] == "no jobs yet"


def test_a_job_that_fails_shows_in_the_exit_code_and_says_why(desk: Desk) -> None:
    broken = desk.folder / "topol.top"
    broken.write_text((EXAMPLES / "argon" / "topol.top").read_text().replace("500", "499"))
    bad = portable("argon", 100, name="bad", backend_pref="gromacs") | {"top": str(broken)}
    said = desk.run("submit", desk.file("jobs.json", bad, water(50, name="good")), "--json")
    assert said.code == 1
    assert said.states() == ["failed", "completed"]
    assert "does not match topology" in desk.run("status", 1).out


def test_ctrl_c_leaves_the_engines_alone_and_says_how_to_go_on(desk: Desk) -> None:
    process = desk.start("submit", desk.file("jobs.json", water(LONG), water(LONG), water(50)), "--slots", 1)
    desk.until("AttemptStarted", 1)
    assert desk.end(process, signal.SIGINT) == 130
    assert f"stop them:             python run.py --state {desk.state} cancel 1\n" in desk.err()
    assert len(desk.engines()) == 1
    said = desk.run("cancel", 1, 2, 3, "--json")
    assert [job["state"] for job in json.loads(said.out)] == ["cancelled"] * 3
    assert desk.engines() == []


def test_two_batches_at_once_share_one_platform(desk: Desk) -> None:
    file = desk.file("jobs.json", water(300))
    processes = [desk.start("submit", file, "--wait") for _ in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert [job["state"] for job in json.loads(desk.run("status", "--all", "--json").out)] == ["completed"] * 3


def test_a_newcomer_reads_ten_lines_and_mdctl_is_the_same_program(desk: Desk) -> None:
    code, out, err = desk.run()
    assert (code, err, len(out.splitlines()) <= 10) == (0, "", True)
    assert "Nothing runs here yet" in out
    if MDCTL.exists():
        done = subprocess.run((MDCTL,), env=desk.environ, capture_output=True, text=True, check=True)
        assert done.stdout == out


# ---------------------------------------------------------------- terminals


def on_a_terminal(desk: Desk, *words: object, **environ: str) -> tuple[int, str]:
    """Run a command on a terminal; return its exit code and everything that appeared there."""
    ours, theirs = pty.openpty()
    environment = desk.environ | environ
    with subprocess.Popen(
        (*RUN, *map(str, words)), stdin=theirs, stdout=theirs, stderr=theirs, cwd=desk.folder, env=environment
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # the other end is closed
            pass
        os.close(ours)
    return process.returncode, shown.decode()


def test_on_a_terminal_there_is_a_live_table(desk: Desk) -> None:
    file = desk.file("jobs.json", water(200, name="w" * 60), water(200))
    code, shown = on_a_terminal(desk, "submit", file, TERM="xterm-256color", COLUMNS="90", LINES="12")
    assert code == 0
    assert "\x1b[?25l" in shown  # the cursor is hidden while the picture changes
    assert "\x1b[36mrunning" in shown
    assert "2 jobs in" in shown
    assert "\x1b[?25h" in shown.rpartition("\x1b[?25l")[2]


def test_on_a_terminal_that_can_not_move_its_cursor_there_are_lines(desk: Desk) -> None:
    code, shown = on_a_terminal(desk, "submit", desk.file("jobs.json", water(50, name="w")), TERM="dumb")
    assert (code, "\x1b" in shown) == (0, False)
    assert "job 1 w: running on cpu:0/0 (gromacs/CPU/mixed)" in shown
    assert "job 1 w: completed" in shown


def test_a_name_that_the_terminal_can_not_show_is_spelt(desk: Desk) -> None:
    file = desk.file("jobs.json", water(50, name="水"))
    said = desk.run("submit", file, PYTHONIOENCODING="latin-1", NO_COLOR="1")
    assert said.code == 0
    assert re.search(r"\\u6c34 +completed", said.out)
