"""Gradient-boosted trees on columns binned once for all tasks and feature sets."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.batch_metrics.classifiers.check_task import chosen_rows, rows_of_width
from upto.core import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

TABLE_6: Mapping[str, Any] = MappingProxyType(
    {
        "objective": "binary",
        "is_unbalance": True,
        "learning_rate": 0.05,
        "num_leaves": 31,
        "feature_fraction": 0.6,
        "reg_alpha": 5.0,
        "reg_lambda": 1.0,
        "min_gain_to_split": 0.8,
        "min_data_in_leaf": 30,
    }
)
"""The paper's LightGBM settings."""

FAST: Mapping[str, Any] = MappingProxyType(
    {**TABLE_6, "max_bin": 31, "bin_construct_sample_cnt": 4000, "feature_fraction": 0.35}
)
"""The same trees with fewer bins, and per tree fewer features and rows of the larger class."""

OTHERS_EACH = 6
"""Rows of the larger class per row of the smaller one in a fast tree."""

ROUNDS = 100
"""LightGBM's default; the paper gives no number."""

_BINNING: Mapping[str, Any] = MappingProxyType(
    {"feature_pre_filter": False, "enable_bundle": False, "verbose": -1}
)
_joining = Lock()
"""Guards the shared bins and the process-wide warning filters."""


class PreparedTrees:
    """Binned training rows; single columns are binned once a fit selects features.

    A fit runs on one thread, so several can run at once.
    """

    def __init__(
        self, rows: NDArray[np.float64], *, settings: Mapping[str, Any], seed: int, n_threads: int
    ) -> None:
        self._library = _lightgbm()
        self._shape = (int(rows.shape[0]), int(rows.shape[1]))
        self._settings = {
            **settings,
            **_BINNING,
            "seed": seed,
            "deterministic": True,
            "force_col_wise": True,
            # LightGBM's threads spin while they wait, and change which rows a tree samples.
            "num_threads": 1,
        }
        self._is_fast = settings is FAST
        self._varies = rows.max(axis=0) > rows.min(axis=0)
        self._rows, self._n_threads = rows, n_threads
        self._whole = self._binned(np.flatnonzero(self._varies)) if self._varies.any() else None
        self._columns: dict[int, Any] = {}

    @property
    def predictor(self) -> str:
        """Description of the classifier."""
        return f"gradient-boosted trees of LightGBM {self._library.__version__}"

    def fit(
        self, index: ArrayLike, labels: ArrayLike, *, features: ArrayLike | None = None
    ) -> FittedTrees:
        """Fit trees to a subset of rows, on all or selected features."""
        task = chosen_rows(self._shape, index, labels, features)
        used = task.features[self._varies[task.features]]
        width = self._shape[1]
        if not len(used):
            return FittedTrees(booster=None, used=used, splits=np.zeros(width))
        dataset = self._bins_of(used).subset(task.index.tolist()).construct()
        dataset.set_label(task.labels.astype(np.float32))
        shown = _shown(task.labels) if self._is_fast else {}
        booster = self._library.Booster({**self._settings, **shown}, dataset)
        for _ in range(ROUNDS):
            booster.update()
        booster.free_dataset()
        splits = np.zeros(width)
        splits[used] = booster.feature_importance("split")
        return FittedTrees(booster=booster, used=used, splits=splits)

    def _binned(self, columns: NDArray[np.intp]) -> Any:
        values = np.ascontiguousarray(self._rows[:, columns])
        nothing = np.zeros(len(values), dtype=np.float32)
        return self._library.Dataset(values, label=nothing, params=self._settings).construct()

    def _bins_of(self, used: NDArray[np.intp]) -> Any:
        """Return the bins of selected columns, as if binned together."""
        if len(used) == np.count_nonzero(self._varies):
            return self._whole
        with _joining, warnings.catch_warnings():
            # LightGBM warns that raw values were not kept, which is intended.
            warnings.simplefilter("ignore", UserWarning)
            if not self._columns:
                self._columns = self._binned_alone()
            first, *others = (self._columns[column] for column in used.tolist())
            # add_features_from modifies in place; a subset copies its rows.
            joined = first.subset(range(self._shape[0])).construct()
            for other in others:
                joined.add_features_from(other)
        return joined

    def _binned_alone(self) -> dict[int, Any]:
        places = np.flatnonzero(self._varies)
        with ThreadPoolExecutor(self._n_threads) as pool:
            found = pool.map(self._binned, places[:, None])
            return dict(zip(places.tolist(), found, strict=True))


def _shown(labels: NDArray[np.bool_]) -> dict[str, float]:
    """Return the fraction of each class that each tree samples."""
    counts = {"pos": int(labels.sum()), "neg": int((~labels).sum())}
    most = OTHERS_EACH * min(counts.values())
    shares = {f"{name}_bagging_fraction": min(1.0, most / n) for name, n in counts.items()}
    return {**shares, "bagging_freq": 1} if min(shares.values()) < 1.0 else {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FittedTrees:
    """Trees of one task; `splits` counts the splits on each feature."""

    booster: Any
    used: NDArray[np.intp]
    splits: NDArray[np.float64]

    def score(self, rows: ArrayLike) -> NDArray[np.float64]:
        """Return the log-odds of being labelled true."""
        found = rows_of_width(rows, len(self.splits))
        if self.booster is None:
            return np.zeros(len(found))
        scores: NDArray[np.float64] = self.booster.predict(
            found[:, self.used], raw_score=True, num_threads=1
        )
        return scores


def _lightgbm() -> Any:
    try:
        return import_module("lightgbm")
    except ImportError:
        what = "a classifier of boosted trees"
        raise MissingExtraError(what, package="lightgbm", extra="boost") from None
