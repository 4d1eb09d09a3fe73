"""Running a short helper program to its end: probes, preparations, the engines' own tools."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

import anyio

from mdactors.environment import build_env
from mdactors.ports import Completed
from mdactors.substrates.local.spawn import DEVNULL_IN, spawn
from mdactors.substrates.local.stop import kill_session

_OUTPUT_MAX = 64 * 1024 * 1024
"""Bytes kept of each stream; a helper that prints more is read on, so that it does not block, and forgotten."""
_CHUNK = 65536
_DYING_SECONDS = 1.0
"""After SIGKILL; a process that waits for a broken device does not die, and is left alone."""
_NOT_STARTED = 127


class LocalRun:
    """The `Run` of this machine. Helpers get no controlling terminal, nothing on stdin, and a session of their own."""

    def __init__(self, base_env: Mapping[str, str]) -> None:
        self._base = base_env

    async def __call__(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        cwd: str | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run argv with an environment from `build_env`; on timeout end it with everything it started.

        A first word without a slash is looked for on the search path of that environment.

        Raises:
            InputError: `variables` holds something that no process may be given.
        """
        environment = build_env(self._base, variables or {}, None).environment
        with _Capture() as stdout, _Capture() as stderr:
            try:
                pid = _start(argv, cwd, environment, stdout, stderr)
            except (OSError, ValueError) as error:
                return Completed(code=_NOT_STARTED, stdout=b"", stderr=f"{argv[0]}: {error}".encode())
            code, timed_out = await _finish(pid, (stdout, stderr), timeout)
            return Completed(code=code, stdout=stdout.all(), stderr=stderr.all(), timed_out=timed_out)


class _Capture:
    """A pipe whose reading end is read as things come; short-lived, so a pipe is no danger here."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.reader, False)
        self._data = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.reader)
        self.close_writer()

    def close_writer(self) -> None:
        """Let go of the writing end, once the child has it."""
        if self.writer >= 0:
            os.close(self.writer)
        self.writer = -1

    async def follow(self) -> None:
        """Read until all writers are gone."""
        while self._read() != b"":
            await anyio.wait_readable(self.reader)

    def all(self) -> bytes:
        """Return what was printed up to now. Does not wait for writers that outlived the program."""
        while self._read():
            pass
        return bytes(self._data)

    def _read(self) -> bytes | None:
        """Return the next bytes, b"" at the end, None where there are none yet."""
        try:
            chunk = os.read(self.reader, _CHUNK)
        except BlockingIOError:
            return None
        self._data += chunk[: _OUTPUT_MAX - len(self._data)]
        return chunk


def _start(
    argv: Sequence[str], cwd: str | None, environment: Mapping[str, str], stdout: _Capture, stderr: _Capture
) -> int:
    program = _program(argv[0], cwd, environment)
    words = (program, *argv[1:])
    if cwd is not None:
        if not os.path.isdir(cwd):
            raise NotADirectoryError(f"{cwd} is no folder to run in")
        # A spawned process starts in our folder; the shell changes to the right one and becomes the program.
        words = ("/bin/sh", "-c", 'cd "$0" && exec "$@"', os.path.abspath(cwd), *words)
    actions = (
        DEVNULL_IN,
        (os.POSIX_SPAWN_DUP2, stdout.writer, 1),
        (os.POSIX_SPAWN_DUP2, stderr.writer, 2),
    )
    pid = spawn(words, environment, actions)
    stdout.close_writer()
    stderr.close_writer()
    return pid


def _program(name: str, cwd: str | None, environment: Mapping[str, str]) -> str:
    """Return the absolute path of a program.

    Raises:
        FileNotFoundError: there is none that may be run.
    """
    path = os.path.join(cwd or "", name) if "/" in name else name
    found = shutil.which(path, path=environment.get("PATH", os.defpath))
    if found is None:
        raise FileNotFoundError("no such program, or it may not be run")
    return os.path.abspath(found)


async def _finish(pid: int, captures: Sequence[_Capture], timeout: float) -> tuple[int, bool]:
    """Wait until the child has ended, by itself or by our hand; return its code and whether its time was up."""
    pidfd = os.pidfd_open(pid)
    finished = False
    try:
        with anyio.move_on_after(timeout):
            async with anyio.create_task_group() as readers:
                for capture in captures:
                    readers.start_soon(capture.follow)
                await anyio.wait_readable(pidfd)
                readers.cancel_scope.cancel()
            finished = True
    finally:
        if not finished:
            kill_session(pid)
            with anyio.move_on_after(_DYING_SECONDS, shield=True):
                await anyio.wait_readable(pidfd)
        os.close(pidfd)
        code = _reap(pid)
    return code, not finished


def _reap(pid: int) -> int:
    dead, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if dead else -signal.SIGKILL
