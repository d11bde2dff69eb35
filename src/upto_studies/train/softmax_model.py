"""Models p(y | x) ∝ exp(f(x)·g(y)), evaluated for many members at once.

This is the family of Roeder et al. 2021: f is a network, and g is a table of class vectors or a
network of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, random_stream
from upto.engines.device_rows import load_torch
from upto_studies.train.networks import Network, Parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

_FIRST_OUTPUTS = 0.1
"""Factor of the last layers of two networks, so that they start from about equal probabilities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftmaxModel:
    """The two sides of a model.

    Parameters
    ----------
    f
        Network of x, with rectifiers between its layers.
    g
        Network of y, or the number of classes, each with a vector of its own.
    first_vectors
        Standard deviation of the first class vectors, over the root of their length. Near zero,
        the arrangement of the classes is learned and not drawn.
    """

    f: Network
    g: Network | int
    first_vectors: float = 0.01

    def __post_init__(self) -> None:
        if isinstance(self.g, Network) and self.g.widths[-1] != self.width:
            message = (
                f"f has {self.width} outputs and g {self.g.widths[-1]}, so they have no product: "
                "give both the same number."
            )
            raise InputError(message)

    @property
    def width(self) -> int:
        """Number of outputs of f."""
        return self.f.widths[-1]

    def initial(self, seeds: Sequence[int]) -> Parameters:
        """Draw the initial parameters of one member per seed, on the CPU."""
        parameters = {f"f.{name}": values for name, values in self.f.initial(seeds).items()}
        if isinstance(self.g, Network):
            # Networks of the same shape must not start as the same function.
            others = [int(random_stream(seed, "g").integers(2**31)) for seed in seeds]
            drawn = self.g.initial(others)
            parameters |= {f"g.{name}": values for name, values in drawn.items()}
            for side, network in (("f", self.f), ("g", self.g)):
                parameters[f"{side}.{network.n_layers - 1}.weight"] *= _FIRST_OUTPUTS
            return parameters
        vectors = np.stack(
            [
                random_stream(seed, "class vectors").standard_normal((self.g, self.width))
                for seed in seeds
            ]
        )
        torch = load_torch()
        table = torch.from_numpy(self.first_vectors / math.sqrt(self.width) * vectors)
        return parameters | {"g.table": table.to(torch.float32)}

    def is_learned(self, name: str) -> bool:
        """Return whether a parameter affects the probabilities, which no shift of g does.

        Adam would turn the rounding of a gradient that is zero into steps.
        """
        return not isinstance(self.g, Network) or name != f"g.{self.g.n_layers - 1}.bias"

    def f_of(self, parameters: Parameters, rows: Any) -> Any:
        """Apply f to rows (members × rows × values)."""
        return _applied(self.f, parameters, "f.", rows)

    def g_of(self, parameters: Parameters, rows: Any) -> Any:
        """Apply g to rows, or return the class vectors of every member."""
        if isinstance(self.g, Network):
            return _applied(self.g, parameters, "g.", rows)
        return parameters["g.table"]

    def losses(self, parameters: Parameters, rows: Any, answers: Any) -> Any:
        """Return the mean cross-entropy of a batch, one per member.

        Parameters
        ----------
        parameters
            Of all members.
        rows
            Inputs of f, members × rows × values.
        answers
            Labels or probabilities of the classes; inputs of g that belong to the rows if g is a
            network, and then the others of the batch are the wrong answers.
        """
        torch = load_torch()
        scores = torch.bmm(self.f_of(parameters, rows), self.g_of(parameters, answers).mT)
        if isinstance(self.g, Network):
            answers = torch.arange(scores.shape[1], device=scores.device)
            answers = answers.expand(scores.shape[0], -1)
        each = torch.nn.functional.cross_entropy(
            scores.flatten(0, 1), answers.flatten(0, 1), reduction="none"
        )
        return each.reshape(scores.shape[:2]).mean(1)


def _applied(network: Network, parameters: Parameters, prefix: str, rows: Any) -> Any:
    own = {
        name.removeprefix(prefix): values
        for name, values in parameters.items()
        if name.startswith(prefix)
    }
    return network.run(own, rows.new_zeros(rows.shape[0]), rows)
