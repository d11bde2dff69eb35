"""Forms of the latents that are scored: unchanged, and after three kinds of ICA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from upto.core import InputError
from upto.core.array_types import Float
from upto.ica.fit import Settings, fit_components

if TYPE_CHECKING:
    from collections.abc import Iterable

    from upto.core import TraceStep
    from upto.engines.base import Engine


MAX_ITERATIONS = 1000
RESTARTS = 5
"""With few rows, ICA often ends in a local optimum."""
TOLERANCE = 1e-4
"""Tolerance of the relative gradient: further rotation is below the sampling error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form: its name, and the whitening before ICA; None for no ICA."""

    name: str
    says: str
    whiten: Literal["rotation", "none", "active"] | None


FORMS = {
    "raw": Form(name="without ICA", says="The unchanged latents.", whiten=None),
    "ica": Form(
        name="ICA", says="Centred and rotated by ICA; distances are preserved.", whiten="rotation"
    ),
    "ica-literal": Form(
        name="ICA, literal",
        says="Rotated by FastICA without whitening, centring or scaling, as published.",
        whiten="none",
    ),
    "ica-active": Form(
        name="ICA, active",
        says="Independent components of the whitened directions with non-negligible variance.",
        whiten="active",
    ),
}
"""Forms by the name of the option."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Formed:
    """Latents in a form; `turning` counts components determined only up to a rotation.

    `n_iterations` includes the steps of restarts.
    """

    form: Form
    latents: Float
    converged: bool | None
    n_iterations: int | None
    turning: int


def find_forms(names: str | Iterable[str] | None) -> tuple[Form, ...]:
    """Return the named forms without duplicates; all by default."""
    if names is None:
        return tuple(FORMS.values())
    wanted = (names,) if isinstance(names, str) or not np.iterable(names) else tuple(names)
    if not all(isinstance(name, str) for name in wanted):
        message = f"forms is {names!r}, not a list of names: choose from {', '.join(FORMS)}."
        raise InputError(message)
    for name in wanted:
        if name not in FORMS:
            message = f"unknown form {name!r}: choose from {', '.join(FORMS)}."
            raise InputError(message)
    if not wanted:
        message = f"forms is empty: choose from {', '.join(FORMS)}."
        raise InputError(message)
    return tuple(FORMS[name] for name in dict.fromkeys(wanted))


def bring_into(form: Form, latents: Float, *, engine: Engine, seed: int) -> Formed:
    """Transform latents to a form."""
    if form.whiten is None:
        return Formed(form=form, latents=latents, converged=None, n_iterations=None, turning=0)
    # Keeps moments finite in single precision; the published variant depends on the scale.
    size = 1.0 if form.whiten == "none" else 2.0 ** np.frexp(np.abs(latents).max())[1]
    steps = 0

    def count(step: TraceStep, _rotation: object) -> None:
        nonlocal steps
        steps += step.iteration > 0

    settings = Settings(
        solver="fastica" if form.whiten == "none" else "auto",
        whiten=form.whiten,
        tolerance=TOLERANCE,
        max_iterations=MAX_ITERATIONS,
        restarts=1 if form.whiten == "none" else RESTARTS,
        seed=seed,
    )
    rows = latents / size
    found = fit_components(engine, engine.place(rows), settings, listener=count).unmixing
    if found.interrupted:
        raise KeyboardInterrupt
    components = found.components
    if form.whiten == "rotation":
        # Undo the scale of the fit, so that the result is a rotation.
        components = components * (size / np.linalg.norm(components, axis=1, keepdims=True))
    return Formed(
        form=form,
        latents=(rows - found.mean) @ components.T,
        converged=found.converged,
        n_iterations=steps,
        turning=int(found.frozen.sum()),
    )
