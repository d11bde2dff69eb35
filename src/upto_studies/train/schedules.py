"""Learning-rate decay and early stopping of each member."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.core.array_types import Float


StoppedBy = Literal["patience", "limit", "divergence"]
"""Why a member stopped: stalled loss, maximum number of epochs, or non-finite numbers."""


class Schedule:
    """Early stopping by patience followed by a decay, per member.

    A loss that stalls at a constant learning rate reflects the noise of the steps, not the optimum;
    and with a decay from the start it never stalls before the end. So a member that runs out of
    patience does not stop at once: its learning rate first decays to zero along a cosine.

    Parameters
    ----------
    n_members
        Number of members.
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
        # Epoch in which the decay starts, at the latest the one that leaves room for it.
        self.decay_from = np.full(n_members, epochs - decay_epochs, dtype=np.int64)
        self.epochs_trained = np.zeros(n_members, dtype=np.int64)
        self.losses = np.empty((0, n_members))

    @property
    def stopped(self) -> NDArray[np.bool_]:
        """Mask of members that have stopped."""
        return self.epoch >= self.decay_from + self.decay_epochs

    @property
    def is_done(self) -> bool:
        """Whether all members have stopped."""
        return bool(self.stopped.all())

    def factors(self) -> Float:
        """Return the decay factor of each member's learning rate."""
        into = np.clip(self.epoch + 1 - self.decay_from, 0, self.decay_epochs)
        factors: Float = (1 + np.cos(np.pi * into / (self.decay_epochs + 1))) / 2
        return factors

    def end_epoch(self, members: NDArray[np.intp], losses: Float) -> None:
        """Record the losses of the trained members; NaN for one that diverged."""
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
        """Stop members at once, marked by a NaN best loss."""
        self.best[members] = np.nan
        self.decay_from[members] = np.minimum(
            self.decay_from[members], self.epoch - self.decay_epochs
        )

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """Mask of members stopped by divergence."""
        diverged: NDArray[np.bool_] = np.isnan(self.best)
        return diverged

    def stopped_by(self) -> tuple[StoppedBy, ...]:
        """Return the stopping reason of each member that has stopped."""
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
        """Restore the state returned by `arrays`."""
        self.epoch = epoch
        for name, values in arrays.items():
            setattr(self, name, values.copy())
