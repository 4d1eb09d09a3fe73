"""argv -> verb, exit codes, and how errors are told."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import mdactors
from mdactors.cli.main import VERBS, main, split
from mdactors.errors import InputError, LaunchError, StateBusyError
from mdactors.runtime.platform import Platform
from tests.mdactors.api.world import World
from tests.mdactors.cli.conftest import Mdctl, refusing

CLIENT_KNOWS_NOTHING_OF = (
    "litestar",
    "uvicorn",
    "rich",
    "msgspec",
    "anyio",
    "asyncio",
    "aiosqlite",
    "sqlite3",
    "events",
)


def failing(error: Exception) -> Any:
    @asynccontextmanager
    async def assemble(config: Any, **_: Any) -> AsyncIterator[Platform]:
        raise error
        yield

    return assemble


def test_the_version(mdctl: Mdctl) -> None:
    assert mdctl("--version") == (0, f"mdactors {mdactors.__version__}\n", "")


def test_help_lists_every_verb(mdctl: Mdctl) -> None:
    out = mdctl("--help").out
    assert all(f"\n  {verb} " in out for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself_and_its_common_options(mdctl: Mdctl, verb: str) -> None:
    code, out, _ = mdctl(verb, "--help")
    assert code == 0
    assert all(option in out for option in ("--state", "--config", "--json"))


@pytest.mark.parametrize(("typed", "meant"), [("statsu", "status"), ("sumbit", "submit"), ("ledgr", "ledger")])
def test_a_mistyped_verb_is_answered_with_the_nearest(mdctl: Mdctl, typed: str, meant: str) -> None:
    assert mdctl(typed) == (2, "", f"error: {typed!r} is no verb; did you mean {meant!r}?\n")


def test_a_verb_like_no_other_is_answered_with_all(mdctl: Mdctl) -> None:
    assert "verbs: submit, status" in mdctl("xyzzy").err


def test_wrong_options_are_a_usage_error(mdctl: Mdctl) -> None:
    assert mdctl("status", "--colour").code == 2
    assert mdctl("cancel").code == 2
    assert mdctl("cancel", "one").code == 2


def test_common_options_may_stand_before_the_verb(mdctl: Mdctl, running: World) -> None:
    assert mdctl("--state", str(running.state), "--json", "status", MDACTORS_STATE="/nowhere").code == 0
    assert split(["--state", "x", "--json", "status", "3"]) == (["--state", "x", "--json"], "status", ["3"])
    assert split(["--version"]) == (["--version"], None, [])
    assert split([]) == ([], None, [])


def test_without_a_verb_a_used_state_folder_is_shown(mdctl: Mdctl, running: World) -> None:
    assert mdctl().out.startswith("mdactors 0.1.0 on node, up ")


@pytest.mark.parametrize(
    ("error", "code"),
    [(InputError("the file is upside down"), 2), (StateBusyError("held by pid 7"), 1), (LaunchError("torn"), 1)],
)
def test_expected_errors_are_told_without_a_traceback(mdctl: Mdctl, error: Exception, code: int) -> None:
    for raised in (error, ExceptionGroup("tasks", [ExceptionGroup("inner", [error])])):
        result = mdctl("caps", "--refresh", assemble=failing(raised))
        assert result == (code, "", f"error: {error}\n")


def test_a_fault_of_ours_is_not_hidden(mdctl: Mdctl) -> None:
    mixed = ExceptionGroup("tasks", [InputError("a"), ZeroDivisionError("b")])
    with pytest.raises(ExceptionGroup):
        mdctl("caps", "--refresh", assemble=failing(mixed))


def test_ctrl_c_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mdactors.cli.main._dispatch", interrupted)
    assert main(["status"], environ={}, assemble=refusing) == 130


PROGRAM = "import os, sys; from mdactors.cli.main import main; sys.exit(main(sys.argv[1:], environ=os.environ, assemble=None))"


def test_a_reader_that_hangs_up_is_no_error(running: World, state: Path) -> None:
    for _ in range(2000):
        running.queue()
    argv = [sys.executable, "-c", PROGRAM, "tail", "--state", str(state)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline().startswith(b'{"seq":1,')
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 0)


@pytest.mark.parametrize("verb", [["status"], ["status", "1"], ["--json", "status"], ["cancel", "3"], ["logs", "1"]])
def test_a_client_does_not_import_the_server(running: World, state: Path, verb: list[str]) -> None:
    argv = [sys.executable, "-X", "importtime", "-c", PROGRAM, *verb]
    done = subprocess.run(
        argv, env={**os.environ, "MDACTORS_STATE": str(state)}, capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "mdactors.cli.client" in imported
    heavy = {name for name in imported if name.partition(".")[0] in CLIENT_KNOWS_NOTHING_OF}
    assert not heavy
    assert not {name for name in imported if name.startswith("mdactors.") and not name.startswith("mdactors.cli")} - {
        "mdactors.errors"
    }


def test_a_complaint_can_not_move_the_cursor(mdctl: Mdctl) -> None:
    assert mdctl("submit", "a\x1b[2J.json").err == "error: a\\u001b[2J.json can't be read: No such file or directory\n"
