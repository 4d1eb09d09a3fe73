"""The application: routes, errors, token, and its own OpenAPI document at `/schema/openapi.json`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from litestar import Litestar
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components

from mdactors import __version__
from mdactors.api.auth import SCHEME, token_guard
from mdactors.api.failures import HANDLERS
from mdactors.api.routes import capabilities, devices, events, health, jobs, logs, metrics, reconcile, status
from mdactors.api.serving import Serving, attach, served
from mdactors.runtime.platform import Platform

BODY_BYTES_MAX = 64 * 1024 * 1024

ROUTES = [
    *jobs.ROUTES,
    *logs.ROUTES,
    *status.ROUTES,
    *capabilities.ROUTES,
    *events.ROUTES,
    *devices.ROUTES,
    *reconcile.ROUTES,
    *health.ROUTES,
    *metrics.ROUTES,
]


def create_app(platform: Platform, *, token: str | None) -> Litestar:
    """Build the HTTP side of a platform; with a token every request but `/health` has to carry it."""
    app = Litestar(
        route_handlers=ROUTES,
        guards=[token_guard(token)] if token else [],
        exception_handlers=HANDLERS,
        lifespan=[_feed],
        openapi_config=OpenAPIConfig(
            title="mdactors",
            version=__version__,
            summary="Runs molecular-dynamics jobs, and never loses one",
            description="Times are seconds since the epoch. Every failure has the shape {error, detail, remedy}.",
            path="/schema",
            components=SCHEME if token else Components(),
            security=[{"token": []}] if token else None,
            use_handler_docstrings=True,
            render_plugins=[JsonRenderPlugin()],
        ),
        logging_config=None,
        request_max_body_size=BODY_BYTES_MAX,
    )
    attach(app, Serving(platform))
    return app


@asynccontextmanager
async def _feed(app: Litestar) -> AsyncIterator[None]:
    async with served(app).hub.running():
        yield
