"""The file that holds the token for TCP. It is read before the web stack is imported, and before anything lives."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from mdactors.errors import ConfigError


def load_token(path: Path) -> str:
    """Return the token in a file, made there (readable by its owner alone) where there is none.

    Raises:
        ConfigError: the file can't be read or made, or holds no token.
    """
    try:
        with open(path, "x", encoding="utf-8", opener=_private) as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    except FileExistsError:
        pass
    except OSError as error:
        raise ConfigError(f"token file {path} can't be made: {error.strerror}") from error
    return _read(path)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _read(path: Path) -> str:
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"token file {path} can't be read: {error}") from error
    if not token:
        raise ConfigError(f"token file {path} is empty; remove it and a new token is made")
    return token
