"""What the shim writes: whole records are read, everything else is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mdactors.substrates.local.records import parse_exit, parse_shim

STAT = Path("/proc/self/stat").read_bytes()
SHIM = b"boot-1\n" + STAT
EXIT = b"143\n0m0.01s 0m0.02s\n1m2.50s 0m0.25s\nend\n"


def test_exit_record_is_read() -> None:
    record = parse_exit(EXIT, 12.5, 4096)
    assert record is not None
    assert (record.code, record.time, record.user_seconds, record.system_seconds) == (-15, 12.5, 62.5, 0.25)
    assert record.max_rss_bytes == 4096


@pytest.mark.parametrize(
    ("shell", "ours"),
    [(0, 0), (1, 1), (127, 127), (128, 128), (129, -1), (137, -9), (192, -64), (193, 193), (255, 255)],
)
def test_shells_code_becomes_pythons(shell: int, ours: int) -> None:
    record = parse_exit(b"%d\n0m0.0s 0m0.0s\n0m0.0s 0m0.0s\nend\n" % shell, 0.0)
    assert record is not None
    assert record.code == ours


def test_exit_record_behind_the_shims_own_is_read() -> None:
    record = parse_exit(SHIM + b"1\n0m0" + SHIM + EXIT, 0.0)
    assert record is not None
    assert record.code == -15


@given(st.integers(min_value=0, max_value=len(EXIT) - 1))
def test_torn_exit_record_is_none(length: int) -> None:
    assert parse_exit(EXIT[:length], 0.0) is None


@given(st.binary())
def test_garbage_is_no_record(data: bytes) -> None:
    assert parse_exit(data, 0.0) is None
    assert parse_exit(EXIT + data + b"x", 0.0) is None
    assert parse_shim(b"\xff" + data) is None


def test_shim_record_is_read() -> None:
    handle = parse_shim(SHIM)
    assert handle is not None
    assert handle.boot_id == "boot-1"
    assert handle.pid == int(STAT.split()[0])
    assert parse_shim(SHIM + EXIT) == handle


@given(st.integers(min_value=0, max_value=len(SHIM) - 1))
def test_torn_shim_record_is_none(length: int) -> None:
    assert parse_shim(SHIM[:length]) is None
