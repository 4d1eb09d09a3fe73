"""The one way in which processes are started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mdactors.substrates.local.spawn import DEVNULL_IN, spawn


def test_child_leads_a_session_with_nothing_to_read(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    actions = (DEVNULL_IN, (os.POSIX_SPAWN_OPEN, 1, out, os.O_WRONLY | os.O_CREAT, 0o600))
    pid = spawn(("/bin/sh", "-c", "readlink /proc/$$/fd/0; cut -d' ' -f6 /proc/self/stat"), {"A": "b"}, actions)
    assert os.waitpid(pid, 0)[1] == 0
    assert Path(out).read_text().split() == ["/dev/null", str(pid)]


def test_what_can_not_be_started_says_so() -> None:
    with pytest.raises(FileNotFoundError):
        spawn(("/no/such/program",), {}, ())
    with pytest.raises(ValueError, match="null"):
        spawn(("/bin/true", "\0"), {}, ())


def test_descriptors_that_the_platform_inherited_go_no_further() -> None:
    code = """
import os
from mdactors.substrates.local.spawn import spawn
pid = spawn(("/bin/ls", "/proc/self/fd"), {}, ((os.POSIX_SPAWN_DUP2, 1, 9),))
os.waitpid(pid, 0)
"""
    reader, writer = os.pipe()
    done = subprocess.run((sys.executable, "-c", code), pass_fds=(reader, writer), capture_output=True, check=True)
    os.close(reader)
    os.close(writer)
    assert done.stdout.split() == [b"0", b"1", b"2", b"3", b"9"]  # 3: the listing itself
