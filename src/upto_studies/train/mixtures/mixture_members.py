"""Trained variational autoencoders: codes, components and decoders of every member."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import msgspec
import numpy as np

from upto.core import InputError, read_tensors, write_tensors
from upto.core.array_types import Float
from upto.engines.device import float32_products
from upto.engines.device_rows import host_array, load_torch
from upto.measures import Mixture
from upto_studies.train.arguments import checked_device, checked_rows
from upto_studies.train.mixtures.hashed_noise import HashedNoise
from upto_studies.train.mixtures.mixture_models import MixtureModel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

_BLOCK_ROWS = 2048
"""Rows of one pass without gradients."""
_LIVING_SHARE = 0.1
"""A component lives if it has this share of the rows that an equal one would have."""
_PARAMETERS = "parameters."
_CURVES = ("losses", "pretraining_losses")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MixtureMembers:
    """Members of one model.

    Parameters
    ----------
    model
        Model of each member.
    parameters
        Tensors by name, with members on the first axis.
    seeds
        Seed of each member.
    losses
        Negative evidence lower bound of each epoch and member, in nats per row.
    pretraining_losses
        Mean squared error of the reconstructions in pre-training, likewise.
    """

    model: MixtureModel
    parameters: dict[str, Any]
    seeds: tuple[int, ...]
    losses: Float
    pretraining_losses: Float

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """Mask of members with numbers that are not finite, whose outputs are meaningless."""
        torch = load_torch()
        finite = [each.isfinite().flatten(1).all(1) for each in self.parameters.values()]
        bad: NDArray[np.bool_] = ~host_array(torch.stack(finite).all(0))
        # A loss may overflow where its gradient does not.
        losses = np.concatenate([self.pretraining_losses, self.losses])
        found: NDArray[np.bool_] = bad | ~np.isfinite(losses).all(axis=0)
        return found

    def codes(self, rows: Any, labels: Any = None) -> Float:
        """Return the means of the posteriors: members × rows × latents."""
        return self._over_blocks(rows, labels, lambda hidden, *_: self.model.prior.codes(hidden))

    def samples(self, rows: Any, labels: Any = None) -> Float:
        """Draw a latent of each row from its posterior: members × rows × latents.

        If the model has learned the law of the rows, samples have the law of the prior; codes,
        which are means, do not. The noise comes from a member's own seed.
        """
        shape = (len(rows), self.model.n_latents)
        noise = HashedNoise(self.seeds, *shape, self._device, "samples").normal(0)
        drawn = HashedNoise(self.seeds, len(rows), 1, self._device, "choices").uniform(0)

        def sample(hidden: Any, block: slice, _: Any, known: Any) -> Any:
            found = self.model.prior.posterior(self.parameters, hidden, noise[:, block], known)
            below = found.shares.cumsum(1) < drawn[:, None, block, 0]
            # Rounding must not choose beyond the last.
            chosen = below.sum(1, keepdim=True).clamp_max(found.shares.shape[1] - 1)
            places = chosen[..., None].expand(-1, -1, -1, found.samples.shape[-1])
            return found.samples.gather(1, places)[:, 0]

        return self._over_blocks(rows, labels, sample)

    def responsibilities(self, rows: Any, labels: Any = None) -> Float:
        """Return the probability of each component: members × rows × components."""
        prior = self.model.prior
        return self._over_blocks(
            rows,
            labels,
            lambda hidden, *_: prior.log_responsibilities(self.parameters, hidden).exp(),
        )

    def clusters(self, rows: Any, labels: Any = None) -> NDArray[np.intp]:
        """Return the most probable component of each row: members × rows."""
        found: NDArray[np.intp] = self.responsibilities(rows, labels).argmax(axis=2)
        return found

    def living(self, rows: Any, labels: Any = None) -> NDArray[np.intp]:
        """Return the number of components of each member with a tenth of an equal share of rows."""
        shares = self.responsibilities(rows, labels).mean(axis=1)
        found: NDArray[np.intp] = (shares > _LIVING_SHARE / self.model.n_components).sum(axis=1)
        return found

    def negative_bounds(self, rows: Any, labels: Any = None) -> Float:
        """Return each member's negative evidence lower bound, the mean over rows in nats."""
        noise = HashedNoise(self.seeds, len(rows), self.model.n_latents, self._device).normal(0)
        found = self._over_blocks(
            rows,
            labels,
            lambda hidden, block, part, known: _negative_bound(
                self.model, self.parameters, part, hidden, noise[:, block], known
            )[..., None],
        )
        means: Float = found[..., 0].mean(axis=1)
        return means

    def decode(self, codes: Any) -> Float:
        """Return the means of the rows of codes: members × rows × values."""
        torch = load_torch()
        placed = torch.as_tensor(np.asarray(codes, np.float32), device=self._device)
        if placed.ndim == 2:
            placed = placed.expand(len(self), *placed.shape)
        with torch.no_grad(), float32_products(allow_tf32=False):
            made = decoded(self.model, self.parameters, placed)
            found: Float = host_array(mean_of(self.model, made)).astype(np.float64)
        return found

    def decoder(self, member: int) -> Any:
        """Return one member's decoder as a torch module of linear layers and rectifiers."""
        if not -len(self) <= member < len(self):
            message = f"there is no member {member} of {len(self)}: indices start at 0."
            raise InputError(message)
        network = self.model.decoder
        own = part_of(self.parameters, "decoder")
        return network.module(own, member, self.model.leak, first=0, last=network.n_layers)

    def mixture(self, member: int) -> Mixture:
        """Return the prior of one member, for `upto.measures.affine_l2_distance` and others.

        Labels of an iVAE are taken as equally frequent; components of no weight are left out.
        """
        torch = load_torch()
        with torch.no_grad():
            parts = [
                host_array(each[member]).astype(np.float64)
                for each in self.model.prior.components(self.parameters)
            ]
        weights = np.exp(parts[0])
        kept = weights > 0
        return Mixture(
            weights=weights[kept] / weights[kept].sum(),
            means=parts[1][kept],
            covariances=np.stack([np.diag(each) for each in np.exp(parts[2][kept])]),
        )

    def save(self, path: str | Path) -> None:
        """Write the members to a safetensors file, without code."""
        arrays = {
            f"{_PARAMETERS}{name}": host_array(each) for name, each in self.parameters.items()
        }
        words = {
            "mixture model": msgspec.json.encode(self.model).decode(),
            "seeds": " ".join(map(str, self.seeds)),
        }
        write_tensors(path, arrays | {name: getattr(self, name) for name in _CURVES}, words)

    @classmethod
    def load(cls, path: str | Path, device: str = "cpu") -> Self:
        """Read the members that `save` wrote.

        Raises
        ------
        InputError
            If the file cannot be read, or is incomplete.
        """
        torch, chosen = load_torch(), checked_device(device)
        arrays, words = read_tensors(path)
        try:
            model = msgspec.json.decode(words["mixture model"], type=MixtureModel)
            seeds = tuple(map(int, words["seeds"].split()))
            shapes = {k: tuple(each.shape) for k, each in model.initial(seeds).items()}
            parameters = {
                name: torch.as_tensor(arrays[f"{_PARAMETERS}{name}"], device=chosen)
                for name in shapes
            }
            curves = {name: arrays[name] for name in _CURVES}
        except (KeyError, ValueError, msgspec.MsgspecError):
            message = f"{path} does not contain these models: write them with the method save."
            raise InputError(message) from None
        if {name: tuple(each.shape) for name, each in parameters.items()} != shapes:
            message = f"{path} is damaged: its arrays are not those of {len(seeds)} members."
            raise InputError(message)
        return cls(model=model, parameters=parameters, seeds=seeds, **curves)

    @property
    def _device(self) -> Any:
        return self.parameters["decoder.0.weight"].device

    def _over_blocks(self, rows: Any, labels: Any, function: Callable[..., Any]) -> Float:
        torch = load_torch()
        placed = PlacedRows(self.model, rows, labels, self._device)
        with torch.no_grad(), float32_products(allow_tf32=False):
            parts = [
                host_array(function(encoded(self.model, self.parameters, part, known), *rest))
                for part, known, *rest in self._blocks(placed)
            ]
        joined: Float = np.concatenate(parts, axis=1).astype(np.float64)
        return joined

    def _blocks(self, placed: PlacedRows) -> Iterator[tuple[Any, Any, slice, Any, Any]]:
        for start in range(0, len(placed), _BLOCK_ROWS):
            block = slice(start, start + _BLOCK_ROWS)
            part = placed.rows[block].expand(len(self), -1, -1)
            known = None if placed.labels is None else placed.labels[block]
            known = None if known is None else known.expand(len(self), -1, -1)
            yield part, known, block, part, known


class PlacedRows:
    """Rows, and labels in one-hot form, on a device.

    Parameters
    ----------
    model
        Model that takes them.
    rows
        Rows of its width; from 0 to 1 for a Bernoulli likelihood.
    labels
        Labels from 0, one per row; None if the model takes none.
    device
        The device.

    Raises
    ------
    InputError
        If the rows or labels do not suit the model.
    """

    def __init__(self, model: MixtureModel, rows: Any, labels: Any, device: Any) -> None:
        torch = load_torch()
        host = checked_rows("rows", rows, model.widths[0])
        if model.likelihood == "bernoulli" and (host.min() < 0 or host.max() > 1):
            message = (
                f"the rows are from {host.min():g} to {host.max():g}: a Bernoulli likelihood needs "
                "values from 0 to 1."
            )
            raise InputError(message)
        self.host = host.astype(np.float32, copy=False)
        self.rows = torch.as_tensor(self.host, device=device)
        self.labels = self.known = None
        if model.takes_labels:
            self.known = _checked_labels(labels, len(host), model.n_components)
            table = torch.eye(model.n_components, device=device)
            self.labels = table[torch.as_tensor(self.known, device=device)]

    def __len__(self) -> int:
        return len(self.host)


def _checked_labels(labels: Any, n_rows: int, n_labels: int) -> NDArray[np.int64]:
    if labels is None:
        message = "an iVAE needs the label of every row: pass labels."
        raise InputError(message)
    given = np.asarray(labels)
    if given.shape != (n_rows,) or given.dtype.kind not in "iu":
        message = f"{n_rows} rows need as many integer labels, from 0 to {n_labels - 1}."
        raise InputError(message)
    if given.min() < 0 or given.max() >= n_labels:
        message = (
            f"the labels are from {given.min()} to {given.max()}: give numbers from 0 to "
            f"{n_labels - 1}."
        )
        raise InputError(message)
    return given.astype(np.int64)


def part_of(parameters: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the parameters of one network by their own names."""
    return {
        key.removeprefix(f"{name}."): values
        for key, values in parameters.items()
        if key.startswith(f"{name}.")
    }


def encoded(model: MixtureModel, parameters: dict[str, Any], rows: Any, labels: Any) -> Any:
    """Return the outputs of the encoder."""
    given = rows if labels is None else load_torch().cat([rows, labels], dim=2)
    leaks = _leaks(model, rows)
    return model.encoder.run(part_of(parameters, "encoder"), leaks, given)


def decoded(model: MixtureModel, parameters: dict[str, Any], codes: Any) -> Any:
    """Return the outputs of the decoder: means, or logits."""
    return model.decoder.run(part_of(parameters, "decoder"), _leaks(model, codes), codes)


def mean_of(model: MixtureModel, made: Any) -> Any:
    """Return the mean of a row from the outputs of the decoder."""
    return made if model.likelihood == "gaussian" else made.sigmoid()


def negative_log_likelihood(model: MixtureModel, made: Any, rows: Any) -> Any:
    """Return the negative log-likelihood of rows in nats, summed over their values."""
    torch = load_torch()
    if model.likelihood == "bernoulli":
        # softplus(l) - x l, without the detour of the general loss over weights and reductions.
        return (torch.nn.functional.softplus(made) - rows * made).sum(-1)
    constant = made.shape[-1] * math.log(model.deviation * math.sqrt(2.0 * math.pi))
    return 0.5 * ((made - rows) / model.deviation).square().sum(-1) + constant


def negative_bound(
    model: MixtureModel, parameters: dict[str, Any], rows: Any, noise: Any, labels: Any
) -> Any:
    """Return the negative evidence lower bound of each row: members × rows."""
    hidden = encoded(model, parameters, rows, labels)
    return _negative_bound(model, parameters, rows, hidden, noise, labels)


def _negative_bound(
    model: MixtureModel, parameters: dict[str, Any], rows: Any, hidden: Any, noise: Any, labels: Any
) -> Any:
    found = model.prior.posterior(parameters, hidden, noise, labels)
    n_choices, n_rows = found.samples.shape[1:3]
    # Choices are rows of the decoder, so that one product serves all of them.
    made = decoded(model, parameters, found.samples.flatten(1, 2)).unflatten(1, (n_choices, n_rows))
    price = negative_log_likelihood(model, made, rows[:, None])
    return (found.shares * price).sum(1) + found.divergence


def _leaks(model: MixtureModel, rows: Any) -> Any:
    return load_torch().full((len(rows), 1, 1), model.leak, dtype=rows.dtype, device=rows.device)
