"""The forms that latents are scored in: as given, and after ICA in three ways."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from upto.core import InputError
from upto.core.arrays import Float
from upto.ica.fit import Settings, fit_components

if TYPE_CHECKING:
    from collections.abc import Iterable

    from upto.core import TraceStep
    from upto.engines.base import Engine


MAX_ITERATIONS = 1000
RESTARTS = 5
"""A search for a rotation of few rows often ends in an optimum that is not the best."""
TOLERANCE = 1e-4
"""Of the relative gradient: components then turn by less than rows of a usual number can show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form: its name, and how rows are whitened before ICA; None for no ICA."""

    name: str
    says: str
    whiten: Literal["rotation", "none", "active"] | None


FORMS = {
    "as-given": Form(name="as given", says="The latents of the run.", whiten=None),
    "ica": Form(
        name="ICA",
        says="Centred and rotated by ICA: one scale for all, so that distances stay.",
        whiten="rotation",
    ),
    "ica-literal": Form(
        name="ICA, literal",
        says="Rotated by FastICA without whitening, centring or scale, as it is published.",
        whiten="none",
    ),
    "ica-active": Form(
        name="ICA, active",
        says="Components of the whitened directions that have some variance.",
        whiten="active",
    ),
}
"""By the name they are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Formed:
    """Latents in a form; `turning` counts components between which ICA saw nothing to choose.

    `n_iterations` are the steps of all searches, those of restarts too.
    """

    form: Form
    latents: Float
    converged: bool | None
    n_iterations: int | None
    turning: int


def find_forms(names: str | Iterable[str] | None) -> tuple[Form, ...]:
    """Return the forms asked for, each once; all by default."""
    if names is None:
        return tuple(FORMS.values())
    wanted = (names,) if isinstance(names, str) or not np.iterable(names) else tuple(names)
    if not all(isinstance(name, str) for name in wanted):
        message = f"forms is {names!r}, but it lists forms: choose of {', '.join(FORMS)}."
        raise InputError(message)
    for name in wanted:
        if name not in FORMS:
            message = f"there is no form {name!r}: choose of {', '.join(FORMS)}."
            raise InputError(message)
    if not wanted:
        message = f"no form is asked for: choose of {', '.join(FORMS)}."
        raise InputError(message)
    return tuple(FORMS[name] for name in dict.fromkeys(wanted))


def bring_into(form: Form, latents: Float, *, engine: Engine, seed: int) -> Formed:
    """Return latents in a form."""
    if form.whiten is None:
        return Formed(form=form, latents=latents, converged=None, n_iterations=None, turning=0)
    # Moments of rows of any size are then numbers, in single precision too; what is published
    # depends on the size.
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
        # The one scale is of the search; the result is a rotation.
        components = components * (size / np.linalg.norm(components, axis=1, keepdims=True))
    return Formed(
        form=form,
        latents=(rows - found.mean) @ components.T,
        converged=found.converged,
        n_iterations=steps,
        turning=int(found.frozen.sum()),
    )
