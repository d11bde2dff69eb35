"""Components residualised on others within batch × label cells.

ICA leaves components slightly tilted: a batch component leans towards a label component. Among rows
of the same batch and label the tilt appears as a correlation, so it can be removed without touching
the component's own signal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from upto.core import Rows
    from upto.core.array_types import Float


_BLOCK_BYTES = 2**25


class UprightRows:
    """Some components, each residualised on others within cells.

    Parameters
    ----------
    components
        All components, as an array or any object that can be sliced into blocks of rows.
    some, others
        Indices of the components to residualise, and of the regressors.
    cell
        Cell of each row.
    """

    def __init__(
        self, components: Rows, some: Sequence[int], others: Sequence[int], cell: NDArray[np.intp]
    ) -> None:
        self.shape = (int(components.shape[0]), len(some))
        self.dtype = np.dtype(np.float64)
        self._components, self._some, self._others = components, list(some), list(others)
        self._slopes = self._regressed(cell)

    def __getitem__(self, key: slice) -> Float:
        block = np.asarray(self._components[key], dtype=np.float64)
        return block[:, self._some] - block[:, self._others] @ self._slopes

    def _regressed(self, cell: NDArray[np.intp]) -> Float:
        columns = self._others + self._some
        n_cells = int(cell.max()) + 1
        count = np.bincount(cell, minlength=n_cells).astype(np.float64)
        sums, products = np.zeros((n_cells, len(columns))), np.zeros((len(columns), len(columns)))
        centre: Float | None = None
        for part, block in self._blocks(columns):
            if centre is None:
                centre = block.mean(axis=0)
            block -= centre
            for place, column in enumerate(block.T):
                sums[:, place] += np.bincount(cell[part], weights=column, minlength=n_cells)
            products += block.T @ block
        products -= sums.T @ (sums / count[:, None])
        n_others = len(self._others)
        return (
            np.linalg.pinv(products[:n_others, :n_others], hermitian=True)
            @ (products[:n_others, n_others:])
        )

    def _blocks(self, columns: list[int]) -> Iterator[tuple[slice, Float]]:
        size = max(1, _BLOCK_BYTES // (8 * int(self._components.shape[1])))
        for start in range(0, self.shape[0], size):
            part = slice(start, min(start + size, self.shape[0]))
            yield part, np.array(self._components[part], dtype=np.float64)[:, columns]
