"""How members are trained: rates, batches, and when to stop."""

from __future__ import annotations

from dataclasses import dataclass

from upto.core import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How members are trained.

    Parameters
    ----------
    epochs
        The most epochs of a member.
    batch_rows
        Rows of a step.
    learning_rate
        The root mean square of the entries of a step, before it decays.
    patience, min_improvement
        A member whose mean squared error has not fallen by more than `min_improvement` below its
        best for `patience` epochs begins to stop. It is in the units of that error: choose it for
        the scale of your data, for rows a tenth as large a hundredth.
    decay_epochs
        How many epochs a member takes to stop: its learning rate falls to zero along a cosine. A
        member that never runs out of patience begins as late as it can.
    clip_norm
        The largest norm of a member's gradient; None for any.
    tf32_epochs
        In how many first epochs a GPU may round factors to TF32; weights return to their manifold
        in full float32 always.
    """

    epochs: int
    batch_rows: int = 512
    learning_rate: float = 1e-3
    patience: int = 50
    min_improvement: float = 1e-6
    decay_epochs: int = 0
    clip_norm: float | None = 1.0
    tf32_epochs: int = 0

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch_rows < 1 or self.patience < 1:
            message = (
                f"{self.epochs} epochs of batches of {self.batch_rows} rows and a patience of "
                f"{self.patience} epochs: each must be 1 at least."
            )
            raise InputError(message)
        if not 0 <= self.decay_epochs <= self.epochs:
            message = f"{self.decay_epochs} of {self.epochs} epochs cannot be the last ones."
            raise InputError(message)
        if self.clip_norm is not None and not self.clip_norm > 0:
            message = f"gradients cannot be clipped to a norm of {self.clip_norm:g}: pass None."
            raise InputError(message)
