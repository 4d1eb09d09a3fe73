from __future__ import annotations

import inspect

import pytest

from mdactors.engines.gromacs.engine import GromacsEngine
from mdactors.errors import EnergiesMissingError
from mdactors.ports import Engine, Situation
from tests.mdactors.engines.gromacs.conftest import LOG_HEAD, TPR_JOB, Job


def as_engine(engine: Engine) -> Engine:
    """Compiles only while the class fits the protocol."""
    return engine


def test_it_is_an_engine() -> None:
    engine = as_engine(GromacsEngine())
    assert (engine.name, engine.kinds) == ("gromacs", ("tpr", "gromacs-top"))
    verbs = [name for name in vars(Engine) if not name.startswith("_") and callable(getattr(Engine, name))]
    for verb in verbs:
        wanted, given = (inspect.signature(getattr(owner, verb)) for owner in (Engine, GromacsEngine))
        assert given.parameters.keys() == wanted.parameters.keys()


def test_verbs_on_an_empty_folder(job: Job) -> None:
    engine = GromacsEngine()
    assert engine.survey(job.folder, TPR_JOB) == Situation()
    assert engine.progress(job.folder, 1) is None
    assert engine.examine(TPR_JOB, {}).refusals
    with pytest.raises(EnergiesMissingError):
        engine.energies(job.folder)


def test_two_engines_remember_nothing_of_each_other(job: Job) -> None:
    job.write("md.log", LOG_HEAD)
    job.terminal("step 100\n")
    first, second = GromacsEngine(), GromacsEngine()
    assert first.progress(job.folder, 1) == second.progress(job.folder, 1)
    (job.folder / "md.log").unlink()
    assert first.progress(job.folder, 1) is not None
    assert GromacsEngine().progress(job.folder, 1) is None
