"""Training settings: rates, batches and stopping."""

from __future__ import annotations

from dataclasses import dataclass

from upto.core import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Training settings of members.

    Parameters
    ----------
    epochs
        Maximum number of epochs of a member.
    batch_rows
        Rows per step.
    learning_rate
        Root mean square of the entries of a step, before decay.
    patience, min_improvement
        A member whose mean squared error has not fallen by more than `min_improvement` below its
        best for `patience` epochs starts to decay. The improvement is in the units of that error:
        choose it for the scale of the data, e.g. a hundredth for rows a tenth as large.
    decay_epochs
        Epochs of the decay, in which the learning rate falls to zero along a cosine. A member that
        never runs out of patience starts it as late as possible.
    clip_norm
        Maximum norm of a member's gradient; None for no clipping.
    tf32_epochs
        Number of initial epochs in which a GPU may round factors to TF32; the retraction of weights
        always uses full float32.
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
                f"{self.patience} epochs: each must be at least 1."
            )
            raise InputError(message)
        if not 0 <= self.decay_epochs <= self.epochs:
            message = f"{self.decay_epochs} decay epochs do not fit into {self.epochs} epochs."
            raise InputError(message)
        if self.clip_norm is not None and not self.clip_norm > 0:
            message = f"gradients cannot be clipped to a norm of {self.clip_norm:g}: pass None."
            raise InputError(message)
