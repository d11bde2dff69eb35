"""Train many independent members at once by batched products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, choose_progress
from upto.engines.device import float32_products
from upto.engines.device_rows import host_array, load_torch
from upto_studies.train.arguments import (
    checked_device,
    checked_rows,
    checked_seeds,
    checked_subsets,
    one_for_each,
    refuse_twins,
)
from upto_studies.train.checkpoints import TrainingCheckpoint, fingerprint
from upto_studies.train.ensembles import Ensemble
from upto_studies.train.optimisers import Optimiser
from upto_studies.train.orders import Orders
from upto_studies.train.schedules import Schedule
from upto_studies.train.stiefel import orthonormality_defect, polished

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import ArrayLike, NDArray

    from upto.core import Progress
    from upto.core.array_types import Float
    from upto_studies.train.checkpoints import KeptState
    from upto_studies.train.networks import Network, Parameters
    from upto_studies.train.settings import Training


_REMOVED_SHARE = 0.1
"""Fraction of members that must have stopped before they are removed from the batch."""


def train_ensemble(
    network: Network,
    rows: Any,
    targets: Any | None = None,
    *,
    seeds: Sequence[int],
    training: Training,
    leaks: float | Sequence[float] = 0.0,
    learning_rates: Sequence[float] | None = None,
    subsets: Sequence[ArrayLike] | None = None,
    device: str = "cpu",
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Progress | bool | None = None,
) -> Ensemble:
    """Train one member per seed, all at once, each as if it were trained alone.

    The initial weights and the order of the rows come from a member's own seed. The loss is the
    squared error, summed over the outputs.

    Parameters
    ----------
    network
        Architecture of a member.
    rows
        Inputs, in float32 or float64, which is also the precision of the members.
    targets
        Target outputs; by default the rows themselves.
    seeds
        One non-negative seed per member. Two members may share a seed if other settings differ.
    training
        Training settings.
    leaks
        Slope of the rectifiers below zero, for all members or each.
    learning_rates
        One per member, instead of that of `training`.
    subsets
        Indices or mask of the training rows of each member; all by default.
    device
        ``"cpu"`` or a CUDA device.
    checkpoint
        File for the state, written periodically, at the end, and on interruption by Ctrl-C.
    resume
        Whether to continue from that file, if it exists: the result is the same, and a completed
        training is not repeated.
    progress
        True for bars, or a line every minute in a log; False for nothing. By default, bars in a
        notebook or at a prompt after two seconds. An object with ``task(label, total)`` is called.

    Raises
    ------
    InputError
        If the data do not match the network or are not finite, all members diverge, or the
        checkpoint is damaged or belongs to another training. If only some members diverge, these
        are stopped; see `Ensemble.diverged`.

    Examples
    --------
    >>> import numpy as np
    >>> from upto_studies.train import Network, Training
    >>> rows = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    >>> network = Network.autoencoder((4, 2), orthogonal=True, bias=False)
    >>> ensemble = train_ensemble(network, rows, seeds=[0, 1, 2], training=Training(epochs=5))
    >>> ensemble.encode(rows).shape
    (3, 64, 2)
    """
    if resume and checkpoint is None:
        message = "there is no checkpoint to resume from: pass it too."
        raise InputError(message)
    run = TrainingRun(
        network, rows, targets, seeds, training, leaks, learning_rates, subsets, device
    )
    kept = TrainingCheckpoint(checkpoint, run.words())
    if resume and kept.exists():
        run.load(kept.read())
    label = f"training {len(run.seeds)} members"
    with choose_progress(progress).task(label, training.epochs) as advance:
        advance(run.schedule.epoch)
        _train_epochs(run, kept, advance)
        advance(training.epochs - run.schedule.epoch)
    return run.finished()


def _train_epochs(
    run: TrainingRun, kept: TrainingCheckpoint, advance: Callable[[int], None]
) -> None:
    whole = None
    try:
        while not run.schedule.is_done:
            run.train_epoch()
            # An epoch works in place, so an interrupted one cannot be continued.
            whole = None if kept.path is None else run.state()
            advance(1)
            if whole is not None and (run.schedule.is_done or kept.is_due()):
                kept.write(*whole)
    except KeyboardInterrupt:
        if whole is not None:
            kept.write(*whole)
        raise


class TrainingRun:
    """A training in progress; `members` are those still in the batch."""

    def __init__(
        self,
        network: Network,
        rows: Any,
        targets: Any | None,
        seeds: Sequence[int],
        training: Training,
        leaks: float | Sequence[float],
        learning_rates: Sequence[float] | None,
        subsets: Sequence[ArrayLike] | None,
        device: str,
    ) -> None:
        torch = load_torch()
        self.network, self.training = network, training
        self.seeds, self.device = checked_seeds(seeds), checked_device(device)
        n_members = len(self.seeds)
        self.leaks = one_for_each("leaks", leaks, n_members)
        rates = training.learning_rate if learning_rates is None else learning_rates
        self.rates = one_for_each("learning rates", rates, n_members)
        host = checked_rows("rows", rows, network.widths[0])
        self.rows = torch.tensor(host, device=self.device)
        if targets is None and network.widths[0] != network.widths[-1]:
            message = (
                f"the network returns {network.widths[-1]} values from {network.widths[0]}: pass "
                "the targets."
            )
            raise InputError(message)
        goal = host if targets is None else checked_rows("targets", targets, network.widths[-1])
        if len(goal) != len(host):
            message = f"{len(host)} rows have {len(goal)} targets: give one per row."
            raise InputError(message)
        self.targets = None
        if targets is not None:
            self.targets = torch.tensor(goal, dtype=self.rows.dtype, device=self.device)
        shown = checked_subsets(subsets, n_members, len(host))
        refuse_twins(self.seeds, self.leaks, self.rates, shown)
        self.data = fingerprint(host, goal, *(shown or ()))
        self.orders = Orders(self.seeds, len(host), shown, self.device)
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
        """Describe the training, so that a checkpoint of another one is rejected."""
        return {
            "network": repr(self.network),
            "training": repr(self.training),
            "seeds": repr(self.seeds),
            "leaks": repr(self.leaks.tolist()),
            "learning rates": repr(self.rates.tolist()),
            "data": self.data,
        }

    def state(self) -> tuple[dict[str, Any], int]:
        """Return a copy of the training state, and the epoch."""
        self._keep()
        arrays: dict[str, Any] = {f"all.{k}": values.clone() for k, values in self.all.items()}
        arrays |= {f"state.{k}": values.clone() for k, values in self.optimiser.state.items()}
        arrays |= {f"schedule.{k}": values.copy() for k, values in self.schedule.arrays().items()}
        arrays |= {"members": self.members.copy(), "defect": self.worst_defect.copy()}
        return arrays, self.schedule.epoch

    def load(self, kept: KeptState) -> None:
        """Restore the state returned by `state`."""
        torch = load_torch()
        n_members = len(self.seeds)
        if kept.done > self.training.epochs:
            kept.refuse(f"{kept.done} of {self.training.epochs} epochs are done")
        schedule = {
            name: kept.take(
                f"schedule.{name}",
                (kept.done, n_members) if name == "losses" else (n_members,),
                values.dtype,
            )
            for name, values in self.schedule.arrays().items()
        }
        self.schedule.load(schedule, kept.done)
        self.members = kept.take("members", (None,), np.int64)
        left_out = np.setdiff1d(np.arange(n_members), self.members)
        if (
            not np.isin(self.members, np.arange(n_members)).all()
            or (np.diff(self.members) < 1).any()
            or not self.schedule.stopped[left_out].all()
        ):
            kept.refuse("its members are not those that are still training")
        self.worst_defect = kept.take("defect", (n_members,), np.float64)
        for name, values in self.all.items():
            self._fill(values, kept, f"all.{name}")
        self.orders.select(torch.as_tensor(self.members, device=self.device))
        self.optimiser = self._optimiser()
        for name, values in self.optimiser.state.items():
            self._fill(values, kept, f"state.{name}")

    @staticmethod
    def _fill(values: Any, kept: KeptState, name: str) -> None:
        kind = str(values.dtype).removeprefix("torch.")
        values.copy_(load_torch().as_tensor(kept.take(name, tuple(values.shape), kind)))

    def train_epoch(self) -> None:
        """Train every remaining member for one epoch."""
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
        # Transfers synchronise with the device, so only per-member differences are sent.
        if counts.min() < picked.shape[1]:
            sizes = torch.as_tensor(counts, device=self.device)[:, None]
            spare = torch.arange(picked.shape[1], device=self.device) >= sizes
            left = left.masked_fill(spare[:, :, None], 0.0)
            weights = self._placed(2.0 / np.maximum(counts, 1))
        sums = torch.linalg.vector_norm(left, dim=(1, 2)).to(torch.float64) ** 2
        # Members are independent, so one backward pass gives each its own gradient.
        found = torch.autograd.grad(made, list(parameters.values()), left * weights)
        return sums, dict(zip(parameters, found, strict=True))

    def _end_epoch(self, losses: Float, going: NDArray[np.bool_]) -> None:
        if self.network.orthogonal:
            self._watch_orthogonality()
        known = np.where(np.isfinite(losses), losses, np.nan)
        self.schedule.end_epoch(self.members[going], known[going])
        self._refuse_divergence()
        stopped = self.schedule.stopped[self.members]
        if stopped.any() and (stopped.mean() >= _REMOVED_SHARE or stopped.all()):
            self._remove(stopped)

    def _refuse_divergence(self) -> None:
        """Drop members that diverged, or raise an error if none is left."""
        if self.schedule.diverged.all():
            k = int(self.schedule.epochs_trained.argmin())
            message = (
                f"{len(self.seeds)} of {len(self.seeds)} members diverged, the first in epoch "
                f"{self.schedule.epochs_trained[k]} with seed {self.seeds[k]}, leak "
                f"{self.leaks[k]:g} and learning rate {self.rates[k]:g}: lower the learning rate "
                "or clip the gradient."
            )
            raise InputError(message)

    def _watch_orthogonality(self) -> None:
        torch = load_torch()
        defects = [
            orthonormality_defect(values)
            for name, values in self.optimiser.parameters.items()
            if name.endswith(".weight")
        ]
        now = host_array(torch.stack(defects).amax(0))
        # The last defect of a member that diverged is NaN.
        self.worst_defect[self.members] = np.fmax(self.worst_defect[self.members], now)

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
        self.schedule.diverge(np.flatnonzero(~self._is_finite(parameters)))
        self._refuse_divergence()
        return Ensemble(
            network=self.network,
            parameters=parameters,
            leaks=self.leaks,
            seeds=self.seeds,
            losses=self.schedule.losses,
            epochs=self.schedule.epochs_trained,
            worst_defect=self.worst_defect,
            stopped_by=self.schedule.stopped_by(),
        )

    def _is_finite(self, parameters: Parameters) -> NDArray[np.bool_]:
        """Return a mask of members with finite outputs, since no loss covers the last step."""
        torch = load_torch()
        n_members = len(self.seeds)
        some = self.rows[: self.training.batch_rows].expand(n_members, -1, -1)
        with torch.no_grad():
            made = self.network.run(parameters, self._placed(self.leaks), some)
        found = [torch.isfinite(each).all(2).all(1) for each in (made, *parameters.values())]
        finite: NDArray[np.bool_] = host_array(torch.stack(found).all(0))
        return finite

    def _placed(self, values: Float) -> Any:
        kind = self.rows.dtype
        return load_torch().as_tensor(values, dtype=kind, device=self.device)[:, None, None]


def _picked(rows: Any, picked: Any) -> Any:
    return rows.index_select(0, picked.reshape(-1)).reshape(*picked.shape, rows.shape[1])
