"""Batches of labelled rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.engines.device_rows import load_torch
from upto_studies.train.arguments import checked_device
from upto_studies.train.checkpoints import fingerprint
from upto_studies.train.orders import Orders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class LabelledRows:
    """Rows with labels or probabilities of classes, in an order of its own for every member.

    Parameters
    ----------
    rows
        Inputs, one row each.
    answers
        Labels, or one row of probabilities for each row.
    seeds
        One per member.
    batch_rows
        Rows of a step; rows that fill no batch are left out of an epoch.
    device
        Where batches are made.
    """

    def __init__(
        self,
        rows: NDArray[Any],
        answers: NDArray[Any],
        *,
        seeds: Sequence[int],
        batch_rows: int,
        device: str,
    ) -> None:
        torch = load_torch()
        self.n_batches = batches_of(len(rows), batch_rows)
        placed = checked_device(device)
        kind = torch.float32 if answers.dtype.kind == "f" else torch.int64
        self.rows = torch.as_tensor(rows, dtype=torch.float32, device=placed)
        self.answers = torch.as_tensor(answers, dtype=kind, device=placed)
        self.data = fingerprint(np.asarray(rows), np.asarray(answers))
        self.batch_rows = batch_rows
        self.orders = Orders(seeds, len(rows), None, placed)
        self.epoch, self.order = -1, None

    def words(self) -> dict[str, str]:
        """Describe the data."""
        return {"rows": self.data, "rows of a step": str(self.batch_rows)}

    def batch(self, step: int) -> tuple[Any, Any]:
        """Return the rows and answers of a step, members × rows first."""
        epoch, place = divmod(step, self.n_batches)
        if epoch != self.epoch:
            self.epoch, self.order = epoch, self.orders.epoch(epoch)
        order: Any = self.order
        picked = order[:, place * self.batch_rows : (place + 1) * self.batch_rows]
        return self.rows[picked], self.answers[picked]


def batches_of(n_rows: int, batch_rows: int) -> int:
    """Return the number of whole batches of an epoch.

    Raises
    ------
    InputError
        If there are fewer rows than a batch has.
    """
    if n_rows < batch_rows:
        message = (
            f"{n_rows} rows do not fill a batch of {batch_rows}: give more rows, or take smaller "
            "batches."
        )
        raise InputError(message)
    return n_rows // batch_rows
