"""Progressive training of facets: the deepest first, the others faded in one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from upto.core import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class FacetTraining:
    """Training settings of autoencoders with facets, by default those of MFCVAE for MNIST.

    Parameters
    ----------
    epochs
        Epochs of each stage; every stage adds a facet, from the deepest on. Epoch 0 does not train.
    fade_in_steps
        Steps over which the facet of a later stage is faded in, linearly: in the decoder, and the
        weight of its divergence.
    batch_rows
        Rows of a step; rows that fill no batch are left out of an epoch.
    learning_rate
        Learning rate of Adam.
    start_rows
        Rows whose codes the first components are fitted to.
    """

    epochs: tuple[int, ...] = (201, 201)
    fade_in_steps: int = 15_000
    batch_rows: int = 512
    learning_rate: float = 5e-4
    start_rows: int = 5_000

    def __post_init__(self) -> None:
        counts = (*self.epochs, self.fade_in_steps, self.batch_rows, self.start_rows)
        if not self.epochs or min(counts) < 1:
            message = (
                "some numbers of epochs, steps or rows of the training are below 1: give positive "
                "ones."
            )
            raise InputError(message)
        if not 0 < self.learning_rate < math.inf:
            message = f"the learning rate is {self.learning_rate:g}: it must be positive."
            raise InputError(message)

    @property
    def n_epochs(self) -> int:
        """Number of epochs of all stages, with the one that does not train."""
        return sum(self.epochs)

    def shares(self, epoch: int, batch: int, n_batches: int) -> tuple[float, ...]:
        """Return how far each facet is faded in, the shallowest first.

        Examples
        --------
        >>> FacetTraining(epochs=(2, 3), fade_in_steps=8).shares(3, 1, n_batches=4)
        (0.625, 1.0)
        """
        stage, start = 0, 0
        while stage < len(self.epochs) - 1 and epoch >= start + self.epochs[stage]:
            start += self.epochs[stage]
            stage += 1
        done = (epoch - start) * n_batches + batch
        own = min(done / self.fade_in_steps, 1.0) if stage else 1.0
        n_waiting = len(self.epochs) - stage - 1
        return (0.0,) * n_waiting + (own,) + (1.0,) * stage
