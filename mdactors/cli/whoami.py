"""Who types."""

from __future__ import annotations

import os
import pwd


def login_name() -> str:
    """Return the login name of the user who runs this process; the number where it has no name."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
