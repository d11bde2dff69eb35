"""When each member slows down and stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float


StoppedBy = Literal["patience", "limit", "divergence"]
"""Why a member is done: its loss stalled, its epochs ran out, or its numbers left their range."""


class Schedule:
    """Patience that starts a decay, member by member.

    A loss that no longer falls at a constant learning rate shows the noise of the steps, not the
    optimum; and a decay from the start never looks stalled before its end. So a member that runs
    out of patience does not stop at once: its learning rate falls to zero along a cosine first.

    Parameters
    ----------
    n_members
        How many there are.
    epochs, patience, min_improvement, decay_epochs
        See `Training`.
    """

    def __init__(
        self,
        n_members: int,
        *,
        epochs: int,
        patience: int,
        min_improvement: float,
        decay_epochs: int,
    ) -> None:
        self.limit, self.patience = epochs, patience
        self.min_improvement, self.decay_epochs = min_improvement, decay_epochs
        self.epoch = 0
        self.best = np.full(n_members, np.inf)
        self.waited = np.zeros(n_members, dtype=np.int64)
        # The epoch in which the decay begins, at the latest the one that leaves room for it.
        self.decay_from = np.full(n_members, epochs - decay_epochs, dtype=np.int64)
        self.epochs_trained = np.zeros(n_members, dtype=np.int64)
        self.losses = np.empty((0, n_members))

    @property
    def stopped(self) -> NDArray[np.bool_]:
        """Which members are done."""
        return self.epoch >= self.decay_from + self.decay_epochs

    @property
    def is_done(self) -> bool:
        """Whether all are."""
        return bool(self.stopped.all())

    def factors(self) -> Float:
        """Return what is left of each member's learning rate."""
        into = np.clip(self.epoch + 1 - self.decay_from, 0, self.decay_epochs)
        factors: Float = (1 + np.cos(np.pi * into / (self.decay_epochs + 1))) / 2
        return factors

    def end_epoch(self, members: NDArray[np.intp], losses: Float) -> None:
        """Take note of the losses of the members that were trained; NaN of one that diverged."""
        row = np.full((1, len(self.best)), np.nan)
        row[0, members] = losses
        self.losses = np.concatenate([self.losses, row])
        improved = losses < self.best[members] - self.min_improvement
        self.best[members] = np.where(improved, losses, self.best[members])
        self.waited[members] = np.where(improved, 0, self.waited[members] + 1)
        self.epochs_trained[members] += 1
        self.epoch += 1
        tired = members[self.waited[members] >= self.patience]
        self.decay_from[tired] = np.minimum(self.decay_from[tired], self.epoch)
        self.diverge(members[np.isnan(losses)])

    def diverge(self, members: NDArray[np.intp]) -> None:
        """Stop members at once; a best loss that is not a number says why."""
        self.best[members] = np.nan
        self.decay_from[members] = np.minimum(
            self.decay_from[members], self.epoch - self.decay_epochs
        )

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """Which members were stopped because they diverged."""
        diverged: NDArray[np.bool_] = np.isnan(self.best)
        return diverged

    def stopped_by(self) -> tuple[StoppedBy, ...]:
        """Say for each member that is done why it is."""
        tired = self.decay_from < self.limit - self.decay_epochs
        return tuple(
            "divergence" if lost else "patience" if early else "limit"
            for lost, early in zip(self.diverged.tolist(), tired.tolist(), strict=True)
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays."""
        return {
            "best": self.best,
            "waited": self.waited,
            "decay_from": self.decay_from,
            "epochs_trained": self.epochs_trained,
            "losses": self.losses,
        }

    def load(self, arrays: dict[str, NDArray[Any]], epoch: int) -> None:
        """Go on from the arrays of `arrays`."""
        self.epoch = epoch
        for name, values in arrays.items():
            setattr(self, name, values.copy())
