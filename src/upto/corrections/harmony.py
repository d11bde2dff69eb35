"""Harmony from scanpy or harmonypy, as a transductive baseline."""

from __future__ import annotations

import hashlib
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from upto.core import InputError, MissingExtraError
from upto.corrections.base import Correction

if TYPE_CHECKING:
    from upto.corrections.batch_groups import Batches

_TURNED = (0, 1)
"""First harmonypy version that returns rows instead of columns."""


class Harmony(OneToOneFeatureMixin, Correction):
    """Mix batches within soft clusters (Korsunsky et al. 2019), by scanpy or harmonypy.

    It cannot correct unseen rows: use `fit_transform` on all rows, and treat the results as
    transductive.

    Parameters
    ----------
    n_clusters
        Number of clusters; by default the package chooses.
    max_iterations
        Maximum number of rounds of clustering and correction.
    random_state
        Integer seed.

    Attributes
    ----------
    corrected_ : ndarray of shape (n_rows, n_features_in_)
        The corrected rows.
    package_ : str
        The package that corrected them.

    See Also
    --------
    ComBat : A correction that applies to unseen batches.
    upto.batches : Marks transductive corrections in its tables.

    References
    ----------
    Korsunsky et al. (2019). Fast, sensitive and accurate integration of single-cell data with
    Harmony. Nature Methods 16, 1289-1296.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.corrections import Harmony
    >>> rng = np.random.default_rng(0)
    >>> plates = np.repeat(["p1", "p2"], 100)
    >>> rows = rng.normal(size=(200, 5)) + 2.0 * (plates == "p2")[:, None]
    >>> Harmony().fit_transform(rows, groups=plates).shape
    (200, 5)
    """

    __metadata_request__fit = {"groups": True, "controls": False}  # noqa: RUF012
    __metadata_request__transform = {"groups": True, "controls": False}  # noqa: RUF012

    def __init__(
        self,
        *,
        n_clusters: int | None = None,
        max_iterations: int = 10,
        random_state: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_iterations = max_iterations
        self.random_state = random_state

    def _fit(self, rows: Any, batches: Batches) -> None:
        if len(batches) < 2:
            message = f"there is {len(batches)} batch, but Harmony mixes two or more: pass groups."
            raise InputError(message)
        self.package_ = harmony_package()
        by = self._by_scanpy if self.package_ == "scanpy" else self._by_harmonypy
        corrected = by(import_module(self.package_), rows, batches)
        self.corrected_ = np.asarray(corrected).astype(rows.dtype, copy=False)
        self._seen = _digest(rows)

    def _transform(self, rows: Any, batches: Batches) -> Any:
        if _digest(rows) != self._seen:
            message = (
                f"these {len(rows)} rows are not the {len(self.corrected_)} that Harmony was "
                "fitted to, and it cannot correct others: use fit_transform on all rows."
            )
            raise InputError(message)
        return self.corrected_.copy()

    def _by_scanpy(self, scanpy: Any, rows: Any, batches: Batches) -> Any:
        table = import_module("anndata").AnnData(obs=_frame(len(rows), batches))
        table.obsm["rows"] = np.asarray(rows, dtype=np.float64)
        scanpy.pp.harmony_integrate(
            table,
            "batch",
            basis="rows",
            adjusted_basis="corrected",
            n_clusters=self.n_clusters,
            max_iter_harmony=self.max_iterations,
            rng=self.random_state,
        )
        return table.obsm["corrected"]

    def _by_harmonypy(self, harmonypy: Any, rows: Any, batches: Batches) -> Any:
        found = harmonypy.run_harmony(
            np.asarray(rows, dtype=np.float64),
            _frame(len(rows), batches),
            "batch",
            nclust=self.n_clusters,
            max_iter_harmony=self.max_iterations,
            random_state=self.random_state,
            verbose=False,
        ).Z_corr
        version = tuple(int(part) for part in metadata.version("harmonypy").split(".")[:2])
        return found if version >= _TURNED else found.T


def harmony_package() -> str:
    """Return the installed package that has Harmony.

    Raises
    ------
    MissingExtraError
        If there is none.
    """
    # Older scanpy wrappers transpose the result of newer harmonypy versions.
    if find_spec("scanpy") and hasattr(import_module("scanpy").pp, "harmony_integrate"):
        return "scanpy"
    if find_spec("harmonypy"):
        return "harmonypy"
    what = "Harmony"
    raise MissingExtraError(what, package="scanpy 1.12 or harmonypy", extra="harmony")


def _frame(n_rows: int, batches: Batches) -> Any:
    names = np.empty(n_rows, dtype=object)
    for batch in batches:
        names[batch.rows] = batch.name
    index = [str(position) for position in range(n_rows)]
    return import_module("pandas").DataFrame({"batch": names}, index=index)


def _digest(rows: Any) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(rows, dtype=np.float64).tobytes()).digest()
