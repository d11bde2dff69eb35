"""Verdict and findings of `upto.unmix`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.core import Finding
from upto.ica.gaussianity import CLEAR

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upto.evidence.identify import Identified
    from upto.ica.fit import Fitted

UNSTABLE = 0.8
"""Stability below which a component counts as unstable."""


def verdict(name: str, k: int, identified: Identified, *, converged: bool) -> str:
    """State how many components are identifiable."""
    ended = "" if converged else " ICA did not converge."
    has = f"{name} has {k} component{'' if k == 1 else 's'}"
    if identified.judged is None:
        return f"{has}, not tested: {identified.unjudged}.{ended}"
    if not converged:
        return f"{has}, but ICA did not converge: which are identifiable is not known."
    states = identified.judged.states
    alone, turning = states.count("identifiable"), states.count("turning")
    if alone == k:
        return f"{has}, all identifiable up to order and sign."
    parts = [f"{alone} identifiable up to order and sign"]
    if turning:
        groups = len(identified.subspaces)
        parts.append(
            f"{turning} only as {'one subspace' if groups == 1 else f'{groups} subspaces'}"
        )
    if k - alone - turning:
        parts.append(f"{k - alone - turning} not shown to be either (more rows may decide)")
    return f"{has}: {', '.join(parts)}."


def remarks(name: str, fitted: Fitted, identified: Identified) -> list[Finding]:
    """Return the findings."""
    unmixing, found = fitted.unmixing, []

    def add(code: str, message: str) -> None:
        found.append(Finding(code=code, message=message))

    k = len(unmixing.components)
    if (dropped := unmixing.dropped) is not None:
        width = unmixing.components.shape[1]
        add("UP008", f"{dropped.count} of {width} directions of {name}: {dropped.words}.")
    if not unmixing.converged:
        add("UP004", f"ICA of {name} stopped after {unmixing.n_iterations} steps.")
    for group in identified.subspaces:
        listed = ", ".join(str(i) for i in group[:12]) + (", …" if len(group) > 12 else "")
        add("UP023", f"components {listed} of {name}: {len(group)} of {k}.")
    form = unmixing.form
    unsettled = len({*form.unsettled_order, *form.unsettled_signs})
    if unsettled:
        add("UP021", f"{unsettled} of {k} components of {name}.")
    for code, message in (
        *_remarks_on_starts(name, identified),
        *_remarks_on_parts(name, identified),
    ):
        add(code, message)
    return found


def _remarks_on_starts(name: str, identified: Identified) -> Iterator[tuple[str, str]]:
    stability, missed = identified.stability, identified.missed
    if stability is None:
        return
    weak, n_starts = int(np.count_nonzero(stability < UNSTABLE)), len(missed)
    circling = int(np.count_nonzero(~identified.converged))
    # Within a subspace that can be rotated freely, ICA need not converge, and nothing is lost.
    circling = 0 if identified.subspaces and not missed.any() else circling
    if not weak and not missed.any() and not circling:
        return
    lowest = f"{weak} of {len(stability)} components of {name}, the lowest at {stability.min():.2f}"
    starts = []
    if missed.any():
        starts.append(f"{np.count_nonzero(missed)} of {n_starts} starts reach another optimum")
    if circling:
        starts.append(f"{circling} of {n_starts} starts did not converge")
    yield "UP022", "; ".join([lowest, *starts]) + "."


def _remarks_on_parts(name: str, identified: Identified) -> Iterator[tuple[str, str]]:
    judged = identified.judged
    if judged is None:
        if identified.unjudged is not None and "whiten" not in identified.unjudged:
            yield "UP015", f"{identified.unjudged}: components of {name} are not tested."
        return
    k, z = len(judged.states), judged.nongaussianity.z
    states = np.array(judged.states)
    near = int(np.count_nonzero((z < CLEAR) & (states != "identifiable")))
    if near >= 2:
        words = "cannot be distinguished from Gaussian ones on held-out rows."
        yield "UP003", f"{near} of {k} components of {name} {words}"
    unknown = int(np.isnan(z).sum())
    if unknown:
        vary = "varies" if unknown == 1 else "vary"
        yield "UP015", f"{unknown} of {k} components of {name} {vary} in one part of the rows only."
    left = states == "not shown"
    if left.any():
        lost = int(np.count_nonzero(left & ~judged.again.found))
        yield (
            "UP029",
            f"{np.count_nonzero(left)} of {k} components of {name}; {lost} of them "
            f"{'is' if lost == 1 else 'are'} not recovered in two parts of the rows.",
        )
