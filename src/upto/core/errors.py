"""Errors a user can act on: each says what happened, with the numbers, and what to do."""

from __future__ import annotations

import sys

_SINCE = {"harmony": (3, 12)}
"""The Python from which an extra can be installed, where that is not every one."""


def how_to_install(extra: str) -> str:
    """Say how to get an extra, or which Python it needs where this one is too old for it."""
    since = _SINCE.get(extra)
    if since is None or sys.version_info[:2] >= since:
        return f"run `pip install 'upto[{extra}]'`"
    this = sys.version_info
    return (
        f"upto[{extra}] needs Python {since[0]}.{since[1]} or later, and this is Python "
        f"{this[0]}.{this[1]}"
    )


class UptoError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(UptoError, ValueError):
    """The data cannot be used as given. The command line exits with 3."""


class MissingExtraError(InputError):
    """A reader or renderer needs an optional dependency that is not installed."""

    def __init__(self, what: str, *, package: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the package {package}, which is not installed: {how_to_install(extra)}."
        )
