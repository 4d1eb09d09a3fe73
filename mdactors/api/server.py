"""uvicorn inside the platform's own task group, on sockets that are bound beforehand."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from anyio.abc import TaskStatus
from litestar import Litestar

from mdactors.api.serving import served
from mdactors.errors import ConfigError

SOCKET_NAME = "mdactors.sock"
"""The Unix socket's name in the state folder."""

PATH_BYTES_MAX = 107
"""What the kernel takes as the path of a Unix socket."""

PORT_MAX = 65535

STOP_SECONDS = 2.0
"""What a request may still take when the platform stops."""

STOP_BEATS = 8
"""How often it is looked meanwhile whether clients still read."""


class _Server(uvicorn.Server):
    """Leaves signals to the platform and wakes up only for requests."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        with anyio.CancelScope(shield=True):  # so that what began to start can be stopped in good order
            await super().startup(sockets)

    async def main_loop(self) -> None:
        await self.on_tick(0)
        self._ready()
        await anyio.sleep_forever()


async def serve(
    app: Litestar, sock: socket.socket, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Serve the application on a bound socket until cancelled; started once requests are answered.

    Streams end first, then requests under way are finished (for up to `STOP_SECONDS`); the socket is closed.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="on",
        date_header=False,
        server_header=False,
        proxy_headers=False,
    )
    server = _Server(config, task_status.started)
    try:
        await server.serve(sockets=[sock])
    finally:
        with anyio.CancelScope(shield=True):
            await _stop(server, app, sock)


async def _stop(server: uvicorn.Server, app: Litestar, sock: socket.socket) -> None:
    served(app).hub.close()
    if server.started:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_hang_up, server)
            await server.shutdown(sockets=[sock])
            tasks.cancel_scope.cancel()
    sock.close()


async def _hang_up(server: uvicorn.Server) -> None:
    """Cut off clients that don't read what they asked for, and in the end everybody: uvicorn would wait for them."""
    for _ in range(STOP_BEATS):
        before = _unread(server)
        await anyio.sleep(STOP_SECONDS / STOP_BEATS)
        after = _unread(server)
        for connection, size in before.items():
            if size and after.get(connection, 0) >= size:
                connection.transport.abort()
    for connection in _unread(server):
        connection.transport.abort()


def _unread(server: uvicorn.Server) -> dict[Any, int]:
    return {each: each.transport.get_write_buffer_size() for each in server.server_state.connections}


# ---------------------------------------------------------------- sockets


@contextlib.contextmanager
def unix_socket(state: Path) -> Iterator[socket.socket]:
    """Bind the state folder's socket, for its owner alone; a stale one is replaced, and it is removed at the end.

    Only for the holder of the state folder's lock.
    """
    path = state / SOCKET_NAME
    _remove(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _short_name(path) as name:
            sock.bind(name)
        path.chmod(0o600)  # nobody can connect before: it does not listen yet
        yield sock
    finally:
        sock.close()
        _remove(path)


def _remove(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()


@contextlib.contextmanager
def _short_name(path: Path) -> Iterator[str]:
    """Yield a name of the path that fits a socket address: the kernel keeps 108 bytes, state folders lie deeper."""
    if len(os.fsencode(path)) <= PATH_BYTES_MAX:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def tcp_socket(listen: str) -> socket.socket:
    """Bind HOST:PORT (`127.0.0.1:8080`, `[::1]:8080`; port 0: any free one).

    Raises:
        ConfigError: it is no such address, or it can't be bound.
    """
    host, colon, port = listen.rpartition(":")
    if not (host and colon and port.isdecimal() and int(port) <= PORT_MAX):
        raise ConfigError(f"listen: {listen!r} is no address; write HOST:PORT, as in 127.0.0.1:8080")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
        sock = socket.socket(family, kind, protocol)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    except OSError as error:
        raise ConfigError(f"listen: {listen!r}: {error.strerror}; give a host of this machine") from error
    try:
        sock.bind(address)
    except OSError as error:
        sock.close()
        raise ConfigError(f"listen: {listen!r} can't be bound: {error}") from error
    return sock
