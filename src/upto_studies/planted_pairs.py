"""Pairs of runs with known sources, and of autoencoders of digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from upto.core import random_stream
from upto.datasets import read_image_set
from upto.simulate import draw_sources
from upto.simulate.mixings import leaky_mixing, rigid_mixing
from upto_studies.unmixed_pairs import HELD_OUT_SHARE

if TYPE_CHECKING:
    from upto.core import Progress
    from upto.core.array_types import Float


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """Two runs of the same independent sources.

    Parameters
    ----------
    kind
        Distribution of the sources.
    n_sources
        Number of sources, and width of the runs.
    rows_each
        Fitted rows for each source; the held-out rows come on top.
    depth
        Leaky rectifiers of each run's own random network of orthogonal layers; at 0 it is a
        rotation.
    leak
        Slope of the rectifiers below zero.
    shared
        Share of the variance that both runs have in common; the rest is Gaussian noise of each.
    """

    kind: str = "laplace"
    n_sources: int = 16
    rows_each: int = 200
    depth: int = 0
    leak: float = 0.5
    shared: float = 1.0

    def draw(self, seed: int) -> tuple[Float, Float]:
        """Draw the two runs."""
        n_rows = round(self.rows_each * self.n_sources / (1 - HELD_OUT_SHARE))
        sources = draw_sources(self.kind, n_rows, self.n_sources, seed=seed).rows
        widths = (self.n_sources,) * (self.depth + 2)
        runs = []
        for number in range(2):
            own = random_stream(seed, "planted", str(number))
            noise = own.normal(size=sources.shape)
            rows = np.sqrt(self.shared) * sources + np.sqrt(1 - self.shared) * noise
            network = int(own.integers(2**31))
            if self.depth:
                runs.append(leaky_mixing(widths, leak=self.leak, seed=network)(rows))
            else:
                runs.append(rigid_mixing(self.n_sources, seed=network)(rows))
        return runs[0], runs[1]


def digit_codes(
    *,
    widths: tuple[int, ...],
    epochs: int,
    n_pairs: int,
    seed: int,
    device: str,
    progress: Progress,
) -> list[tuple[Float, Float]]:
    """Train pairs of autoencoders of scikit-learn's digits and return their codes.

    Parameters
    ----------
    widths
        Widths of the encoder after its 64 pixels; the last one is that of the code.
    epochs
        Length of the training.
    n_pairs
        Number of pairs, trained side by side.
    seed
        Seed of the first network.
    device, progress
        As in `train_ensemble`.
    """
    from upto_studies.train import Network, Training, train_ensemble

    digits = read_image_set("digits")
    rows = digits.read_floats().reshape(len(digits), -1)
    first = 2 * n_pairs * seed
    ensemble = train_ensemble(
        Network.autoencoder((rows.shape[1], *widths)),
        rows,
        seeds=range(first, first + 2 * n_pairs),
        training=Training(epochs=epochs),
        leaks=0.2,
        device=device,
        progress=progress,
    )
    codes = ensemble.encode(rows).astype(np.float64)
    return [(codes[number], codes[number + 1]) for number in range(0, len(codes), 2)]
