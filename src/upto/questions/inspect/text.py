"""The verdict on a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upto.core import RunSummary


def verdict(
    run: RunSummary, dimension: float, near: int | None, n_components: int, *, ica: bool
) -> str:
    """Summarise a run; `near` of its components are near-Gaussian."""
    gaussian = ""
    if near is not None:
        verb = "is" if near == 1 else "are"
        gaussian = f"; {near} of {n_components} components {verb} near-Gaussian"
    elif ica:
        gaussian = "; Gaussianity of components not tested"
    return (
        f"{run.name}: {run.n_samples} rows of {run.n_features} coordinates, rank "
        f"{run.rank}, {dimension:.1f} effective dimensions{gaussian}."
    )
