"""Test the diversity condition of a classifier head or an unembedding."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import UNRECORDED, InputError, with_provenance
from upto.engines.directions import stored_rounding
from upto.files import read_labels
from upto.files.accept import single_run
from upto.files.vectors import as_vector
from upto.questions.diversity.result import DiversityResult
from upto.questions.diversity.text import verdict
from upto.theory import as_head, head_diversity

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from upto.files.accept import Run


@with_provenance
def diversity(head: Run, *, frequencies: ArrayLike | str | Path | None = None) -> DiversityResult:
    r"""Test whether a head identifies the representation below it up to a linear map.

    Two models with equal class probabilities have representations related by an invertible linear
    map (affine if the heads have a bias) whenever the class vectors of each head have as many
    linearly independent differences as its representation has coordinates.

    Parameters
    ----------
    head
        Weights of the last layer, one row per class or token: an array, a tensor, a data frame, an
        AnnData or xarray object, a path or `Embeddings`, as `as_embeddings` takes it. Omit the
        bias. Transpose weights of shape inputs × classes.
    frequencies
        Class frequencies, as an array or a file; equal by default. Classes with frequency zero
        are left out.

    Returns
    -------
    DiversityResult
        Whether the condition holds, and how well it is conditioned.

    Raises
    ------
    InputError
        If the head or the frequencies are not valid.

    See Also
    --------
    upto.DiversityResult : What it returns.
    upto.theory.head_diversity : The same test as a plain function.
    upto.theory.linear_map_between : The map between two heads.
    upto.compare : Compare the representations themselves.

    Notes
    -----
    With class vectors :math:`g_1, \dots, g_K` in M dimensions, the condition is

    .. math::

        \operatorname{rank}\,\{ g_i - g_j \} = M

    References
    ----------
    Roeder et al. (2021). On linear identifiability of learned representations. International
    Conference on Machine Learning.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> head = np.random.default_rng(0).normal(size=(10, 64))
    >>> upto.diversity(head).holds
    False
    """
    embeddings = single_run(head, "diversity", name="head")
    # Refuse non-numeric entries before computing with them.
    vectors = as_head(np.asarray(embeddings.rows[0 : len(embeddings)]))
    counts: Any = None
    if isinstance(frequencies, str | Path):
        counts = _read_counts(frequencies)
    elif frequencies is not None:
        counts = as_vector(
            frequencies,
            len(vectors),
            "frequencies",
            of=embeddings.name,
            ids=embeddings.ids,
            taken="one number per class, or a file of them",
        )
        if counts.dtype.kind not in "fiub":
            message = f"frequencies has {counts.dtype} values: pass one number per class."
            raise InputError(message)
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
        message = f"{name} of {path} contains values that are not numbers: give class frequencies."
        raise InputError(message) from None
