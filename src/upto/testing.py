"""Random elements of groups and hypothesis strategies, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import Group, InputError, MissingExtraError

if TYPE_CHECKING:
    from upto.core.array_types import Float


def random_element(
    group: Group | str, n_features: int, rng: np.random.Generator, *, n_out: int | None = None
) -> tuple[Float, Float]:
    """Draw an element of a group as a linear part and a translation.

    Apply it as ``rows @ linear + translation``. With `n_out` larger than `n_features`, isometries
    embed the rows in the wider target, and permutations leave its extra coordinates constant.

    Parameters
    ----------
    group
        The group, or its name.
    n_features
        Width of the rows.
    rng
        Random number generator.
    n_out
        Width of the target; that of the rows by default.

    Returns
    -------
    tuple of ndarray
        The linear part, of shape (n_features, n_out), and the translation, of shape (n_out,).

    Raises
    ------
    InputError
        For monotone functions, which have no linear part.

    See Also
    --------
    upto.Group : The groups.
    upto.corrections.RandomRotation : Uniformly random rotations, as an estimator.
    upto.simulate.draw_mixing : Random maps that are not in a group, with a known distortion.
    embeddings_strategy : Random rows.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.testing import random_element
    >>> linear, translation = random_element("rigid", 4, np.random.default_rng(0))
    >>> bool(np.allclose(linear @ linear.T, np.eye(4))), translation.shape
    (True, (4,))
    """
    group = Group(group)
    if group is Group.MONOTONE_PERMUTATION:
        message = "monotone functions have no linear part to draw: apply one to the rows."
        raise InputError(message)
    d, m = n_features, n_out or n_features
    translation = np.zeros(m) if group is Group.IDENTITY else rng.normal(size=m)
    if group is Group.IDENTITY:
        return np.eye(d, m), translation
    if group in (Group.RIGID, Group.SIMILARITY):
        orthogonal, _ = np.linalg.qr(rng.normal(size=(m, m)))
        scale = rng.uniform(0.3, 0.7) if group is Group.SIMILARITY else 1.0
        return scale * orthogonal[:d], translation
    if group is Group.AFFINE:
        left, _ = np.linalg.qr(rng.normal(size=(d, d)))
        right, _ = np.linalg.qr(rng.normal(size=(m, m)))
        return (left * np.geomspace(0.2, 2.0, d)) @ right[:d], translation
    linear = np.zeros((d, m))
    linear[np.arange(d), rng.permutation(m)[:d]] = rng.choice([-1.0, 1.0], size=d)
    if group is Group.SIGNED_SIMILARITY:
        linear *= rng.uniform(0.3, 0.7)
    if group is Group.SCALED_PERMUTATION:
        linear *= np.geomspace(0.2, 2.0, d)[:, None]
    return linear, translation


def embeddings_strategy(
    *, max_samples: int = 40, max_features: int = 6, min_samples: int = 2
) -> Any:
    """Return a hypothesis strategy of finite two-dimensional float64 arrays.

    Parameters
    ----------
    max_samples, max_features
        Largest numbers of rows and columns.
    min_samples
        Smallest number of rows.

    Returns
    -------
    SearchStrategy
        Its arrays have values from -1,000 to 1,000 without NaN, and may be constant or repeat rows.

    Raises
    ------
    MissingExtraError
        If hypothesis is not installed.

    See Also
    --------
    random_element : Random elements of groups.

    Examples
    --------
    >>> import numpy as np
    >>> from hypothesis import given, settings
    >>> from upto.testing import embeddings_strategy
    >>> @settings(max_examples=5, database=None, derandomize=True)
    ... @given(embeddings_strategy(max_features=3))
    ... def check(rows):
    ...     assert rows.shape[1] <= 3
    ...     assert np.isfinite(rows).all()
    >>> check()
    """
    try:
        from hypothesis import strategies as st
        from hypothesis.extra.numpy import arrays
    except ImportError:
        what = "embeddings_strategy"
        raise MissingExtraError(what, package="hypothesis", extra="testing") from None
    shapes = st.tuples(st.integers(min_samples, max_samples), st.integers(1, max_features))
    values = st.floats(-1e3, 1e3, allow_nan=False, width=32)
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=values))
