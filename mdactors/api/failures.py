"""Errors as answers: every one has the shape of `mdactors.wire.Failure`."""

from __future__ import annotations

import inspect
import logging
import re
from typing import Any

from litestar import MediaType, Response
from litestar.exceptions import HTTPException
from litestar.openapi.datastructures import ResponseSpec

from mdactors import errors
from mdactors.api.serving import HttpRequest
from mdactors.wire import Failure

logger = logging.getLogger("mdactors.api")

STATUS: dict[type[errors.MdactorsError], int] = {
    errors.InputError: 422,
    errors.UnknownJobError: 404,
    errors.EnergiesMissingError: 409,
    errors.StateBusyError: 409,
    errors.BacklogFullError: 503,
    errors.IntakeClosedError: 503,
    errors.MdactorsError: 500,
}
"""What each error means to an HTTP client; a subclass that is not listed means what its base means."""

MEANING = {
    400: "A parameter or the body has the wrong shape; the message names it.",
    401: "The token is missing or wrong; asked for on TCP alone.",
    413: "The body is too large.",
    500: "The platform failed to answer; its log has the details.",
}
"""What statuses mean that come without a named error."""


def failing(*causes: int | type[errors.MdactorsError], token: bool = True) -> dict[int, ResponseSpec]:
    """Return a route's failures for the document: these, those of every route, and (token) those of a guarded one."""
    meanings: dict[int, list[str]] = {}
    for cause in (*causes, *([401] if token else []), 500):
        if isinstance(cause, int):
            meanings.setdefault(cause, []).append(MEANING[cause])
        else:
            meanings.setdefault(status_of(cause), []).append(told(cause)[0])
    return {
        status: ResponseSpec(Failure, description=" ".join(meanings[status]), generate_examples=False)
        for status in sorted(meanings)
    }


def status_of(kind: type[errors.MdactorsError]) -> int:
    """Return the HTTP status for an error."""
    return next(STATUS[each] for each in kind.__mro__ if each in STATUS)


def failure_of(error: errors.MdactorsError) -> Failure:
    """Return an error as it is told over HTTP; message and remedy come from the class where it carries none itself."""
    meaning, remedy = told(type(error))
    return Failure(error=short_name(type(error)), detail=str(error) or meaning, remedy=remedy)


def told(kind: type[errors.MdactorsError]) -> tuple[str, str]:
    """Return the message and the remedy of an error class: the first sentence of its docstring, and the rest."""
    sentences = re.split(r"(?<=\.)\s+", inspect.cleandoc(kind.__doc__ or "").replace("\n", " "), maxsplit=1)
    return sentences[0], sentences[1] if len(sentences) > 1 else ""


def short_name(kind: type[Exception]) -> str:
    """Return the stable name of an error class: `UnknownJobError` is `unknown-job`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", re.sub(r"(Error|Exception)$", "", kind.__name__)).lower()


def on_ours(request: HttpRequest, error: errors.MdactorsError) -> Response[Failure]:
    """Answer with an error that has a name."""
    status = status_of(type(error))
    headers = {"Retry-After": "5"} if status == 503 else None
    if status == 500:
        logger.error("%s %s: %s", request.method, request.url.path, error)
    return _answer(failure_of(error), status, headers)


def on_http(_: HttpRequest, error: HTTPException) -> Response[Failure]:
    """Answer with an error of the protocol: no such address, a body of the wrong shape, no token."""
    detail = "; ".join([error.detail, *_fields(error.extra)])
    return _answer(Failure(error=short_name(type(error)), detail=detail), error.status_code, error.headers)


def _fields(extra: Any) -> list[str]:  # noqa: ANN401 - whatever the framework adds
    if not isinstance(extra, list):
        return []
    return [f"{each.get('key', 'body')}: {each.get('message', '')}" for each in extra if isinstance(each, dict)]


def on_bug(request: HttpRequest, error: Exception) -> Response[Failure]:
    """Answer with a fault of ours; the log has the details."""
    logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
    detail = f"the platform failed to answer ({type(error).__name__})"
    return _answer(Failure(error="internal", detail=detail, remedy="the platform's log has the details"), 500, None)


def _answer(failure: Failure, status: int, headers: dict[str, str] | None) -> Response[Failure]:
    return Response(failure, status_code=status, media_type=MediaType.JSON, headers=headers)


HANDLERS: dict[int | type[Exception], Any] = {
    errors.MdactorsError: on_ours,
    HTTPException: on_http,
    Exception: on_bug,
}
"""For the application's `exception_handlers`."""
