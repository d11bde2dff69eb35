"""Random rotation, the baseline for any gain from a choice of axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state

from upto.corrections.base import Correction

if TYPE_CHECKING:
    from upto.corrections.batch_groups import Batches


class RandomRotation(ClassNamePrefixFeaturesOutMixin, Correction):
    """Rotate rows by a uniformly random (Haar) orthogonal matrix.

    Whitening is a separate step: the paper's "PCA + Rand" is `Whitener` followed by this.

    Parameters
    ----------
    random_state
        Seed of the rotation.

    Attributes
    ----------
    rotation_ : ndarray of shape (n_features_in_, n_features_in_)
        ``turned = X @ rotation_.T``.

    See Also
    --------
    upto.Whitener : The step before it.
    upto.ICA : The choice of axes it is the baseline for.
    upto.testing.random_element : Random elements of other groups.

    Notes
    -----
    Rows become x Qᵀ with Q from the QR factorisation of a matrix of independent normal numbers, and
    the diagonal of R made positive; Q is then uniform on the orthogonal group.

    References
    ----------
    Mezzadri (2007). How to generate random matrices from the classical compact groups. Notices of
    the American Mathematical Society 54, 592-604.

    Mezzadri (2007). How to generate random matrices from the classical compact groups. Notices of
    the American Mathematical Society 54, 592-604.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.corrections import RandomRotation
    >>> rows = np.eye(3)
    >>> turned = RandomRotation(random_state=0).fit_transform(rows)
    >>> bool(np.allclose(turned @ turned.T, np.eye(3)))
    True
    """

    __metadata_request__fit = {"groups": False, "controls": False}  # noqa: RUF012
    __metadata_request__transform = {"groups": False, "controls": False}  # noqa: RUF012

    def __init__(self, *, random_state: Any = None) -> None:
        self.random_state = random_state

    def _fit(self, rows: Any, batches: Batches) -> None:
        width = rows.shape[1]
        normal = check_random_state(self.random_state).normal(size=(width, width))
        columns, triangle = np.linalg.qr(normal)
        # Without these signs the distribution depends on the sign convention of the factorisation.
        self.rotation_ = columns * np.where(np.diag(triangle) < 0, -1.0, 1.0)
        self._n_features_out = width

    def _transform(self, rows: Any, batches: Batches) -> Any:
        return rows @ self.rotation_.T.astype(rows.dtype, copy=False)

    def inverse_transform(self, X: Any) -> Any:
        """Undo the rotation."""
        rows = self._rows_to_bring_back(X)
        return rows @ self.rotation_.astype(rows.dtype, copy=False)
