"""The platform's settings: one frozen struct, read once, unknown names refused."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from events.platform import Policy
from mdactors.errors import ConfigError


class SlotSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the CPU is shared out; what is left out is derived from the machine."""

    count: Annotated[int, Meta(ge=1)] | None = None
    """Number of CPU slots."""
    threads: Annotated[int, Meta(ge=1)] | None = None
    """Physical cores of each."""


class PolicySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the deciding cores are told; see `events.platform.Policy`."""

    aging_per_hour: Annotated[float, Meta(ge=0, le=1e9)] = 1.0
    retries: Annotated[int, Meta(ge=0)] = 3
    suspicions: Annotated[int, Meta(ge=1)] = 3
    probe_ttl_seconds: Annotated[float, Meta(gt=0, le=1e9)] = 300.0

    def policy(self) -> Policy:
        """Return the same as the fact that the journal records."""
        return Policy(**msgspec.structs.asdict(self))


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The shape of `mdactors.toml`."""

    node: str = ""
    """Name of this machine in the matrix; its host name where left out."""
    listen: str = ""
    """HOST:PORT for TCP, with a token; empty: the Unix socket only."""
    token_file: str = ""
    """File with the token for TCP; made in the state folder where left out."""
    search_path: tuple[str, ...] = ()
    """Folders to look for engines in, before those of PATH."""
    backlog: Annotated[int, Meta(ge=1)] = 1_000_000
    """Jobs that may wait at once."""
    slots: SlotSettings = SlotSettings()
    policy: PolicySettings = PolicySettings()


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Settings and the folder that holds everything the platform remembers."""

    state: Path
    settings: Settings = Settings()


def load_config(path: Path | None, *, state: Path, overrides: dict[str, Any] | None = None) -> Config:
    """Read settings from a TOML file, then lay `overrides` (same shape, from the command line) over them.

    Raises:
        ConfigError: the file can't be read, or a setting is unknown or has a wrong value.
    """
    plain = _read(path) if path else {}
    for key, value in (overrides or {}).items():
        below = plain.get(key, {})
        plain[key] = {**below, **value} if isinstance(value, dict) and isinstance(below, dict) else value
    try:
        return Config(state=state.absolute(), settings=msgspec.convert(plain, Settings))
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path or 'settings'}: {error}; the settings are listed in docs/configuration.md") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # not UTF-8, not TOML, or beyond what the parser can take
        raise ConfigError(f"{path} is not TOML: {error}") from error
