"""Which autoencoder of images is meant, and the values that were published for it."""

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
    """The two values of a model that are chosen for a data set."""

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
"""What the authors start from: Hsu et al. 2023, and for the annealed β-VAE and FactorVAE, which
they did not train, disentanglement_lib (of FactorVAE the least of the strengths it tries)."""

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
"""What Hsu et al. 2023 chose for each data set; what they did not store is missing."""

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
    """An autoencoder of images: its bottleneck, and what is added to the reconstruction loss.

    Parameters
    ----------
    kind
        ``"ae"``, ``"beta-vae"``, ``"annealed-vae"``, ``"beta-tcvae"``, ``"factor-vae"``,
        ``"bio-ae"``, ``"vq-vae"`` or ``"qlae"``.
    n_latents
        How many latents are scored.
    strength
        What the model is tuned by: β of the β-VAE, γ of the annealed β-VAE and of FactorVAE, the
        weight of the total correlation of the β-TCVAE, of the activity of BioAE, of the commitment
        of VQ-VAE, of both losses of QLAE. The published start if omitted; an autoencoder has none.
    weight_decay
        Of the weights of encoder and decoder; the published start if omitted.
    capacity, annealed_share
        Nats that the annealed β-VAE may use in the end, and the share of the training after which
        it may use all of them: 25 after half of it, 100,000 of 200,000 steps, unless told.
    n_codes
        Values that a latent of VQ-VAE or QLAE can take: 512 and 10 if omitted; 0 elsewhere.

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
            message = f"{self.n_latents} latents: a model needs 1 at least."
            raise InputError(message)
        if self.kind == "ae" and self.strength is not None:
            message = f"a strength of {self.strength:g}, but a plain autoencoder has none: omit it."
            raise InputError(message)
        for name in ("strength", "weight_decay", "capacity"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                words = name.replace("_", " ")
                message = f"a {words} of {value:g}: it must be a number that is not negative."
                raise InputError(message)
        if not 0 < self.annealed_share <= 1:
            message = f"{self.annealed_share:g} is no share of the training: take one in (0, 1]."
            raise InputError(message)
        if self.n_codes < 2 if self.kind in _N_CODES else self.n_codes != 0:
            message = (
                f"{self.n_codes} codes for the model {self.kind!r}: {' and '.join(_N_CODES)} take "
                f"2 or more, others none."
            )
            raise InputError(message)

    def _fill_in(self) -> None:
        """Put the published start in the place of what was not given, and numbers in one form."""
        start = {
            "strength": DEFAULTS[self.kind].strength,
            "weight_decay": DEFAULTS[self.kind].weight_decay,
            "n_codes": _N_CODES.get(self.kind, 0),
        }
        for name, value in start.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        # Equal models are written alike: a checkpoint is known by the words of its models.
        for name in ("n_latents", "n_codes"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name)))
        for name in ("strength", "weight_decay", "capacity", "annealed_share"):
            if (given := getattr(self, name)) is not None:
                object.__setattr__(self, name, float(given))

    @property
    def title(self) -> str:
        """The model in words."""
        name, symbol = _NAMES[self.kind]
        parts = [name, f"{self.n_latents} latents" if self.n_latents > 1 else "1 latent"]
        if symbol:
            parts.append(f"{symbol} = {self.strength:g}")
        if self.kind == "annealed-vae":
            parts.append(f"{self.capacity:g} nats")
        return ", ".join([*parts, f"weight decay {self.weight_decay:g}"])


def published_model(kind: ModelKind, *, data_set: str, n_latents: int) -> ImageModel:
    """Return a model with the values chosen for a data set, or the published start.

    Parameters
    ----------
    kind
        As in `ImageModel`.
    data_set
        ``"shapes3d"``, ``"mpi3d"``, ``"falcor3d"``, ``"isaac3d"``; the start for any other.
    n_latents
        How many latents are scored.
    """
    start = ImageModel(kind=kind, n_latents=n_latents)
    tuned = PUBLISHED.get(data_set, {}).get(kind, DEFAULTS[kind])
    return replace(start, strength=tuned.strength, weight_decay=tuned.weight_decay)
