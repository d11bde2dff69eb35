"""An affine map plus a smooth correction: a sum of Gaussian functions about centres."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.core.array_types import Float, Index
from upto.engines.threads import ThreadsEngine

if TYPE_CHECKING:
    from upto.alignment.maps import AffineMap
    from upto.engines.base import Arrays, Statistic

NO_INVERSE = "the fitted {} map is not affine and has no inverse: fit one in the other direction."


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KernelMap:
    """A fitted map: ``centred @ matrix + kernel @ coefficients + constant``.

    `centred` is a row minus `source_mean`, and `kernel` is
    ``exp(-squared_distance / (2 * bandwidth**2))`` to each of the `centres`. Far from all of them
    the map is affine.
    """

    source_mean: Float
    target_mean: Float
    constant: Float
    matrix: Float
    centres: Float
    coefficients: Float
    bandwidth: float

    def predict(self, rows: Any) -> Any:
        """Map rows in memory."""
        return predicted(self, rows)

    def block_function(self) -> tuple[Statistic, tuple[Any, ...]]:
        """Return the function of a block of rows, for passes, and its params."""
        around = kernel_params(self.centres - self.source_mean, self.bandwidth)
        return _mapped_block, (
            self.source_mean,
            self.constant,
            self.matrix,
            self.coefficients,
            *around,
        )

    def of_columns(self, places: Index) -> KernelMap:
        """Return the map of rows whose column i is the map's source coordinate ``places[i]``."""
        return replace(
            self,
            source_mean=self.source_mean[places],
            matrix=self.matrix[places],
            centres=self.centres[:, places],
        )

    def linear(self) -> None:
        """Return None: the map is not affine."""

    def exact_inverse(self) -> AffineMap:
        """Refuse: the map has no inverse in closed form.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError(NO_INVERSE.format("kernel"))


def predicted(fitted: Any, rows: Any) -> Any:
    """Map rows in memory, block by block: features of all rows may take more memory than they."""
    function, params = fitted.block_function()
    return ThreadsEngine().map_blocks(function, np.asarray(rows), params=params)


def kernel_params(centres: Float, bandwidth: float) -> tuple[Any, ...]:
    """Return what `kernel_of_block` needs: centres in units of distance, and their squares."""
    factor = float(1.0 / (np.sqrt(2.0) * bandwidth))
    scaled = centres * factor
    # As wide as the kernel: engines choose the rows of a block by the widest matrix.
    return np.ascontiguousarray(scaled.T), (scaled**2).sum(axis=1), factor


def kernel_of_block(xp: Any, centred: Any, centres: Any, squares: Any, factor: float) -> Any:
    """Return the Gaussian function of a block of rows about each centre."""
    scaled = centred * factor
    exponents = 2.0 * xp.matmul(scaled, centres) - squares
    exponents = exponents - xp.linalg.vecdot(scaled, scaled)[:, None]
    # Rounding of large squares may leave a positive number.
    return xp.exp(xp.where(exponents < 0, exponents, xp.zeros_like(exponents)))


def _mapped_block(
    xp: Any,
    x: Any,
    source_mean: Any,
    constant: Any,
    matrix: Any,
    coefficients: Any,
    centres: Any,
    squares: Any,
    factor: float,
) -> Arrays:
    centred = x - source_mean
    kernel = kernel_of_block(xp, centred, centres, squares, factor)
    return (xp.matmul(centred, matrix) + xp.matmul(kernel, coefficients) + constant,)
