"""The sockets on which the API answers. They are bound before the web stack is imported, which takes half a second."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from mdactors.errors import ConfigError

SOCKET_NAME = "mdactors.sock"
"""The Unix socket's name in the state folder."""

PATH_BYTES_MAX = 107
"""What the kernel takes as the path of a Unix socket."""

PORT_MAX = 65535


@contextlib.contextmanager
def unix_socket(state: Path) -> Iterator[socket.socket]:
    """Listen on the state folder's socket, for its owner alone; a stale one is replaced, and it is removed at the end.

    Who connects before it is served waits.

    Only for the holder of the state folder's lock.
    """
    path = state / SOCKET_NAME
    _remove(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _short_name(path) as name:
            sock.bind(name)
        path.chmod(0o600)  # nobody can connect before: it does not listen yet
        sock.setblocking(False)
        sock.listen()
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
    """Listen on HOST:PORT (`127.0.0.1:8080`, `[::1]:8080`; port 0: any free one).

    Who connects before it is served waits; and of two that want one address, Linux refuses the second only if the first
    one listens.

    Raises:
        ConfigError: it is no such address, or it can't be bound.
    """
    host, colon, port = listen.rpartition(":")
    if not (host and colon and port.isdecimal() and int(port) <= PORT_MAX):
        raise ConfigError(f"listen: {listen!r} is no address; write HOST:PORT, as in 127.0.0.1:8080")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0]
        sock = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", error)
        raise ConfigError(f"listen: {listen!r}: {why}; give a host of this machine") from error
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.setblocking(False)
        sock.listen()
    except OSError as error:
        sock.close()
        raise ConfigError(
            f"listen: {listen!r} can't be bound: {error.strerror}; give another address, or end who has it"
        ) from error
    return sock
