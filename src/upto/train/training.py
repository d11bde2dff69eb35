"""Train many independent members at once, by products over a leading axis of members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, SilentProgress
from upto.engines.device import float32_products
from upto.engines.feeding import host_array, load_torch
from upto.train.checkpoints import TrainingCheckpoint, fingerprint
from upto.train.checks import checked_device, checked_rows, one_for_each
from upto.train.ensembles import Ensemble
from upto.train.optimisers import Optimiser
from upto.train.orders import Orders
from upto.train.schedules import Schedule
from upto.train.stiefel import orthonormality_defect, polished

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from upto.core import Progress
    from upto.train.networks import Network, Parameters

    Float = NDArray[np.float64]

_REMOVED_SHARE = 0.1
"""The share of members that must have stopped before the others go on without them."""


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
        best for `patience` epochs begins to stop.
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


def train_ensemble(
    network: Network,
    rows: Any,
    targets: Any | None = None,
    *,
    seeds: Sequence[int],
    training: Training,
    leaks: float | Sequence[float] = 0.0,
    learning_rates: Sequence[float] | None = None,
    subsets: Sequence[NDArray[np.intp]] | None = None,
    device: str = "cpu",
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Ensemble:
    """Train one member for each seed, all at once; each as if it were trained alone.

    The initial weights and the order of the rows come from a member's own seed. What is made small
    is the squared error, summed over the outputs.

    Parameters
    ----------
    network
        What a member is.
    rows
        What enters it, in float32 or float64, which is what members compute in.
    targets
        What shall leave it; the rows themselves by default.
    seeds
        One for each member.
    training
        How they are trained.
    leaks
        Slope of the rectifiers below zero, of all members or each.
    learning_rates
        One for each member, instead of that of `training`.
    subsets
        The numbers of the rows each member sees; all by default.
    device
        ``"cpu"`` or a CUDA device.
    checkpoint
        A file to keep the state in, now and then and when training is done.
    resume
        Whether to go on from that file, if there is one: the result is the same, and a training
        that is done is not repeated.
    progress
        What epochs are reported to.

    Raises
    ------
    InputError
        If the data do not fit the network or are not finite, a member diverges, or the checkpoint
        is of another training.

    Examples
    --------
    >>> import numpy as np
    >>> from upto.train import Network
    >>> rows = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    >>> network = Network.autoencoder((4, 2), orthogonal=True, bias=False)
    >>> ensemble = train_ensemble(network, rows, seeds=[0, 1, 2], training=Training(epochs=5))
    >>> ensemble.encode(rows).shape
    (3, 64, 2)
    """
    run = TrainingRun(
        network, rows, targets, seeds, training, leaks, learning_rates, subsets, device
    )
    kept = TrainingCheckpoint(checkpoint, run.words())
    if resume and kept.exists():
        run.load(*kept.read())
    label = f"training {len(run.seeds)} members"
    with (progress or SilentProgress()).task(label, training.epochs) as advance:
        advance(run.schedule.epoch)
        while not run.schedule.is_done:
            run.train_epoch()
            advance(1)
            if run.schedule.is_done or kept.is_due():
                kept.write(*run.saved())
        advance(training.epochs - run.schedule.epoch)
    return run.finished()


class TrainingRun:
    """A training under way; `members` are those still in the batch."""

    def __init__(
        self,
        network: Network,
        rows: Any,
        targets: Any | None,
        seeds: Sequence[int],
        training: Training,
        leaks: float | Sequence[float],
        learning_rates: Sequence[float] | None,
        subsets: Sequence[NDArray[np.intp]] | None,
        device: str,
    ) -> None:
        torch = load_torch()
        self.network, self.training = network, training
        self.seeds, self.device = tuple(map(int, seeds)), checked_device(device)
        n_members = len(self.seeds)
        if n_members == 0:
            message = "there are 0 seeds: give one for each member."
            raise InputError(message)
        self.leaks = one_for_each("leaks", leaks, n_members)
        rates = training.learning_rate if learning_rates is None else learning_rates
        self.rates = one_for_each("learning rates", rates, n_members)
        host = checked_rows("rows", rows, network.widths[0])
        self.rows = torch.tensor(host, device=self.device)
        goal = host if targets is None else checked_rows("targets", targets, network.widths[-1])
        if len(goal) != len(host) or goal.shape[1] != network.widths[-1]:
            message = (
                f"{len(host)} rows of {host.shape[1]} values shall become {len(goal)} targets of "
                f"{goal.shape[1]}, but the network makes {network.widths[-1]} values of each row."
            )
            raise InputError(message)
        self.targets = None
        if targets is not None:
            self.targets = torch.tensor(goal, dtype=self.rows.dtype, device=self.device)
        self.data = fingerprint(host, goal, *(subsets or ()))
        self.orders = Orders(self.seeds, len(host), subsets, self.device)
        self.schedule = Schedule(
            n_members,
            epochs=training.epochs,
            patience=training.patience,
            min_improvement=training.min_improvement,
            decay_epochs=training.decay_epochs,
        )
        initial = network.initial(self.seeds, str(host.dtype))
        self.all = {name: values.to(self.device) for name, values in initial.items()}
        self.worst_defect = np.zeros(n_members)
        self.members = np.arange(n_members)
        self.optimiser = self._optimiser()

    def _optimiser(self) -> Optimiser:
        return Optimiser(
            {name: values[self.members] for name, values in self.all.items()},
            orthogonal=self.network.orthogonal,
            clip_norm=self.training.clip_norm,
        )

    def words(self) -> dict[str, str]:
        """Say what is trained, so that a checkpoint of another training is refused."""
        return {
            "network": repr(self.network),
            "training": repr(self.training),
            "seeds": repr(self.seeds),
            "leaks": repr(self.leaks.tolist()),
            "learning rates": repr(self.rates.tolist()),
            "data": self.data,
        }

    def saved(self) -> tuple[dict[str, NDArray[Any]], int]:
        """Return everything the rest of the training depends on, and the epoch."""
        self._keep()
        arrays = {f"all.{name}": host_array(values) for name, values in self.all.items()}
        arrays |= {f"state.{k}": host_array(values) for k, values in self.optimiser.state.items()}
        arrays |= {f"schedule.{k}": values for k, values in self.schedule.arrays().items()}
        arrays |= {"members": self.members, "defect": self.worst_defect}
        return arrays, self.schedule.epoch

    def load(self, arrays: dict[str, NDArray[Any]], epoch: int) -> None:
        """Go on from what `saved` returned."""
        torch = load_torch()
        for name, values in self.all.items():
            values.copy_(torch.as_tensor(arrays[f"all.{name}"]))
        self.worst_defect = arrays["defect"]
        self.schedule.load({k: arrays[f"schedule.{k}"] for k in self.schedule.arrays()}, epoch)
        self.members = arrays["members"]
        self.orders.select(torch.as_tensor(self.members, device=self.device))
        self.optimiser = self._optimiser()
        for name, values in self.optimiser.state.items():
            values.copy_(torch.as_tensor(arrays[f"state.{name}"]))

    def train_epoch(self) -> None:
        """Show every member still training its rows once."""
        torch = load_torch()
        rates = self.schedule.factors()[self.members] * self.rates[self.members]
        going = ~self.schedule.stopped[self.members]
        order = self.orders.epoch(self.schedule.epoch)
        total = torch.zeros(len(self.members), dtype=torch.float64, device=self.device)
        placed_rates, leaks = self._placed(rates), self._placed(self.leaks[self.members])
        allow_tf32 = self.schedule.epoch < self.training.tf32_epochs
        largest = float(rates[going].max())
        with float32_products(allow_tf32=allow_tf32):
            for start in range(0, int(self.orders.sizes[going].max()), self.training.batch_rows):
                counts = np.clip(self.orders.sizes - start, 0, self.training.batch_rows)
                picked = order[:, start : start + int(counts.max())]
                losses, gradients = self._gradients(picked, leaks, counts)
                moving = going & (counts > 0)
                mask = None if moving.all() else torch.as_tensor(moving, device=self.device)
                mask = None if mask is None else mask[:, None, None]
                self.optimiser.step(gradients, placed_rates, largest, mask)
                total += losses
        n_values = self.orders.sizes * self.network.widths[-1]
        self._end_epoch(host_array(total) / n_values, going)

    def _gradients(self, picked: Any, leaks: Any, counts: NDArray[np.intp]) -> tuple[Any, Any]:
        """Return the summed squared error of a batch and the gradients of its mean."""
        torch = load_torch()
        batch = _picked(self.rows, picked)
        goal = batch if self.targets is None else _picked(self.targets, picked)
        parameters = {
            name: values.detach().requires_grad_()
            for name, values in self.optimiser.parameters.items()
        }
        made = self.network.run(parameters, leaks, batch)
        left = made.detach() - goal
        weights: Any = 2.0 / picked.shape[1]
        # Sending numbers to a device waits for it, so only what differs between members is sent.
        if counts.min() < picked.shape[1]:
            sizes = torch.as_tensor(counts, device=self.device)[:, None]
            spare = torch.arange(picked.shape[1], device=self.device) >= sizes
            left = left.masked_fill(spare[:, :, None], 0.0)
            weights = self._placed(2.0 / np.maximum(counts, 1))
        sums = torch.linalg.vector_norm(left, dim=(1, 2)).to(torch.float64) ** 2
        # Members do not touch each other, so one backward pass gives each its own gradient.
        found = torch.autograd.grad(made, list(parameters.values()), left * weights)
        return sums, dict(zip(parameters, found, strict=True))

    def _end_epoch(self, losses: Float, going: NDArray[np.bool_]) -> None:
        bad = going & ~np.isfinite(losses)
        if bad.any():
            k = int(self.members[bad.argmax()])
            message = (
                f"{bad.sum()} of {going.sum()} members diverged in epoch {self.schedule.epoch + 1},"
                f" the first of them with seed {self.seeds[k]}, leak {self.leaks[k]:g} and learning"
                f" rate {self.rates[k]:g}: lower the learning rate or clip the gradient."
            )
            raise InputError(message)
        if self.network.orthogonal:
            self._watch_orthogonality()
        self.schedule.end_epoch(self.members[going], losses[going])
        stopped = self.schedule.stopped[self.members]
        if stopped.any() and (stopped.mean() >= _REMOVED_SHARE or stopped.all()):
            self._remove(stopped)

    def _watch_orthogonality(self) -> None:
        torch = load_torch()
        defects = [
            orthonormality_defect(values)
            for name, values in self.optimiser.parameters.items()
            if name.endswith(".weight")
        ]
        now = host_array(torch.stack(defects).amax(0))
        self.worst_defect[self.members] = np.maximum(self.worst_defect[self.members], now)

    def _keep(self) -> None:
        index = load_torch().as_tensor(self.members, device=self.device)
        for name, values in self.optimiser.parameters.items():
            self.all[name][index] = values

    def _remove(self, stopped: NDArray[np.bool_]) -> None:
        self._keep()
        keep = load_torch().as_tensor(np.flatnonzero(~stopped), device=self.device)
        self.members = self.members[~stopped]
        self.optimiser.select(keep)
        self.orders.select(keep)

    def finished(self) -> Ensemble:
        """Return the trained members."""
        self._keep()
        parameters: Parameters = {
            name: polished(values)
            if self.network.orthogonal and name.endswith(".weight")
            else values
            for name, values in self.all.items()
        }
        return Ensemble(
            network=self.network,
            parameters=parameters,
            leaks=self.leaks,
            seeds=self.seeds,
            losses=self.schedule.losses,
            epochs=self.schedule.epochs_trained,
            worst_defect=self.worst_defect,
        )

    def _placed(self, values: Float) -> Any:
        kind = self.rows.dtype
        return load_torch().as_tensor(values, dtype=kind, device=self.device)[:, None, None]


def _picked(rows: Any, picked: Any) -> Any:
    return rows.index_select(0, picked.reshape(-1)).reshape(*picked.shape, rows.shape[1])
