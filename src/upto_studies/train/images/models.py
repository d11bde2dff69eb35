"""Descriptions of image autoencoders, and their published hyperparameters."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, cast

from upto.core import InputError
from upto_studies.train.images.settings import whole_number

ModelKind = Literal[
    "ae", "beta-vae", "annealed-vae", "beta-tcvae", "factor-vae", "bio-ae", "vq-vae", "qlae"
]


class Tuned(NamedTuple):
    """The two hyperparameters of a model that are tuned for a data set."""

    strength: float | None
    weight_decay: float


DEFAULTS: dict[ModelKind, Tuned] = {
    "ae": Tuned(None, 1e-3),
    "beta-vae": Tuned(1.0, 0.0),
    "annealed-vae": Tuned(1000.0, 0.0),
    "beta-tcvae": Tuned(1.0, 0.0),
    "factor-vae": Tuned(10.0, 0.0),
    "bio-ae": Tuned(0.1, 1e-4),
    "vq-vae": Tuned(0.25, 0.01),
    "qlae": Tuned(0.01, 0.1),
}
"""Published defaults: Hsu et al. 2023, and for the annealed β-VAE and FactorVAE, which they did not
train, disentanglement_lib (for FactorVAE the smallest of its strengths)."""

PUBLISHED: dict[str, dict[ModelKind, Tuned]] = {
    "shapes3d": {
        "ae": Tuned(None, 1e-3),
        "beta-vae": Tuned(3.0, 0.0),
        "beta-tcvae": Tuned(3.0, 0.0),
        "bio-ae": Tuned(0.01, 1e-4),
        "vq-vae": Tuned(0.25, 0.01),
        "qlae": Tuned(0.01, 0.1),
    },
    "mpi3d": {
        "ae": Tuned(None, 1e-3),
        "beta-vae": Tuned(0.1, 0.0),
        "beta-tcvae": Tuned(0.3, 0.0),
        "bio-ae": Tuned(0.01, 1e-4),
        "vq-vae": Tuned(0.25, 0.01),
        "qlae": Tuned(0.01, 1e-3),
    },
    "falcor3d": {
        "beta-vae": Tuned(10.0, 0.0),
        "beta-tcvae": Tuned(3.0, 0.0),
        "bio-ae": Tuned(0.01, 1e-4),
        "vq-vae": Tuned(0.25, 0.01),
        "qlae": Tuned(0.01, 0.1),
    },
    "isaac3d": {
        "beta-vae": Tuned(0.3, 0.0),
        "beta-tcvae": Tuned(1.0, 0.0),
        "bio-ae": Tuned(0.1, 1e-4),
        "vq-vae": Tuned(0.25, 0.01),
        "qlae": Tuned(0.01, 0.1),
    },
}
"""Values of Hsu et al. 2023 for each data set, as far as published."""

_NAMES: dict[ModelKind, tuple[str, str]] = {
    "ae": ("autoencoder", ""),
    "beta-vae": ("β-VAE", "β"),
    "annealed-vae": ("annealed β-VAE", "γ"),
    "beta-tcvae": ("β-TCVAE", "λ"),
    "factor-vae": ("FactorVAE", "γ"),
    "bio-ae": ("BioAE", "λ"),
    "vq-vae": ("VQ-VAE", "commitment"),
    "qlae": ("QLAE", "quantisation"),
}
_N_CODES: dict[ModelKind, int] = {"vq-vae": 512, "qlae": 10}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageModel:
    """An image autoencoder: its bottleneck and its penalty.

    Parameters
    ----------
    kind
        ``"ae"``, ``"beta-vae"``, ``"annealed-vae"``, ``"beta-tcvae"``, ``"factor-vae"``,
        ``"bio-ae"``, ``"vq-vae"`` or ``"qlae"``.
    n_latents
        Number of latents to score.
    strength
        Main hyperparameter: β of the β-VAE, γ of the annealed β-VAE and of FactorVAE, the weight
        of the total correlation of the β-TCVAE, of the activity of BioAE, of the commitment of
        VQ-VAE, of both losses of QLAE. The published default if omitted; an autoencoder has none.
    weight_decay
        Weight decay of encoder and decoder; the published default if omitted.
    capacity, annealed_share
        Final capacity of the annealed β-VAE in nats, and the fraction of the training after which
        it is reached; by default 25 after half of it, 100,000 of 200,000 steps.
    n_codes
        Number of values of a latent of VQ-VAE or QLAE: 512 and 10 if omitted; 0 elsewhere.

    Examples
    --------
    >>> ImageModel(kind="beta-vae", n_latents=12, strength=3).title
    'β-VAE, 12 latents, β = 3, weight decay 0'
    """

    kind: ModelKind
    n_latents: int
    strength: float | None = None
    weight_decay: float = cast("float", None)
    capacity: float = 25.0
    annealed_share: float = 0.5
    n_codes: int = cast("int", None)

    def __post_init__(self) -> None:
        if self.kind not in tuple(DEFAULTS):
            message = f"there is no model {self.kind!r}: choose {', '.join(DEFAULTS)}."
            raise InputError(message)
        self._fill_in()
        if self.n_latents < 1:
            message = f"{self.n_latents} latents: a model needs at least 1."
            raise InputError(message)
        if self.kind == "ae" and self.strength is not None:
            message = f"strength is {self.strength:g}, but a plain autoencoder has none: omit it."
            raise InputError(message)
        for name in ("strength", "weight_decay", "capacity"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                words = name.replace("_", " ")
                message = f"the {words} is {value:g}: it must be a non-negative number."
                raise InputError(message)
        if not 0 < self.annealed_share <= 1:
            message = f"the annealed share is {self.annealed_share:g}: choose a fraction in (0, 1]."
            raise InputError(message)
        if self.n_codes < 2 if self.kind in _N_CODES else self.n_codes != 0:
            message = (
                f"{self.n_codes} codes for the model {self.kind!r}: {' and '.join(_N_CODES)} take "
                f"2 or more, others none."
            )
            raise InputError(message)

    def _fill_in(self) -> None:
        """Fill in the published defaults, and normalise the types of numbers."""
        start = {
            "strength": DEFAULTS[self.kind].strength,
            "weight_decay": DEFAULTS[self.kind].weight_decay,
            "n_codes": _N_CODES.get(self.kind, 0),
        }
        for name, value in start.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        # Equal models need equal text, which identifies a checkpoint.
        for name in ("n_latents", "n_codes"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name)))
        for name in ("strength", "weight_decay", "capacity", "annealed_share"):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, float(given))

    @property
    def title(self) -> str:
        """Description of the model."""
        name, symbol = _NAMES[self.kind]
        parts = [name, f"{self.n_latents} latents" if self.n_latents > 1 else "1 latent"]
        if symbol:
            parts.append(f"{symbol} = {self.strength:g}")
        if self.kind == "annealed-vae":
            parts.append(f"{self.capacity:g} nats")
        return ", ".join([*parts, f"weight decay {self.weight_decay:g}"])


def published_model(kind: ModelKind, *, data_set: str, n_latents: int) -> ImageModel:
    """Return a model with the values tuned for a data set, or the published defaults.

    Parameters
    ----------
    kind
        See `ImageModel`.
    data_set
        ``"shapes3d"``, ``"mpi3d"``, ``"falcor3d"``, ``"isaac3d"``; the defaults for any other.
    n_latents
        Number of latents to score.
    """
    start = ImageModel(kind=kind, n_latents=n_latents)
    tuned = PUBLISHED.get(data_set, {}).get(kind, DEFAULTS[kind])
    return replace(start, strength=tuned.strength, weight_decay=tuned.weight_decay)
