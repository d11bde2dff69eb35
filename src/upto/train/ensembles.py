"""Trained members side by side: what they encode, decode and how much their decoders stretch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError
from upto.engines.feeding import host_array, load_torch
from upto.train.networks import Network
from upto.train.stiefel import orthonormality_defect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Float = NDArray[np.float64]

_BLOCK_VALUES = 2**27
"""Numbers of the widest layer, of all members, that are computed together."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ensemble:
    """Members of one network, each with its own parameters.

    Parameters
    ----------
    network
        What each of them is.
    parameters
        Tensors with the members first, by name.
    leaks
        The leak of each member's rectifiers.
    seeds
        The seed of each.
    losses
        Mean squared error of each epoch and member; NaN once a member has stopped.
    epochs
        How many epochs each was trained.
    worst_defect
        How far each member's layers ever were from orthogonal at the end of an epoch, as the
        Frobenius norm of WᵀW - 1; zero where they are not orthogonal.
    """

    network: Network
    parameters: dict[str, Any]
    leaks: Float
    seeds: tuple[int, ...]
    losses: Float
    epochs: NDArray[np.int64]
    worst_defect: Float

    def __len__(self) -> int:
        return len(self.seeds)

    def select(self, members: Sequence[int] | NDArray[np.intp]) -> Ensemble:
        """Return some of the members."""
        chosen = np.asarray(members, dtype=np.intp)
        index = load_torch().as_tensor(chosen, device=self._weight.device)
        return Ensemble(
            network=self.network,
            parameters={name: values[index] for name, values in self.parameters.items()},
            leaks=self.leaks[chosen],
            seeds=tuple(self.seeds[each] for each in chosen),
            losses=self.losses[:, chosen],
            epochs=self.epochs[chosen],
            worst_defect=self.worst_defect[chosen],
        )

    def outputs(self, rows: Any) -> Float:
        """Return what every member makes of the rows: members × rows × outputs."""
        return self._joined(rows, 0, self.network.n_layers)

    def encode(self, rows: Any) -> Float:
        """Return every member's code of the rows: members × rows × code."""
        return self._joined(rows, 0, self._code())

    def decode(self, codes: Any) -> Float:
        """Return what every member's decoder makes of codes: members × rows × outputs."""
        return self._joined(codes, self._code(), self.network.n_layers)

    def errors(self, rows: Any, targets: Any | None = None) -> Float:
        """Return each member's mean squared error; the targets are the rows by default."""
        torch = load_torch()
        goal = self._placed(rows if targets is None else targets)
        total = torch.zeros(len(self), dtype=torch.float64, device=self._weight.device)
        with torch.no_grad():
            for block, part in self._blocks(rows, self.network.widths[0]):
                made = self.network.run(self.parameters, self._leaks, part)
                total += (made - goal[:, block]).square().sum((1, 2), dtype=torch.float64)
        errors: Float = host_array(total) / (goal.shape[1] * goal.shape[2])
        return errors

    def decoder_grams(self, codes: Any) -> Float:
        """Return JᵀJ of every member's decoder at codes: members × rows × code × code.

        The Jacobian of a leaky network is a product of its weights, so this is exact. Its
        eigenvalues are the squared singular values, and vᵀJᵀJv is the squared stretch of v.
        """
        torch = load_torch()
        network, first = self.network, self._code()
        n_code = network.widths[first]
        parts = []
        double = {name: values.to(torch.float64) for name, values in self.parameters.items()}
        leaks = self._leaks.to(torch.float64)
        with torch.no_grad():
            for _, part in self._blocks(codes, n_code, n_copies=n_code):
                jacobians = network.jacobians(
                    double, leaks, part.to(torch.float64), first=first, last=network.n_layers
                )
                parts.append(host_array(jacobians @ jacobians.mT))
        grams: Float = np.concatenate(parts, axis=1)
        return grams

    def orthogonality(self) -> Float:
        """Return each member's largest distance of a layer from orthogonal, as it is now."""
        torch = load_torch()
        if not self.network.orthogonal:
            return np.zeros(len(self))
        defects = [
            orthonormality_defect(values)
            for name, values in self.parameters.items()
            if name.endswith(".weight")
        ]
        worst: Float = host_array(torch.stack(defects).amax(0))
        return worst

    @property
    def _weight(self) -> Any:
        return self.parameters["0.weight"]

    @property
    def _leaks(self) -> Any:
        weight = self._weight
        leaks = load_torch().as_tensor(self.leaks, dtype=weight.dtype, device=weight.device)
        return leaks[:, None, None]

    def _code(self) -> int:
        if self.network.code is None:
            message = "this network has no code: describe it with Network.autoencoder."
            raise InputError(message)
        return self.network.code

    def _placed(self, rows: Any) -> Any:
        torch, weight = load_torch(), self._weight
        if not torch.is_tensor(rows):
            # A copy in this type is one torch can read, however the rows lie in memory.
            rows = torch.tensor(np.array(rows, str(weight.dtype).removeprefix("torch."), order="C"))
        placed = rows.to(weight)
        # Rows are either the same for all members or each member's own.
        if placed.ndim == 2:
            placed = placed[None].expand(len(self), -1, -1)
        if placed.ndim != 3 or len(placed) != len(self):
            shape = " × ".join(map(str, placed.shape))
            message = (
                f"rows of {len(self)} members are rows × values, or {len(self)} × rows × values, "
                f"not {shape}."
            )
            raise InputError(message)
        return placed

    def _blocks(self, rows: Any, width: int, n_copies: int = 1) -> Iterator[tuple[slice, Any]]:
        placed = self._placed(rows)
        if placed.shape[2] != width:
            message = f"the rows have {placed.shape[2]} values, the layer takes {width}."
            raise InputError(message)
        length = max(1, _BLOCK_VALUES // (len(self) * max(self.network.widths) * n_copies))
        for start in range(0, placed.shape[1], length):
            block = slice(start, start + length)
            yield block, placed[:, block]

    def _joined(self, rows: Any, first: int, last: int) -> Float:
        torch = load_torch()
        with torch.no_grad():
            parts = [
                host_array(
                    self.network.run(self.parameters, self._leaks, part, first=first, last=last)
                )
                for _, part in self._blocks(rows, self.network.widths[first])
            ]
        joined: Float = np.concatenate(parts, axis=1).astype(np.float64)
        return joined
