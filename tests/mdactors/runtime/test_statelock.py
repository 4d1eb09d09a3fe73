"""One writer; the second one is told who holds the state folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mdactors.errors import ConfigError, StateBusyError
from mdactors.runtime.statelock import hold

SINCE = "2026-12-01T08:00:00Z"

HOLDS = """
import sys
from pathlib import Path
from mdactors.runtime.statelock import hold
with hold(Path(sys.argv[1]), "then"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_folder_is_made_and_held_for_the_length_of_the_block(tmp_path: Path) -> None:
    state = tmp_path / "deep" / "state"
    for _ in range(2):
        with hold(state, SINCE):
            assert (state / "lock").read_text() == f"pid {os.getpid()} since {SINCE}\n"


def test_a_second_one_is_told_who_holds_it_since_when(tmp_path: Path) -> None:
    word = f"state folder {tmp_path} is held by pid {os.getpid()} since {SINCE}"
    with hold(tmp_path, SINCE):
        for _ in range(2):
            with pytest.raises(StateBusyError, match=re.escape(word)), hold(tmp_path, "later"):
                pass
        assert SINCE in (tmp_path / "lock").read_text()


def test_what_fails_inside_lets_go_of_it(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), hold(tmp_path, SINCE):
        raise ZeroDivisionError
    with hold(tmp_path, SINCE):
        pass


def test_a_holder_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
    with holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StateBusyError, match=f"held by pid {holder.pid} since then"), hold(tmp_path, SINCE):
            pass
        holder.send_signal(signal.SIGKILL)
    with hold(tmp_path, SINCE):
        assert str(holder.pid) not in (tmp_path / "lock").read_text()


def test_engines_that_outlive_the_platform_do_not_hold_it(tmp_path: Path) -> None:
    with hold(tmp_path, SINCE):
        engine = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=False)
        assert engine.stdin
        assert engine.stdout
        engine.stdin.write(b"up\n")
        engine.stdin.flush()
        assert engine.stdout.readline() == b"up\n"  # only then has its exec closed what it inherited
    with engine, hold(tmp_path, SINCE):
        assert engine.poll() is None


def test_a_folder_that_can_t_be_used_is_a_matter_of_settings(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    word = r"can't be used: .*; choose another with --state"
    with pytest.raises(ConfigError, match=word), hold(tmp_path / "file", SINCE):
        pass
