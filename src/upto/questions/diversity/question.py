"""Whether a classifier head or an unembedding identifies the representation below it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from upto.core import UNRECORDED, InputError, with_provenance
from upto.engines.directions import stored_rounding
from upto.files import read_labels
from upto.files.accept import as_embeddings
from upto.questions.diversity.result import DiversityResult
from upto.questions.diversity.text import verdict
from upto.theory import as_head, head_diversity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from upto.files.accept import Run


@with_provenance
def diversity(head: Run, *, frequencies: ArrayLike | str | Path | None = None) -> DiversityResult:
    """Check whether a head identifies the representation below it, up to a linear map.

    Two models with the same class probabilities have representations that differ by one invertible
    linear map (an affine one for heads with a bias) if the class vectors of each head have as many
    independent differences as its representation has coordinates.

    Parameters
    ----------
    head
        The weights of the last layer, one row for each class or token: an array, a path or
        `Embeddings`. A bias is not part of it. Transpose weights that are inputs × classes.
    frequencies
        How often each class occurs, as numbers or as a file of them; equal by default. Classes
        that never occur are left out.

    Raises
    ------
    InputError
        If the head or the frequencies cannot be used as given.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> head = np.random.default_rng(0).normal(size=(10, 64))
    >>> upto.diversity(head).holds
    False
    """
    found = as_embeddings([head], names=("head",))
    if len(found) != 1:
        message = f"one head is checked at a time, not {len(found)}: name one of the manifest."
        raise InputError(message)
    (embeddings,) = found
    # What is no number is refused before anything is computed from it.
    vectors = as_head(np.asarray(embeddings.rows[0 : len(embeddings)]))
    counts = _read_counts(frequencies) if isinstance(frequencies, str | Path) else frequencies
    checked = head_diversity(vectors, frequencies=counts, deviations=stored_rounding(vectors))
    variance = checked.smallest_variance
    return DiversityResult(
        name=embeddings.name,
        n_classes=checked.n_classes,
        n_left_out=len(vectors) - checked.n_classes,
        width=checked.width,
        rank=checked.rank,
        holds=checked.holds,
        ill_conditioned=checked.is_ill_conditioned,
        condition=checked.condition,
        differences_condition=checked.differences_condition,
        smallest_variance=variance,
        amplification=1 / math.sqrt(variance) if variance > 0 else None,
        singular_values=tuple(float(value) for value in checked.singular_values),
        base=checked.base if checked.holds else None,
        chosen=tuple(int(number) for number in checked.chosen),
        stored_as=checked.stored_as,
        rounding=checked.rounding,
        verdict=f"{embeddings.name}: {verdict(checked, len(vectors))}",
        findings=(),
        provenance=UNRECORDED,
    )


def _read_counts(path: str | Path) -> ArrayLike:
    name, values = read_labels(path)
    try:
        return values.astype(np.float64)
    except ValueError:
        message = f"{name} of {path} holds values that are not numbers: give how often each occurs."
        raise InputError(message) from None
