"""Choosing an engine: passed as an object or by name, never a global."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import InputError
from upto.engines.threads import ThreadsEngine

if TYPE_CHECKING:
    from upto.engines.base import Engine

ENGINE_NAMES = ("threads",)


def choose_engine(engine: Engine | str | None = None) -> Engine:
    """Return the engine meant by an object, a name, or nothing (`threads`)."""
    if engine is None or engine == "threads":
        return ThreadsEngine()
    if isinstance(engine, str):
        message = f"there is no engine {engine!r}: choose one of {', '.join(ENGINE_NAMES)}."
        raise InputError(message)
    return engine
