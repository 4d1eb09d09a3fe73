"""The application as a whole: every route is documented, and failures have one shape."""

from __future__ import annotations

from typing import Any

from litestar.testing import TestClient

from mdactors.api.app import ROUTES, create_app
from tests.mdactors.api.conftest import Api
from tests.mdactors.api.world import World


def test_the_openapi_document_lists_every_route_with_a_summary(api: Api) -> None:
    document = api.get("/schema/openapi.json").json()
    listed = {(path, method) for path, methods in document["paths"].items() for method in methods}
    served = {
        (path.replace(":int", "").replace(":str", ""), method.lower())
        for route in ROUTES
        for path in route.paths
        for method in route.http_methods
    }
    assert listed == served
    assert document["info"]["title"] == "mdactors"
    operations: list[dict[str, Any]] = [each for methods in document["paths"].values() for each in methods.values()]
    assert all(each["summary"] and each["description"] for each in operations)


def test_an_unknown_address_is_told_in_the_shape_of_all_failures(api: Api) -> None:
    answer = api.get("/v1/nothing")
    assert answer.status_code == 404
    assert set(answer.json()) == {"error", "detail", "remedy"}


def test_each_application_has_a_feed_of_its_own(world: World) -> None:
    with TestClient(create_app(world, token=None)) as one, TestClient(create_app(world, token="t")) as other:
        assert one.get("/v1/status").status_code == 200
        assert other.get("/v1/status").status_code == 401
