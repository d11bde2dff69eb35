"""Descriptions of variational autoencoders by their prior, and of their training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from upto.core import InputError, random_stream
from upto_studies.train.networks import Network

if TYPE_CHECKING:
    from collections.abc import Sequence

    from upto_studies.train.mixtures.latent_priors import LatentPrior

Kind = Literal["vade", "gmvae", "ivae", "vae"]
Likelihood = Literal["gaussian", "bernoulli"]
TITLES: dict[Kind, str] = {"vade": "VaDE", "gmvae": "GMVAE", "ivae": "iVAE", "vae": "VAE"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureModel:
    """A variational autoencoder of leaky rectifiers and the prior of its latents.

    Parameters
    ----------
    kind
        ``"vade"``: a mixture, whose responsibilities are those of the sampled latents (Jiang et al.
        2017). ``"gmvae"``: a mixture, with a network for the component and one posterior for each
        (M2 of Kingma et al. 2014 with a mixture prior). ``"ivae"``: one normal for each known
        label, which the encoder sees too (Khemakhem et al. 2020). ``"vae"``: a standard normal.
    widths
        Number of inputs, of units of each layer of the encoder, and of latents; the decoder
        mirrors them.
    n_components
        Number of components, or of labels for ``"ivae"``; 1 for ``"vae"``.
    likelihood
        ``"gaussian"`` noise of a known standard deviation, or ``"bernoulli"`` for values from 0
        to 1.
    deviation
        Standard deviation of Gaussian noise.
    leak
        Slope of the rectifiers below zero; 0 for ReLU.
    centred
        Whether the normals of ``"ivae"`` have mean zero and differ in their variances only.

    Examples
    --------
    >>> model = MixtureModel(kind="vade", widths=(2, 64, 64, 2), n_components=3)
    >>> model.decoder.widths
    (2, 64, 64, 2)
    """

    kind: Kind
    widths: tuple[int, ...]
    n_components: int = 1
    likelihood: Likelihood = "gaussian"
    deviation: float = 1.0
    leak: float = 0.0
    centred: bool = False

    def __post_init__(self) -> None:
        if self.kind not in TITLES or self.likelihood not in ("gaussian", "bernoulli"):
            message = (
                f"there is no model {self.kind!r} with likelihood {self.likelihood!r}: choose one "
                f"of {', '.join(TITLES)}, and gaussian or bernoulli."
            )
            raise InputError(message)
        if len(self.widths) < 2 or min(self.widths) < 1:
            message = f"an encoder needs two or more positive widths, not {list(self.widths)}."
            raise InputError(message)
        if (self.n_components < 2) != (self.kind == "vae"):
            message = (
                f"{self.n_components} components do not suit {TITLES[self.kind]}: a VAE has 1, "
                "every other model 2 or more."
            )
            raise InputError(message)
        if not (0 < self.deviation < math.inf and 0 <= self.leak <= 1):
            message = (
                f"a deviation of {self.deviation:g} and a leak of {self.leak:g}: the first must be "
                "positive, the second from 0 to 1."
            )
            raise InputError(message)

    @property
    def n_latents(self) -> int:
        """Number of latents."""
        return self.widths[-1]

    @property
    def takes_labels(self) -> bool:
        """Whether rows need labels."""
        return self.kind == "ivae"

    @property
    def encoder(self) -> Network:
        """Network from a row, and its label in one-hot form, to its posterior."""
        n_labels = self.n_components if self.takes_labels else 0
        first, *hidden = self.widths[:-1]
        return Network(widths=(first + n_labels, *hidden, self.prior.n_hidden))

    @property
    def decoder(self) -> Network:
        """Network from latents to the mean of a row, or to its logits."""
        return Network(widths=self.widths[::-1])

    @property
    def prior(self) -> LatentPrior:
        """The prior and posterior of the latents."""
        from upto_studies.train.mixtures.latent_priors import prior_of

        return prior_of(self)

    def initial(self, seeds: Sequence[int]) -> dict[str, Any]:
        """Draw the first parameters of one member per seed, on the CPU."""
        apart = [int(random_stream(seed, "decoder").integers(2**31)) for seed in seeds]
        networks = {"encoder": self.encoder.initial(seeds), "decoder": self.decoder.initial(apart)}
        parameters = {
            f"{name}.{key}": values for name, own in networks.items() for key, values in own.items()
        }
        return parameters | self.prior.initial(seeds)


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureTraining:
    """Training settings of variational autoencoders.

    Parameters
    ----------
    epochs
        Epochs of the training; rows that fill no batch are left out of an epoch.
    pretraining_epochs
        Epochs of an autoencoder without noise and prior before it; then the prior is fitted to its
        codes: a mixture, or the normal of each label.
    corruption
        Share of the values of a row that pre-training hides from the encoder, drawn anew in every
        step: a denoising autoencoder.
    batch_rows
        Rows of a step.
    learning_rate
        Learning rate of Adam.
    decay, decay_epochs
        The learning rate is multiplied by `decay` every `decay_epochs` epochs.
    clip_norm
        Maximum norm of a member's gradient; None for no clipping.
    n_starts
        Starts of the fit of a mixture.
    tf32
        Whether a GPU may round factors to TF32 in training.
    """

    epochs: int
    pretraining_epochs: int = 0
    corruption: float = 0.0
    batch_rows: int = 256
    learning_rate: float = 2e-3
    decay: float = 0.9
    decay_epochs: int = 10
    clip_norm: float | None = None
    n_starts: int = 5
    tf32: bool = True

    def __post_init__(self) -> None:
        if min(self.epochs, self.pretraining_epochs) < 0 or self.batch_rows < 1:
            message = (
                f"{self.epochs} epochs after {self.pretraining_epochs} of pre-training with "
                f"batches of {self.batch_rows} rows: none may be negative, and a batch has 1 or "
                "more."
            )
            raise InputError(message)
        if not (0 < self.learning_rate < math.inf and 0 < self.decay <= 1):
            message = (
                f"the learning rate is {self.learning_rate:g} and decays by {self.decay:g}: the "
                "first must be positive, the second above 0 and at most 1."
            )
            raise InputError(message)
        if not 0 <= self.corruption < 1:
            message = f"a share of {self.corruption:g} cannot be hidden: give one from 0 to 1."
            raise InputError(message)
        if min(self.decay_epochs, self.n_starts) < 1:
            message = (
                f"a decay every {self.decay_epochs} epochs and {self.n_starts} starts: give 1 or "
                "more of each."
            )
            raise InputError(message)
