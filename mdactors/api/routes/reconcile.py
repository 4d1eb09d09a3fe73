"""Energies of two jobs, compared."""

from __future__ import annotations

from litestar import post
from litestar.params import JSONBody

from events.results import PairReconciled
from mdactors.api.failures import failing
from mdactors.api.serving import HttpRequest, served
from mdactors.errors import EnergiesMissingError, UnknownJobError
from mdactors.wire import ReconcileRequest


@post(
    "/v1/reconcile",
    operation_id="reconcile_jobs",
    status_code=200,
    tags=["reconcile"],
    summary="Compare the energies of two jobs",
    responses=failing(400, 413, UnknownJobError, EnergiesMissingError),
)
async def reconcile(request: HttpRequest, data: JSONBody[ReconcileRequest]) -> PairReconciled:
    """Compare two completed jobs term by term and return the verdict with its numbers and tolerances."""
    serving = served(request)
    for number in (data.a, data.b):
        serving.job(number)
    outcome = await serving.platform.reconcile(data.a, data.b, by=data.by)
    if isinstance(outcome, PairReconciled):
        return outcome
    raise EnergiesMissingError(outcome.why)


ROUTES = [reconcile]
