"""Ensembles of trained members: their codes, outputs and decoder Jacobians."""

from __future__ import annotations

from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, read_tensors, write_tensors
from upto.core.array_types import Float
from upto.engines.device_rows import host_array, load_torch
from upto_studies.train.arguments import checked_device
from upto_studies.train.networks import Network
from upto_studies.train.schedules import StoppedBy
from upto_studies.train.stiefel import orthonormality_defect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


_BLOCK_VALUES = 2**27
"""Values of the widest layer, over all members, that are computed together."""
_PARAMETERS = "parameters."
_NUMBERS = ("leaks", "losses", "epochs", "worst_defect")
"""Arrays stored in a file in addition to the parameters, the network and the seeds."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Ensemble:
    """Members of one network, each with its own parameters.

    Parameters
    ----------
    network
        Architecture of each member.
    parameters
        Tensors by name, with members on the first axis.
    leaks
        Leak of each member's rectifiers.
    seeds
        Seed of each member.
    losses
        Mean squared error of each epoch and member; NaN once a member has stopped or diverged.
    epochs
        Number of epochs of each member.
    worst_defect
        Largest deviation of each member's layers from orthogonality at the end of any epoch, as
        the Frobenius norm of WᵀW - 1; zero for networks without orthogonal layers.
    stopped_by
        Reason why each stopped: ``"patience"``, ``"limit"`` of its epochs, or ``"divergence"``.
    """

    network: Network
    parameters: dict[str, Any]
    leaks: Float
    seeds: tuple[int, ...]
    losses: Float
    epochs: NDArray[np.int64]
    worst_defect: Float
    stopped_by: tuple[StoppedBy, ...]

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """Mask of members with non-finite numbers, whose outputs are meaningless."""
        return np.array([each == "divergence" for each in self.stopped_by], dtype=bool)

    def select(self, members: Sequence[int] | NDArray[np.intp]) -> Ensemble:
        """Return a subset of the members."""
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
            stopped_by=tuple(self.stopped_by[each] for each in chosen),
        )

    def encoder(self, member: int) -> Any:
        """Return one member's encoder as a torch module of linear layers and rectifiers."""
        return self._module(member, 0, self._code())

    def decoder(self, member: int) -> Any:
        """Return one member's decoder as a torch module of linear layers and rectifiers.

        It works wherever a decoder does: ``upto.lipschitz(codes, decoder=ensemble.decoder(0))``.
        """
        return self._module(member, self._code(), self.network.n_layers)

    def save(self, path: str | Path) -> None:
        """Write the members to a safetensors file, without code."""
        arrays = {
            f"{_PARAMETERS}{name}": host_array(values) for name, values in self.parameters.items()
        }
        arrays |= {name: getattr(self, name) for name in _NUMBERS}
        words = {
            # A width taken from an array is a NumPy scalar.
            "network": msgspec.json.encode(self.network, enc_hook=methodcaller("item")).decode(),
            "seeds": " ".join(map(str, self.seeds)),
            "stopped by": msgspec.json.encode(self.stopped_by).decode(),
        }
        write_tensors(path, arrays, words)

    @classmethod
    def load(cls, path: str | Path, device: str = "cpu") -> Self:
        """Read the members that `save` wrote.

        Parameters
        ----------
        path
            The file.
        device
            ``"cpu"`` or a CUDA device.

        Raises
        ------
        InputError
            If the file cannot be read, or is incomplete.
        """
        arrays, words = read_tensors(path)
        try:
            network = msgspec.json.decode(words["network"], type=Network)
            seeds = tuple(map(int, words["seeds"].split()))
            stopped_by = msgspec.json.decode(words["stopped by"], type=tuple[StoppedBy, ...])
        except (KeyError, ValueError, msgspec.MsgspecError):
            message = f"{path} does not contain an ensemble: write one with its method save."
            raise InputError(message) from None
        n_members = len(seeds)
        shapes = {f"{_PARAMETERS}{k}": shape for k, shape in network.shapes(n_members).items()}
        shapes |= dict.fromkeys(_NUMBERS, (n_members,))
        shapes["losses"] = (arrays["losses"].shape[0] if "losses" in arrays else 0, n_members)
        kinds = {each.dtype.name for name, each in arrays.items() if name.startswith(_PARAMETERS)}
        if (
            len(stopped_by) != n_members
            or {name: each.shape for name, each in arrays.items()} != shapes
            or kinds not in ({"float32"}, {"float64"})
        ):
            message = f"{path} is damaged: its arrays are not those of {n_members} members."
            raise InputError(message)
        torch, chosen = load_torch(), checked_device(device)
        return cls(
            network=network,
            parameters={
                name: torch.as_tensor(arrays[f"{_PARAMETERS}{name}"], device=chosen)
                for name in network.shapes(n_members)
            },
            seeds=seeds,
            stopped_by=stopped_by,
            **{name: arrays[name] for name in _NUMBERS},
        )

    def outputs(self, rows: Any) -> Float:
        """Return the outputs of every member: members × rows × outputs."""
        return self._joined(rows, 0, self.network.n_layers)

    def encode(self, rows: Any) -> Float:
        """Return the codes of every member: members × rows × code."""
        return self._joined(rows, 0, self._code())

    def decode(self, codes: Any) -> Float:
        """Return the decoder outputs of every member: members × rows × outputs."""
        return self._joined(codes, self._code(), self.network.n_layers)

    def errors(self, rows: Any, targets: Any | None = None) -> Float:
        """Return each member's mean squared error; the targets are the rows by default."""
        torch = load_torch()
        n_in, n_out = self.network.widths[0], self.network.widths[-1]
        if targets is None and n_in != n_out:
            message = f"the network returns {n_out} values from {n_in}: pass the targets."
            raise InputError(message)
        rows = self._placed(rows)
        goal = rows if targets is None else self._placed(targets)
        if goal.shape != (len(self), rows.shape[1], n_out) or rows.shape[1] == 0:
            message = (
                f"{rows.shape[1]} rows have {goal.shape[1]} targets of {goal.shape[2]} values: "
                f"pass a target of {n_out} values per row."
            )
            raise InputError(message)
        total = torch.zeros(len(self), dtype=torch.float64, device=self._weight.device)
        with torch.no_grad():
            for block, part in self._blocks(rows, self.network.widths[0]):
                made = self.network.run(self.parameters, self._leaks, part)
                total += (made - goal[:, block]).square().sum((1, 2), dtype=torch.float64)
        errors: Float = host_array(total) / (goal.shape[1] * goal.shape[2])
        return errors

    def decoder_jacobians(self, codes: Any) -> Iterator[tuple[slice, Any]]:
        """Yield the transposed Jacobians of all decoders at codes, with the slice of rows.

        They are float64 tensors, members × rows × code × outputs, in blocks that fit into memory.
        The Jacobian of a leaky network is a product of its weights, so this is exact.
        """
        torch = load_torch()
        network, first = self.network, self._code()
        n_code = network.widths[first]
        double = {name: values.to(torch.float64) for name, values in self.parameters.items()}
        leaks = self._leaks.to(torch.float64)
        for block, part in self._blocks(codes, n_code, n_copies=n_code):
            with torch.no_grad():
                found = network.jacobians(
                    double, leaks, part.to(torch.float64), first=first, last=network.n_layers
                )
            yield block, found

    def orthogonality(self) -> Float:
        """Return each member's current largest deviation of a layer from orthogonality."""
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

    def _module(self, member: int, first: int, last: int) -> Any:
        if not -len(self) <= member < len(self):
            message = f"there is no member {member} of {len(self)}: indices start at 0."
            raise InputError(message)
        leak = float(self.leaks[member])
        return self.network.module(self.parameters, member, leak, first=first, last=last)

    def _placed(self, rows: Any) -> Any:
        torch, weight = load_torch(), self._weight
        if not torch.is_tensor(rows):
            # Torch can read a copy in this dtype, whatever the memory layout of the rows.
            rows = torch.tensor(np.array(rows, str(weight.dtype).removeprefix("torch."), order="C"))
        placed = rows.to(weight)
        # Rows are either shared by all members or specific to each member.
        if placed.ndim == 2:
            placed = placed[None].expand(len(self), -1, -1)
        if placed.ndim != 3 or len(placed) != len(self):
            shape = " × ".join(map(str, placed.shape))
            message = (
                f"rows of {len(self)} members have shape rows × values, or {len(self)} × rows × "
                f"values, not {shape}."
            )
            raise InputError(message)
        return placed

    def _blocks(self, rows: Any, width: int, n_copies: int = 1) -> Iterator[tuple[slice, Any]]:
        placed = self._placed(rows)
        if placed.shape[2] != width:
            message = f"the rows have {placed.shape[2]} values, but the layer takes {width}."
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
