"""Checkpoints in an envelope of our own: OpenMM loads half a file, or one with a flipped byte, without a word.

Two forms of the same state, each one file, each written whole or not at all:

- `checkpoint.chk`: a line with a digest of all that follows, a line of JSON (`Header`), then OpenMM's own bytes. Exact,
  but bound to version, platform, precision, System and integrator, of which OpenMM checks only some.
- `state.xml`: OpenMM's State XML with a last comment that holds a digest of all else and a `Header`. OpenMM
  reads it as it stands, anywhere; the continuation is the same ensemble, not the same trajectory.

The one before each is kept. Neither OpenMM nor numpy is needed here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from mdactors.engines.openmm.job import CHECKPOINT, PREVIOUS, STATE
from mdactors.errors import MdactorsError

MAGIC = b"mdactors-openmm-checkpoint 1 "
COMMENT, COMMENT_END = b"<!-- mdactors ", b" -->\n"
FORMS: dict[str, Literal["checkpoint", "state"]] = {
    CHECKPOINT: "checkpoint",
    STATE: "state",
    PREVIOUS[CHECKPOINT]: "checkpoint",
    PREVIOUS[STATE]: "state",
}
"""Files that a run may be resumed from."""


class DamagedError(MdactorsError):
    """A checkpoint is not what was written: cut, changed, or something else; the message says what is wrong."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a checkpoint belongs to; OpenMM's own bytes hold no System, no time step and no integrator."""

    step: int
    steps_asked: int
    time_ps: float
    timestep_ps: float
    atoms: int
    identity: str
    """Digest of the job's inputs and settings."""
    system_sha256: str
    integrator: str
    platform: str
    precision: str
    device: str
    """What the platform says of its hardware."""
    openmm_version: str
    payload_sha256: str = ""
    extra: str = ""
    """JSON of what OpenMM does not hold: the thermostat's generator and the heat that it exchanged."""


class Candidate(msgspec.Struct, frozen=True):
    """A file that a run could be resumed from; its digest was right."""

    name: str
    form: Literal["checkpoint", "state"]
    header: Header


# ---------------------------------------------------------------- the envelopes


def pack(header: Header, payload: bytes) -> bytes:
    """Return OpenMM's checkpoint bytes in an envelope."""
    header = msgspec.structs.replace(header, payload_sha256=hashlib.sha256(payload).hexdigest())
    body = msgspec.json.encode(header) + b"\n" + payload
    return MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def unpack(data: bytes) -> tuple[Header, bytes]:
    """Return header and OpenMM's bytes.

    Raises:
        DamagedError: a byte is missing or changed, or this is no such file.
    """
    if not data.startswith(MAGIC):
        raise DamagedError("it is empty" if not data else "it does not begin like a checkpoint")
    first, _, body = data.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != first[len(MAGIC) :]:
        raise DamagedError(f"its digest is wrong ({len(data)} bytes: cut or changed)")
    head, _, payload = body.partition(b"\n")
    return _header(head), payload


def seal(header: Header, xml: str) -> bytes:
    """Return a State's XML with its header in a comment at the end; still the same XML to everybody else."""
    text = xml.rstrip().encode() + b"\n"
    header = msgspec.structs.replace(header, payload_sha256=hashlib.sha256(text).hexdigest())
    head = msgspec.json.encode(header).replace(b"--", b"-\\u002d")  # a comment may not hold two hyphens
    return text + COMMENT + hashlib.sha256(text + head).hexdigest().encode() + b" " + head + COMMENT_END


def unseal(data: bytes) -> tuple[Header, str]:
    """Return header and XML.

    Raises:
        DamagedError: a byte is missing or changed, or it was never sealed.
    """
    text, comment, rest = data.rpartition(COMMENT)
    if not comment or not rest.endswith(COMMENT_END):
        raise DamagedError("it is empty" if not data else f"its end is missing ({len(data)} bytes)")
    digest, _, head = rest[: -len(COMMENT_END)].partition(b" ")
    if hashlib.sha256(text + head).hexdigest().encode() != digest:
        raise DamagedError(f"its digest is wrong ({len(data)} bytes: cut or changed)")
    return _header(head), text.decode()


def _header(data: bytes) -> Header:
    try:
        return msgspec.json.decode(data, type=Header)
    except msgspec.DecodeError as error:
        raise DamagedError(f"its header can't be read: {error}") from error


# ---------------------------------------------------------------- what is there, and what to take


def read_header(path: Path) -> Header:
    """Return a checkpoint's or State's header after checking every byte of the file.

    Raises:
        DamagedError: it can't be trusted.
        OSError: it can't be read.
    """
    data = path.read_bytes()
    return unseal(data)[0] if path.suffix == ".xml" else unpack(data)[0]


def candidates(folder: Path) -> tuple[list[Candidate], list[str]]:
    """Return all that a run could be resumed from, best first, and a remark for each file that can't be trusted."""
    found, remarks = [], []
    for name, form in FORMS.items():
        try:
            found.append(Candidate(name, form, read_header(folder / name)))
        except FileNotFoundError:
            continue
        except (DamagedError, OSError) as error:
            remarks.append(f"{name} is not used: {error}")
    return sorted(found, key=_order), remarks


def set_damaged_aside(folder: Path) -> None:
    """Rename what can't be trusted, so that it is not kept as the previous checkpoint in place of a good one."""
    for name in FORMS:
        try:
            read_header(folder / name)
        except DamagedError:
            (folder / name).replace(folder / f"{name}.damaged")
        except OSError:
            continue


def _order(candidate: Candidate) -> tuple[int, bool]:
    return (-candidate.header.step, candidate.form != "checkpoint")


def choose(found: Iterable[Candidate], here: Header) -> tuple[Candidate | None, list[str]]:
    """Return what a run described by `here` resumes from, best first, and why better ones were passed over."""
    remarks: list[str] = []
    for candidate in found:
        reasons = differences(candidate, here)
        if not reasons:
            if candidate.form == "state":
                remarks.append(
                    f"resumed from {candidate.name} at step {candidate.header.step}: the same ensemble, not bitwise the same trajectory"
                )
            return candidate, remarks
        remarks.append(f"{candidate.name} is not used: {'; '.join(reasons)}")
    return None, remarks


def differences(candidate: Candidate, here: Header) -> list[str]:
    """Say what keeps a candidate from being resumed here; a State asks only for the same job."""
    names = ["identity", "atoms"]
    if candidate.form == "checkpoint":
        names += ["openmm_version", "platform", "precision", "device", "system_sha256", "integrator", "timestep_ps"]
    pairs = [(name, getattr(candidate.header, name), getattr(here, name)) for name in names]
    return [f"{name} was {_short(there)}, is {_short(now)}" for name, there, now in pairs if there != now]


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else text[:12] + "..."
