"""The token for TCP. On the Unix socket the file's mode is the guard."""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from litestar.connection import ASGIConnection
from litestar.exceptions import NotAuthorizedException
from litestar.handlers import BaseRouteHandler

from mdactors.errors import ConfigError

OPEN = "open"
"""Handlers with this option answer without a token."""

Guard = Callable[[ASGIConnection[Any, Any, Any, Any], BaseRouteHandler], None]


def token_guard(token: str) -> Guard:
    """Return a guard that lets only requests with this bearer token pass."""
    expected = f"Bearer {token}".encode()

    def guard(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
        given = connection.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, expected) and not handler.opt.get(OPEN):
            raise NotAuthorizedException(
                "this address asks for a token: send `Authorization: Bearer TOKEN`",
                headers={"WWW-Authenticate": "Bearer"},
            )

    return guard


def load_token(path: Path) -> str:
    """Return the token in a file, made there (readable by its owner alone) where there is none.

    Raises:
        ConfigError: the file can't be read or made, or holds no token.
    """
    try:
        with open(path, "x", encoding="utf-8", opener=_private) as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    except FileExistsError:
        pass
    except OSError as error:
        raise ConfigError(f"token file {path} can't be made: {error.strerror}") from error
    return _read(path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _read(path: Path) -> str:
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"token file {path} can't be read: {error}") from error
    if not token:
        raise ConfigError(f"token file {path} is empty; remove it and a new token is made")
    return token
