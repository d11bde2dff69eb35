"""Priors of latents, with the posteriors that belong to them, of members side by side.

Parameters are tensors by name with a first axis of members; those of a prior start with
``"prior."``. The output of an encoder is members × rows × `LatentPrior.n_hidden`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from upto.core import random_stream
from upto.engines.device_rows import load_torch
from upto_studies.train.mixtures.components import (
    VARIANCE_FLOOR,
    fit_components,
    log_responsibilities,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from upto.core.array_types import Float
    from upto_studies.train.mixtures.mixture_models import MixtureModel

_SPREAD = 1.0
"""Standard deviation of the first means of components, where no fit gives them."""


class Posterior(NamedTuple):
    """Posterior of a batch.

    Parameters
    ----------
    samples
        Sampled latents: members × choices × rows × latents. There is one choice, or one for each
        component.
    shares
        Probability of each choice: members × choices × rows.
    divergence
        Divergence from the prior in nats: members × rows.
    """

    samples: Any
    shares: Any
    divergence: Any


class LatentPrior(ABC):
    """A prior of latents.

    Parameters
    ----------
    n_latents
        Number of latents.
    n_components
        Number of components.
    """

    def __init__(self, n_latents: int, n_components: int) -> None:
        self.n_latents, self.n_components = n_latents, n_components

    @property
    def n_hidden(self) -> int:
        """Number of outputs of the encoder."""
        return 2 * self.n_latents

    @property
    def width_outputs(self) -> slice | list[int]:
        """Outputs of the encoder that are log variances."""
        return slice(self.n_latents, None)

    @abstractmethod
    def initial(self, seeds: Sequence[int]) -> dict[str, Any]:
        """Draw the first parameters of the prior."""

    @abstractmethod
    def fitted(
        self, codes: Float, labels: NDArray[Any] | None, seeds: Sequence[int], n_starts: int
    ) -> dict[str, Float]:
        """Return the parameters of the prior that fit codes: members × rows × latents."""

    @abstractmethod
    def posterior(
        self, parameters: dict[str, Any], hidden: Any, noise: Any, labels: Any
    ) -> Posterior:
        """Return the posterior of a batch.

        Parameters
        ----------
        parameters
            Parameters of the members.
        hidden
            Outputs of the encoder.
        noise
            Standard normal numbers: members × rows × latents.
        labels
            Labels in one-hot form, members × rows × labels; None without.
        """

    def codes(self, hidden: Any) -> Any:
        """Return the mean of the posterior: members × rows × latents."""
        return hidden[:, :, : self.n_latents]

    @abstractmethod
    def components(self, parameters: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Return log weights, means and log variances of the components."""

    def log_responsibilities(self, parameters: dict[str, Any], hidden: Any) -> Any:
        """Return the log probability of each component: members × rows × components."""
        return log_responsibilities(self.codes(hidden), *self.components(parameters))

    def _normals(self, hidden: Any) -> tuple[Any, Any]:
        means, log_variances = hidden.chunk(2, dim=2)
        return means, floored(log_variances)


class StandardPrior(LatentPrior):
    """A standard normal."""

    def initial(self, seeds: Sequence[int]) -> dict[str, Any]:
        """Return nothing: there is nothing to learn."""
        return {}

    def fitted(
        self, codes: Float, labels: NDArray[Any] | None, seeds: Sequence[int], n_starts: int
    ) -> dict[str, Float]:
        """Return nothing: there is nothing to fit."""
        return {}

    def posterior(
        self, parameters: dict[str, Any], hidden: Any, noise: Any, labels: Any
    ) -> Posterior:
        """Return one sample and its divergence in closed form."""
        means, log_variances = self._normals(hidden)
        zero = load_torch().zeros_like(means)
        return _sampled(means, log_variances, noise, kl(means, log_variances, zero, zero))

    def components(self, parameters: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Return the only component."""
        torch = load_torch()
        weight = parameters["decoder.0.weight"]
        zero = torch.zeros((len(weight), 1, self.n_latents), device=weight.device)
        return zero[:, :, 0], zero, zero


class _Mixture(LatentPrior):
    """A mixture of normals with diagonal covariances and learned weights."""

    def initial(self, seeds: Sequence[int]) -> dict[str, Any]:
        """Draw means; weights are equal and variances one."""
        torch = load_torch()
        shape = (self.n_components, self.n_latents)
        means = [_SPREAD * random_stream(seed, "means").standard_normal(shape) for seed in seeds]
        return {
            "prior.logits": torch.zeros((len(seeds), self.n_components)),
            "prior.means": torch.tensor(np.stack(means), dtype=torch.float32),
            "prior.log_variances": torch.zeros((len(seeds), *shape)),
        }

    def fitted(
        self, codes: Float, labels: NDArray[Any] | None, seeds: Sequence[int], n_starts: int
    ) -> dict[str, Float]:
        """Fit a mixture to the codes of each member."""
        weights, means, variances = fit_components(
            codes, self.n_components, seeds, n_starts=n_starts
        )
        return {
            "prior.logits": np.log(np.maximum(weights, 1e-6)),
            "prior.means": means,
            "prior.log_variances": np.log(variances),
        }

    def components(self, parameters: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Return log weights, means and log variances, which are never below the floor."""
        return (
            parameters["prior.logits"].log_softmax(-1),
            parameters["prior.means"],
            floored(parameters["prior.log_variances"]),
        )


class VadePrior(_Mixture):
    """VaDE: the posterior of the component is that of the sampled latents (Jiang et al. 2017).

    The weight of a component enters its responsibility once; the authors' code raises it to the
    power of the number of latents.
    """

    def posterior(
        self, parameters: dict[str, Any], hidden: Any, noise: Any, labels: Any
    ) -> Posterior:
        """Return one sample and its divergence, summed over components."""
        torch = load_torch()
        own, log_variances = self._normals(hidden)
        log_weights, means, widths = self.components(parameters)
        samples = own + torch.exp(0.5 * log_variances) * noise
        logs = log_responsibilities(samples, log_weights, means, widths)
        shares = logs.exp()
        away = (own[:, :, None] - means[:, None]).square() + log_variances.exp()[:, :, None]
        cross = 0.5 * (widths[:, None] + away * torch.exp(-widths)[:, None]).sum(-1)
        entropy = 0.5 * (1.0 + log_variances).sum(-1)
        divergence = (shares * (cross + logs - log_weights[:, None])).sum(-1) - entropy
        return Posterior(samples[:, None], torch.ones_like(divergence)[:, None], divergence)


class GmvaePrior(_Mixture):
    """GMVAE: the encoder has a probability and a posterior for each component.

    The sum over components is exact, so every component is decoded.
    """

    @property
    def n_hidden(self) -> int:
        """Number of outputs of the encoder: logits, then means and log variances of each."""
        return self.n_components * (1 + 2 * self.n_latents)

    @property
    def width_outputs(self) -> slice | list[int]:
        """Outputs of the encoder that are log variances, those of one component after another."""
        return [
            self.n_components + (2 * component + 1) * self.n_latents + latent
            for component in range(self.n_components)
            for latent in range(self.n_latents)
        ]

    def posterior(
        self, parameters: dict[str, Any], hidden: Any, noise: Any, labels: Any
    ) -> Posterior:
        """Return one sample for each component, and the divergences weighted by probability."""
        torch = load_torch()
        logs, own, log_variances = self._parts(hidden)
        log_weights, means, widths = self.components(parameters)
        samples = own + torch.exp(0.5 * log_variances) * noise[:, :, None]
        each = kl(own, log_variances, means[:, None], widths[:, None])
        shares = logs.exp()
        divergence = (shares * (each + logs - log_weights[:, None])).sum(-1)
        return Posterior(samples.transpose(1, 2), shares.transpose(1, 2), divergence)

    def codes(self, hidden: Any) -> Any:
        """Return the mean of the posterior over all components."""
        logs, own, _ = self._parts(hidden)
        return (logs.exp()[..., None] * own).sum(2)

    def log_responsibilities(self, parameters: dict[str, Any], hidden: Any) -> Any:
        """Return the log probabilities of the encoder."""
        return self._parts(hidden)[0]

    def _parts(self, hidden: Any) -> tuple[Any, Any, Any]:
        logits, rest = hidden[:, :, : self.n_components], hidden[:, :, self.n_components :]
        own = rest.unflatten(2, (self.n_components, 2, self.n_latents))
        return logits.log_softmax(-1), own[:, :, :, 0], floored(own[:, :, :, 1])


class LabelPrior(LatentPrior):
    """IVAE: a normal for each label; without `moving`, its mean is zero."""

    def __init__(self, n_latents: int, n_components: int, *, moving: bool) -> None:
        super().__init__(n_latents, n_components)
        self.moving = moving

    def initial(self, seeds: Sequence[int]) -> dict[str, Any]:
        """Draw log variances, and means if they differ between labels."""
        torch = load_torch()
        shape = (self.n_components, self.n_latents)
        names = ["log_variances"] + ["means"] * self.moving
        return {
            f"prior.{name}": torch.tensor(
                np.stack(
                    [_SPREAD * random_stream(seed, name).standard_normal(shape) for seed in seeds]
                ),
                dtype=torch.float32,
            )
            for name in names
        }

    def fitted(
        self, codes: Float, labels: NDArray[Any] | None, seeds: Sequence[int], n_starts: int
    ) -> dict[str, Float]:
        """Return moments of the codes of each label."""
        groups = [codes[:, labels == label] for label in range(self.n_components)]
        means = np.stack([each.mean(1) for each in groups], axis=1)
        if not self.moving:
            means = np.zeros_like(means)
        variances = np.stack(
            [np.square(each - means[:, [k]]).mean(1) for k, each in enumerate(groups)], axis=1
        )
        found = {"prior.log_variances": np.log(np.maximum(variances, VARIANCE_FLOOR))}
        return found | ({"prior.means": means} if self.moving else {})

    def posterior(
        self, parameters: dict[str, Any], hidden: Any, noise: Any, labels: Any
    ) -> Posterior:
        """Return one sample and its divergence from the normal of its label."""
        torch = load_torch()
        own, log_variances = self._normals(hidden)
        _, means, widths = self.components(parameters)
        # One-hot labels pick a row of a small table.
        divergence = kl(own, log_variances, torch.bmm(labels, means), torch.bmm(labels, widths))
        return _sampled(own, log_variances, noise, divergence)

    def components(self, parameters: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Return equal log weights, means and log variances."""
        torch = load_torch()
        widths = floored(parameters["prior.log_variances"])
        means = parameters["prior.means"] if self.moving else torch.zeros_like(widths)
        log_weights = torch.full_like(widths[:, :, 0], -math.log(self.n_components))
        return log_weights, means, widths


def prior_of(model: MixtureModel) -> LatentPrior:
    """Return the prior of a model."""
    shape = (model.n_latents, model.n_components)
    if model.kind == "ivae":
        return LabelPrior(*shape, moving=not model.centred)
    if model.kind == "vae":
        return StandardPrior(*shape)
    return VadePrior(*shape) if model.kind == "vade" else GmvaePrior(*shape)


def floored(log_variances: Any) -> Any:
    """Return log variances that are never below the floor, with a gradient everywhere."""
    torch = load_torch()
    floor = torch.full((), math.log(VARIANCE_FLOOR), device=log_variances.device)
    return torch.logaddexp(log_variances, floor.to(log_variances.dtype))


def kl(means: Any, log_variances: Any, prior_means: Any, prior_log_variances: Any) -> Any:
    """Return the divergence of normals with diagonal covariances, summed over the last axis."""
    torch = load_torch()
    apart = log_variances - prior_log_variances
    away = (means - prior_means).square() * torch.exp(-prior_log_variances)
    return 0.5 * (torch.exp(apart) + away - 1.0 - apart).sum(-1)


def _sampled(means: Any, log_variances: Any, noise: Any, divergence: Any) -> Posterior:
    torch = load_torch()
    samples = means + torch.exp(0.5 * log_variances) * noise
    return Posterior(samples[:, None], torch.ones_like(divergence)[:, None], divergence)
