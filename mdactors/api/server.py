"""uvicorn inside the platform's own task group, on sockets that are bound beforehand."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import uvicorn
from anyio.abc import TaskStatus
from litestar import Litestar

from mdactors.api.serving import served

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
