"""The provenance of a result: the call, seed, engine, time and versions that produced it."""

from __future__ import annotations

import functools
import inspect
import platform
import time
from contextvars import ContextVar
from dataclasses import dataclass, replace
from importlib import metadata
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from upto.core.short_repr import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_LONGEST = 8
"""Longest sequence that a call spells out."""

_engine: ContextVar[str | None] = ContextVar("engine", default=None)
"""What the engine of the question being answered said of itself."""

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance(Record):
    """Information needed to reproduce a result."""

    call: str
    seed: int
    engine: str
    seconds: float
    versions: dict[str, str]


UNRECORDED = Provenance(call="", seed=0, engine="", seconds=0.0, versions={})
"""Placeholder until `with_provenance` fills in the provenance."""


def library_versions() -> dict[str, str]:
    """Return the versions that determine the numbers."""
    names = ("upto", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version()} | {name: _version(name) for name in names}


def record_engine(text: str) -> None:
    """Describe the engine of the question being answered, as it was at the beginning."""
    if _engine.get() is None:
        _engine.set(text)


def with_provenance(question: Callable[P, R]) -> Callable[P, R]:
    """Fill in the provenance of the results that a question returns."""
    signature = inspect.signature(question)

    @functools.wraps(question)
    def answer(*args: P.args, **kwargs: P.kwargs) -> R:
        started = time.perf_counter()
        outer = _engine.set(None)
        try:
            result = question(*args, **kwargs)
            described = _engine.get()
        finally:
            _engine.reset(outer)
        seconds = time.perf_counter() - started
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        engine = given.get("engine", "numpy") or "threads"
        provenance = Provenance(
            call=f"upto.{question.__name__}({_arguments(signature, given)})",
            seed=given.get("seed", 0),
            engine=described or (engine if isinstance(engine, str) else engine.name),
            seconds=seconds,
            versions=library_versions(),
        )
        return cast("R", replace(cast("Any", result), provenance=provenance))

    return answer


def _arguments(signature: inspect.Signature, given: Mapping[str, Any]) -> str:
    texts = []
    for name, parameter in signature.parameters.items():
        if name in ("engine", "progress"):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            texts += [_text(each, run=True) for each in given[name]]
        elif parameter.kind is parameter.KEYWORD_ONLY:
            texts.append(f"{name}={_text(given[name])}")
        else:
            texts.append(_text(given[name], run=True))
    return ", ".join(texts)


def _text(value: Any, *, run: bool = False) -> str:
    """Describe an argument briefly: arrays by their shape, runs and measures by their name."""
    if isinstance(value, str):
        return value if run else repr(value)
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple | set | frozenset) and len(value) <= _LONGEST:
        return f"[{', '.join(_text(each) for each in value)}]"
    for described in (getattr(value, "name", None), getattr(value, "shape", None)):
        if isinstance(described, str):
            return described
        if described is not None:
            return f"array {'×'.join(map(str, described))}"
    text = str(value)
    return text if len(text) <= 40 else type(value).__name__


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
