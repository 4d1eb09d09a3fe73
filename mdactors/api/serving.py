"""What every handler needs, kept in the application's state."""

from __future__ import annotations

from typing import Any, cast

from litestar import Litestar, Request

from mdactors.api.feed import Hub
from mdactors.core.lifecycle import Job
from mdactors.errors import UnknownJobError
from mdactors.runtime.platform import Platform

HttpRequest = Request[Any, Any, Any]


class Serving:
    """The platform that is served, and its event feed."""

    def __init__(self, platform: Platform) -> None:
        self.platform = platform
        self.hub = Hub(platform)

    def job(self, number: int) -> Job:
        """Return a job's row.

        Raises:
            UnknownJobError: there is none.
        """
        if number not in self.platform.jobs:
            raise UnknownJobError(f"there is no job {number}")
        return self.platform.jobs[number]


def attach(app: Litestar, serving: Serving) -> None:
    """Keep it where handlers find it."""
    app.state.serving = serving


def served(source: Litestar | HttpRequest) -> Serving:
    """Return what an application serves, from the application or from a request."""
    app = source if isinstance(source, Litestar) else source.app
    return cast("Serving", app.state.serving)
