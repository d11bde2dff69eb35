"""Choose an engine by name or object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from upto.core import InputError
from upto.core.provenance import record_engine
from upto.engines.cluster import DaskEngine
from upto.engines.device import TorchEngine
from upto.engines.threads import ThreadsEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from upto.engines.base import Engine

_ENGINES: dict[str, Callable[[], Engine]] = {
    "threads": ThreadsEngine,
    "torch": TorchEngine,
    "dask": DaskEngine,
}
ENGINE_NAMES = tuple(_ENGINES)


def choose_engine(engine: Engine | str | None = None) -> Engine:
    """Return an engine from an object or a name, connected; `threads` by default."""
    if engine is None:
        engine = "threads"
    if isinstance(engine, str):
        if engine not in _ENGINES:
            message = f"there is no engine {engine!r}: choose one of {', '.join(ENGINE_NAMES)}."
            raise InputError(message)
        engine = _ENGINES[engine]()
    if isinstance(engine, DaskEngine):
        # A cluster that is not there, or cannot do the work, is reported before any work is done.
        engine.connect()
        record_engine(f"{engine.name} at {engine.where}")
    return engine
