"""Embeddings: rows, their ids and their columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from upto.core.errors import InputError
from upto.printable import spelt_out


@runtime_checkable
class Rows(Protocol):
    """Any two-dimensional object whose slices are blocks of rows.

    NumPy arrays, memory maps, HDF5 datasets, zarr arrays and the block readers of `upto.files`
    all qualify.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...  # noqa: D102 - see the protocol's docstring

    @property
    def dtype(self) -> Any: ...  # noqa: D102

    def __getitem__(self, key: slice, /) -> Any: ...


@runtime_checkable
class GatheringRows(Protocol):
    """Rows that can fetch scattered rows without reading those between them."""

    def gather(self, index: NDArray[np.intp]) -> Any:
        """Return the rows at ascending positions."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Embeddings:
    """The embedding of samples by one run, with their ids and metadata.

    Parameters
    ----------
    rows
        One row per sample; an array or a block reader over a file.
    name
        Name of the run in tables and reports.
    ids
        One id per row, used to match rows across runs.
    columns
        Labels, batches and factors by name, one value per row.
    layer, seed
        Layer and seed of the run, from a manifest.
    origin
        File it was read from, with ``::key`` where there is one.
    """

    rows: Rows
    name: str = "run"
    ids: NDArray[Any] | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    layer: str | None = None
    seed: int | None = None
    origin: str | None = None

    def __post_init__(self) -> None:
        # File names may contain bytes that are not UTF-8 and could not be written to a result.
        object.__setattr__(self, "name", spelt_out(self.name))
        if len(self.rows.shape) != 2:
            message = (
                f"{self.name} has {len(self.rows.shape)} dimensions, but embeddings have two (one "
                "row per sample): flatten or pool the others first."
            )
            raise InputError(message)
        if 0 in self.rows.shape:
            message = f"{self.name} is empty: its shape is {tuple(self.rows.shape)}."
            raise InputError(message)
        kind = np.dtype(self.rows.dtype).kind
        if kind not in "fiub":
            message = (
                f"{self.name} contains {self.rows.dtype} values, not real numbers: choose the "
                "numeric array or columns, or convert them first."
            )
            raise InputError(message)
        for name, column in {"ids": self.ids, **self.columns}.items():
            if column is not None and len(column) != self.n_samples:
                message = (
                    f"{name!r} has {len(column)} values but {self.name} has {self.n_samples} rows: "
                    "pass one value per row."
                )
                raise InputError(message)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def n_features(self) -> int:
        """Number of coordinates."""
        return int(self.rows.shape[1])

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        ids = ", ids" if self.ids is not None else ""
        columns = f", columns {', '.join(self.columns)}" if self.columns else ""
        return f"Embeddings({self.name}: {self.n_samples} × {self.n_features}{ids}{columns})"


@dataclass(frozen=True, slots=True, eq=False)
class SelectedRows:
    """A selection of another source's rows, in any order, gathered block by block."""

    source: Rows
    index: NDArray[np.intp]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of selected rows and of coordinates."""
        return len(self.index), int(self.source.shape[1])

    @property
    def dtype(self) -> Any:
        """Type of the source."""
        return self.source.dtype

    def __getitem__(self, key: slice) -> Any:
        wanted = self.index[key]
        if isinstance(self.source, np.ndarray):
            return self.source[wanted]
        # File readers support slices only: read runs of neighbouring rows in file order.
        order = np.argsort(wanted, kind="stable")
        ordered = wanted[order]
        breaks = np.flatnonzero(np.diff(ordered) > _GAP) + 1
        out = np.empty((len(wanted), self.shape[1]), dtype=self.dtype)
        for part in np.split(np.arange(len(ordered)), breaks):
            if len(part):
                first, last = int(ordered[part[0]]), int(ordered[part[-1]])
                out[order[part]] = self.source[first : last + 1][ordered[part] - first]
        return out


_GAP = 64
