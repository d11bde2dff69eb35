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
    features
        Names of the coordinates; empty if they have none.

    See Also
    --------
    upto.as_embeddings : Make one of anything that upto takes.
    upto.read_run : Read one from a file.
    upto.files.match_rows : Select the samples that runs share.

    Examples
    --------
    >>> import numpy as np
    >>> import upto
    >>> rows = np.random.default_rng(0).normal(size=(4, 2))
    >>> run = upto.Embeddings(rows=rows, name="seed 0", ids=np.array(["a", "b", "c", "d"]))
    >>> run.n_samples, run.n_features
    (4, 2)
    """

    rows: Rows
    name: str = "run"
    ids: NDArray[Any] | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    layer: str | None = None
    seed: int | None = None
    origin: str | None = None
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # File names may contain bytes that are not UTF-8 and could not be written to a result.
        object.__setattr__(self, "name", spelt_out(self.name))
        try:
            shape, dtype = tuple(self.rows.shape), np.dtype(self.rows.dtype)
        except (AttributeError, TypeError):
            message = (
                f"the rows of {self.name} are of type {type(self.rows).__name__}, not an array: "
                "convert them with upto.as_embeddings."
            )
            raise InputError(message) from None
        if dtype.names:
            message = (
                f"{self.name} contains records of {', '.join(dtype.names)}: convert them to a "
                "matrix, e.g. by numpy.lib.recfunctions.structured_to_unstructured."
            )
            raise InputError(message)
        if len(shape) != 2:
            count = f"{len(shape)} dimension{'' if len(shape) == 1 else 's'}"
            remedy = "flatten or pool the others first" if len(shape) > 2 else "pass a matrix"
            message = (
                f"{self.name} has {count}, its shape is {shape}, but embeddings have two (one row "
                f"per sample): {remedy}."
            )
            raise InputError(message)
        if 0 in shape:
            message = f"{self.name} is empty: its shape is {shape}."
            raise InputError(message)
        if dtype.kind not in "fiub":
            message = f"{self.name} contains {dtype} values, not real numbers: {_remedy(dtype)}."
            raise InputError(message)
        for name, column in {"ids": self.ids, **self.columns}.items():
            if column is not None and len(column) != self.n_samples:
                message = (
                    f"{name!r} has {len(column)} values but {self.name} has {self.n_samples} rows: "
                    "pass one value per row."
                )
                raise InputError(message)

        if self.features and len(self.features) != self.n_features:
            message = (
                f"{self.name} has {len(self.features)} names for {self.n_features} coordinates: "
                "pass one name per coordinate."
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

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        # Readers of files return their rows as an array only block by block.
        rows = self.rows if isinstance(self.rows, np.ndarray) else self.rows[: self.n_samples]
        return np.array(rows, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        ids = ", ids" if self.ids is not None else ""
        columns = f", columns {', '.join(self.columns)}" if self.columns else ""
        return f"Embeddings({self.name}: {self.n_samples} × {self.n_features}{ids}{columns})"


def _remedy(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "c":
        return "take the real part, or put the real and imaginary parts side by side"
    if dtype.kind in "mM":
        return "convert the times to numbers, e.g. days since the first"
    return "choose the numeric array or columns, or convert them first"


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
