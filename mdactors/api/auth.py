"""Who may ask over TCP: who has the token. On the Unix socket the file's mode is the guard."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

from litestar.connection import ASGIConnection
from litestar.exceptions import NotAuthorizedException
from litestar.handlers import BaseRouteHandler
from litestar.openapi.spec import Components, SecurityScheme

OPEN = "open"
"""Handlers with this option answer without a token."""

SCHEME = Components(security_schemes={"token": SecurityScheme(type="http", scheme="bearer")})
"""The token as the document tells of it."""

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
