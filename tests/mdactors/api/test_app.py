"""The application as a whole: its document tells what routes answer, and failures have one shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from litestar.testing import TestClient

from mdactors.api.app import BODY_BYTES_MAX, ROUTES, create_app
from tests.mdactors.api.conftest import Api
from tests.mdactors.api.world import World

TPR = {"kind": "tpr", "tpr": "a.tpr"}

WELL: dict[str, tuple[str, Any]] = {
    "list_jobs": ("/v1/jobs", None),
    "submit_jobs": ("/v1/jobs", {"jobs": [TPR], "base": "/"}),
    "get_job": ("/v1/jobs/1", None),
    "cancel_job": ("/v1/jobs/3/cancel", None),
    "cancel_jobs": ("/v1/cancel", {"jobs": [2]}),
    "read_logs": ("/v1/jobs/1/logs", None),
    "get_status": ("/v1/status", None),
    "get_capabilities": ("/v1/capabilities", None),
    "refresh_capabilities": ("/v1/capabilities/refresh", {}),
    "read_events": ("/v1/events", None),
    "report_device": ("/v1/devices/cpu:0/report", {"condition": "unhealthy"}),
    "reconcile_jobs": ("/v1/reconcile", {"a": 1, "b": 2}),
    "get_health": ("/health", None),
    "get_metrics": ("/metrics", None),
}
"""A request for each operation, as it should be."""

BADLY: list[tuple[str, int, tuple[str, Any]]] = [
    ("list_jobs", 400, ("/v1/jobs?limit=none", None)),
    ("list_jobs", 422, ("/v1/jobs?state=happy", None)),
    ("submit_jobs", 400, ("/v1/jobs", {"jobs": []})),
    ("submit_jobs", 422, ("/v1/jobs", {"jobs": [TPR], "base": "here"})),
    ("get_job", 404, ("/v1/jobs/99", None)),
    ("cancel_job", 404, ("/v1/jobs/99/cancel", None)),
    ("cancel_jobs", 400, ("/v1/cancel", {"jobs": 1})),
    ("cancel_jobs", 404, ("/v1/cancel", {"jobs": [99]})),
    ("read_logs", 400, ("/v1/jobs/1/logs?stream=dreams", None)),
    ("read_logs", 404, ("/v1/jobs/99/logs", None)),
    ("refresh_capabilities", 400, ("/v1/capabilities/refresh", {"who": "me"})),
    ("read_events", 400, ("/v1/events?since=-1", None)),
    ("report_device", 400, ("/v1/devices/cpu:0/report", {"condition": "bored"})),
    ("report_device", 422, ("/v1/devices/cpu:9/report", {"condition": "lost"})),
    ("reconcile_jobs", 400, ("/v1/reconcile", {"a": 1})),
    ("reconcile_jobs", 404, ("/v1/reconcile", {"a": 99, "b": 1})),
    ("reconcile_jobs", 409, ("/v1/reconcile", {"a": 3, "b": 1})),
]
"""A request for each status that tells what is wrong with it."""

PATH_ONLY = {("get_job", 400), ("cancel_job", 400)}
"""The framework documents a 400 wherever there are parameters; a path that is no number is another address, though."""


class Document:
    """What the application says about itself."""

    def __init__(self, api: Api, **headers: str) -> None:
        self.whole = api.get("/schema/openapi.json", headers=headers).json()
        self.operations: dict[str, Any] = {
            operation["operationId"]: operation | {"method": method.upper()}
            for methods in self.whole["paths"].values()
            for method, operation in methods.items()
        }

    def failures(self) -> Iterator[tuple[str, int, Any]]:
        """Yield operation, status and content of every answer that is no success."""
        for name, operation in self.operations.items():
            for status, answer in operation["responses"].items():
                if status != "200":
                    yield name, int(status), answer["content"]

    def ask(self, api: Api, name: str, path: str, body: Any, **headers: str) -> int:
        """Send a request; return the status, after a look whether what came is documented."""
        answer = api.request(self.operations[name]["method"], path, json=body, headers=headers)
        content = self.operations[name]["responses"][str(answer.status_code)]["content"]
        media_type = answer.headers["content-type"].partition(";")[0]
        assert media_type in content
        if media_type == "application/json":
            self._fits(answer.json(), content[media_type]["schema"])
        return answer.status_code

    def _fits(self, told: dict[str, Any], schema: dict[str, str]) -> None:
        shape = self.whole["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        assert set(shape["required"]) <= set(told) <= set(shape["properties"])


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Document:
    with TestClient(create_app(World(tmp_path_factory.mktemp("world")), token=None)) as api:
        return Document(api)


@pytest.mark.parametrize("name", WELL)
def test_a_success_is_documented_with_its_media_type_and_shape(document: Document, api: Api, name: str) -> None:
    assert document.ask(api, name, *WELL[name]) == 200


def test_the_event_log_is_documented_in_both_formats(document: Document, api: Api) -> None:
    formats = {"text/event-stream", "application/x-ndjson"}
    assert set(document.operations["read_events"]["responses"]["200"]["content"]) == formats
    answers = {api.get("/v1/events", headers={"accept": each}).headers["content-type"] for each in formats}
    assert {each.partition(";")[0] for each in answers} == formats


@pytest.mark.parametrize(("name", "status", "sent"), BADLY)
def test_a_refusal_is_documented(document: Document, api: Api, name: str, status: int, sent: tuple[str, Any]) -> None:
    assert document.ask(api, name, *sent) == status


def test_a_body_that_is_too_large_is_documented(document: Document, api: Api) -> None:
    for name, (path, body) in WELL.items():
        if body is not None:
            assert document.ask(api, name, path, body, **{"content-length": str(BODY_BYTES_MAX + 1)}) == 413


def test_a_closed_intake_is_documented(document: Document, api: Api, world: World) -> None:
    world.closed = "scheduler failed at record 7"
    assert document.ask(api, "submit_jobs", *WELL["submit_jobs"]) == 503


def test_a_fault_of_ours_is_documented_everywhere(document: Document, world: World) -> None:
    with TestClient(app := create_app(world, token=None), raise_server_exceptions=False) as api:
        serving, app.state.serving = app.state.serving, None
        assert {document.ask(api, name, *sent) for name, sent in WELL.items()} == {500}
        app.state.serving = serving


def test_the_token_is_documented_where_it_is_asked_for(document: Document, world: World) -> None:
    assert "security" not in document.whole
    with TestClient(create_app(world, token="t")) as api:
        guarded = Document(api, authorization="Bearer t")
        answers = {name: guarded.ask(api, name, *sent) for name, sent in WELL.items()}
    assert guarded.whole["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert guarded.whole["security"] == [{"token": []}]
    free = {name for name, operation in guarded.operations.items() if operation.get("security") == [{}]}
    assert free == {name for name, status in answers.items() if status == 200}
    assert free == {
        name for name in WELL if name not in {each for each, status, _ in guarded.failures() if status == 401}
    }


def test_every_failure_in_the_document_happens_and_has_the_one_shape(document: Document) -> None:
    shape = {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}}
    assert all(content == shape for _, _, content in document.failures())
    seen = {(name, status) for name, status, _ in BADLY} | PATH_ONLY | {("submit_jobs", 503)}
    seen |= {(name, 413) for name, (_, body) in WELL.items() if body is not None}
    assert {(name, status) for name, status, _ in document.failures() if status not in (401, 500)} == seen


def test_the_openapi_document_lists_every_route_with_a_summary(document: Document) -> None:
    listed = {(path, method) for path, methods in document.whole["paths"].items() for method in methods}
    served = {
        (path.replace(":int", "").replace(":str", ""), method.lower())
        for route in ROUTES
        for path in route.paths
        for method in route.http_methods
    }
    assert listed == served
    assert document.whole["info"]["title"] == "mdactors"
    assert all(each["summary"] and each["description"] for each in document.operations.values())
    assert set(document.operations) == set(WELL)


def test_an_unknown_address_is_told_in_the_shape_of_all_failures(api: Api) -> None:
    answer = api.get("/v1/nothing")
    assert answer.status_code == 404
    assert set(answer.json()) == {"error", "detail", "remedy"}


def test_each_application_has_a_feed_of_its_own(world: World) -> None:
    with TestClient(create_app(world, token=None)) as one, TestClient(create_app(world, token="t")) as other:
        assert one.get("/v1/status").status_code == 200
        assert other.get("/v1/status").status_code == 401
