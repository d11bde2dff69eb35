"""An affine map plus the output of a network with one hidden layer, applied without torch."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from upto.alignment.kernel_map import NO_INVERSE, predicted
from upto.core import InputError
from upto.core.array_types import Float, Index

if TYPE_CHECKING:
    from upto.alignment.maps import AffineMap
    from upto.engines.base import Arrays, Statistic


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NetworkMap:
    """A fitted map: ``centred @ matrix + gelu(hidden) @ output_weights + constant``.

    `centred` is a row minus `source_mean`, `hidden` is ``centred @ hidden_weights + hidden_bias``,
    and `gelu` is the usual approximation by a hyperbolic tangent.
    """

    source_mean: Float
    target_mean: Float
    constant: Float
    matrix: Float
    hidden_weights: Float
    hidden_bias: Float
    output_weights: Float

    def predict(self, rows: Any) -> Any:
        """Map rows in memory."""
        return predicted(self, rows)

    def block_function(self) -> tuple[Statistic, tuple[Any, ...]]:
        """Return the function of a block of rows, for passes, and its params."""
        return _mapped_block, (
            self.source_mean,
            self.constant,
            self.matrix,
            self.hidden_weights,
            self.hidden_bias,
            self.output_weights,
        )

    def of_columns(self, places: Index) -> NetworkMap:
        """Return the map of rows whose column i is the map's source coordinate ``places[i]``."""
        return replace(
            self,
            source_mean=self.source_mean[places],
            matrix=self.matrix[places],
            hidden_weights=self.hidden_weights[places],
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
        raise InputError(NO_INVERSE.format("network"))


_ROOT = math.sqrt(2.0 / math.pi)


def _mapped_block(
    xp: Any,
    x: Any,
    source_mean: Any,
    constant: Any,
    matrix: Any,
    hidden_weights: Any,
    hidden_bias: Any,
    output_weights: Any,
) -> Arrays:
    centred = x - source_mean
    hidden = xp.matmul(centred, hidden_weights) + hidden_bias
    active = (
        0.5 * hidden * (1.0 + xp.tanh(_ROOT * (hidden + 0.044715 * (hidden * hidden * hidden))))
    )
    return (xp.matmul(centred, matrix) + xp.matmul(active, output_weights) + constant,)
