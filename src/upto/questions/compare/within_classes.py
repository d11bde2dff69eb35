"""Agreement of two runs within and between classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from upto.alignment import fit_map
from upto.core import Classes, Group
from upto.engines import cross_moments
from upto.evidence.pairings import Close, pairing_p_values
from upto.evidence.strata import class_means

if TYPE_CHECKING:
    from upto.core.array_types import Float, Index
    from upto.questions.compare.pair import Pair
    from upto.questions.compare.pair_options import Options
    from upto.questions.compare.prediction import Onto


LITTLE = 0.1
"""R² within classes below which runs share little."""


def agree_within(
    pair: Pair, forward: Onto, up_to: Group | None, classes: Index, label: str, options: Options
) -> Classes | None:
    """Evaluate the verdict's map on class means, and a map fitted within classes on residuals.

    Return None if too few fitted or held-out rows share a class.
    """
    index = pair.split.distinct_held_out(len(pair.target.paired))
    own = classes[index]
    counts = np.bincount(own, minlength=int(classes.max()) + 1)
    several = counts[own] > 1
    x, y = pair.sample_rows(fitted=True)
    fitted = classes[pair.split.first_rows(len(pair.source.sample))]
    fitted = fitted[pair.split.parts[pair.split.first_rows(len(fitted))] == 0]
    if several.sum() < 10 or len(np.unique(own)) < 2 or len(x) < 10:
        return None
    group = up_to or Group.AFFINE
    if group not in forward.groups:
        return None
    predicted = forward.maps[group].predict(pair.source.paired)
    target = pair.target.paired
    inner = Group.AFFINE if group is Group.MONOTONE_PERMUTATION else group
    moments = cross_moments(pair.engine, x - class_means(x, fitted), y - class_means(y, fitted))
    inside = fit_map(inner, moments)
    source = pair.source.paired
    left = (target - class_means(target, own))[several]
    mapped = inside.predict((source - class_means(source, own))[several])
    (p_value,) = pairing_p_values(
        [[Close(mapped, left)]],
        permutations=options.permutations,
        seed=options.seed,
        strata=own[several],
    )
    centre = target.mean(axis=0)
    between = class_means(target, own) - centre
    missed = class_means(target, own) - class_means(predicted, own)
    return Classes(
        label=label,
        n_classes=len(np.unique(classes)),
        between_r2=_explained(missed, between),
        within_r2=_explained(left - mapped, left),
        within_p_value=p_value,
    )


def only_classes_agree(found: Classes | None, level: float) -> bool:
    """Return whether runs share class means but little or nothing within classes."""
    if found is None or found.between_r2 < LITTLE:
        return False
    beyond = found.within_p_value is not None and found.within_p_value <= level
    return not beyond or found.within_r2 < LITTLE


def _explained(left: Float, whole: Float) -> float:
    total = float(np.vdot(whole, whole))
    return 1.0 - float(np.vdot(left, left)) / total if total > 0 else 0.0
