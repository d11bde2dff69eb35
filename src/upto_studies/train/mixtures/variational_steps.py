"""Train variational autoencoders of several seeds side by side."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, random_stream
from upto.engines.device import float32_products
from upto.engines.device_rows import load_torch
from upto_studies.train.arguments import checked_device, checked_seeds
from upto_studies.train.checkpoints import fingerprint
from upto_studies.train.labelled_rows import batches_of
from upto_studies.train.mixtures.hashed_noise import HashedNoise
from upto_studies.train.mixtures.mixture_members import (
    MixtureMembers,
    PlacedRows,
    decoded,
    encoded,
    mean_of,
    negative_bound,
)
from upto_studies.train.mixtures.mixture_models import TITLES
from upto_studies.train.orders import Orders
from upto_studies.train.texts.member_steps import MemberSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from upto.core import Progress
    from upto.core.array_types import Float
    from upto_studies.train.mixtures.mixture_models import MixtureModel, MixtureTraining

_FITTED_ROWS = 20_000
"""Largest number of rows to whose codes a prior is fitted."""
_FIRST_NOISE = 0.01
"""Variance of the first posteriors after pre-training, as a share of that of the codes."""
_BETAS = (0.9, 0.999)


def train_mixtures(
    model: MixtureModel,
    rows: Any,
    labels: Any = None,
    *,
    seeds: Sequence[int],
    training: MixtureTraining,
    device: str = "cpu",
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> MixtureMembers:
    """Train one member per seed, all at once, each as if it were trained alone.

    The first weights, the order of the rows and the noise come from a member's own seed.

    Parameters
    ----------
    model
        Model of each member.
    rows
        One row per sample, in any order; from 0 to 1 for a Bernoulli likelihood. After pre-training
        a prior is fitted to the codes of all, or of 20,000 drawn from them.
    labels
        Side information of an iVAE, an integer from 0 per row.
    seeds
        One non-negative seed per member.
    training
        Training settings.
    device
        ``"cpu"`` or a CUDA device.
    checkpoint
        File for the state, written every two minutes; that of the pre-training is beside it, and
        serves trainings of any length.
    resume
        Whether to continue from these files, if they exist.
    progress
        As in `upto_studies.run.run_study`.

    Returns
    -------
    MixtureMembers
        The trained members. One whose loss overflows goes on as NaN and is marked as diverged.

    Raises
    ------
    InputError
        If the rows or labels do not suit the model, all members diverge, or a checkpoint is
        damaged or belongs to another training.

    Examples
    --------
    >>> import numpy as np
    >>> from upto_studies.train.mixtures import MixtureModel, MixtureTraining, train_mixtures
    >>> rows = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    >>> rows[:32] += 5
    >>> model = MixtureModel(kind="vade", widths=(4, 8, 2), n_components=2)
    >>> training = MixtureTraining(epochs=2, pretraining_epochs=2, batch_rows=16)
    >>> members = train_mixtures(model, rows, seeds=[0, 1, 2], training=training)
    >>> members.codes(rows).shape, members.mixture(0).n_components
    ((3, 64, 2), 2)
    """
    chosen, given = checked_device(device), checked_seeds(seeds)
    if resume and checkpoint is None:
        message = "there is no checkpoint to resume from: pass it too."
        raise InputError(message)
    if len(set(given)) < len(given):
        message = "two members with one seed are the same model: give each its own seed."
        raise InputError(message)
    placed = PlacedRows(model, rows, labels, chosen)
    if placed.known is not None and len(np.unique(placed.known)) < model.n_components:
        message = f"some of {model.n_components} labels have no rows: number them without gaps."
        raise InputError(message)
    parameters, before = _pretrained(
        model, placed, given, training, chosen, checkpoint, resume=resume, progress=progress
    )
    run = _BoundSteps(model, parameters, placed, given, training, training.epochs, chosen)
    if training.epochs > 0:
        run.keep_in(checkpoint, run.words(), resume=resume)
        run.train(progress)
    return MixtureMembers(
        model=model,
        parameters={name: each.detach() for name, each in run.parameters.items()},
        seeds=given,
        losses=run.by_epoch(),
        pretraining_losses=before,
    )


def _pretrained(
    model: MixtureModel,
    placed: PlacedRows,
    seeds: tuple[int, ...],
    training: MixtureTraining,
    device: Any,
    checkpoint: str | Path | None,
    *,
    resume: bool,
    progress: Progress | None,
) -> tuple[dict[str, Any], Float]:
    """Return the parameters after pre-training, and its losses."""
    torch = load_torch()
    parameters = {name: each.to(device) for name, each in model.initial(seeds).items()}
    if training.pretraining_epochs == 0:
        return parameters, np.empty((0, len(seeds)))
    networks = {name: each for name, each in parameters.items() if not name.startswith("prior.")}
    run = _ReconstructionSteps(
        model, networks, placed, seeds, training, training.pretraining_epochs, device
    )
    path = None if checkpoint is None else Path(checkpoint)
    beside = None if path is None else path.with_name(f"{path.stem}-pretraining{path.suffix}")
    run.keep_in(beside, run.words(), resume=resume)
    run.train(progress)
    run.keep()
    trained = {name: each.detach() for name, each in run.parameters.items()}
    members = MixtureMembers(
        model=model,
        parameters=parameters | trained,
        seeds=seeds,
        losses=np.empty((0, len(seeds))),
        pretraining_losses=run.by_epoch(),
    )
    fitted = _fitted_rows(len(placed), placed.known)
    known = None if placed.known is None else placed.known[fitted]
    codes = members.codes(placed.host[fitted], known)
    # Of a member that overflows, some codes may be infinite and others not.
    codes[~np.isfinite(codes).all(axis=(1, 2))] = np.nan
    prior = {
        name: torch.as_tensor(each, dtype=torch.float32, device=device)
        for name, each in model.prior.fitted(codes, known, seeds, training.n_starts).items()
    }
    return parameters | _narrowed(model, trained, codes) | prior, run.by_epoch()


def _fitted_rows(n_rows: int, known: NDArray[Any] | None) -> NDArray[np.intp]:
    """Draw the rows that a prior is fitted to, the same for every member, as many of each label.

    The first rows would be those of few clusters where rows are sorted.
    """
    count = _FITTED_ROWS if known is None else max(_FITTED_ROWS, int(known.max()) + 1)
    if n_rows <= count:
        return np.arange(n_rows)
    order = random_stream(0, "fitted rows").permutation(n_rows)
    if known is not None:
        by_label = np.argsort(known[order], kind="stable")
        counts = np.bincount(known)
        places = np.arange(n_rows) - np.repeat(np.cumsum(counts) - counts, counts)
        order = order[by_label[np.argsort(places, kind="stable")]]
    return np.sort(order[:count])


def _narrowed(model: MixtureModel, networks: dict[str, Any], codes: Float) -> dict[str, Any]:
    """Return networks whose posteriors are as narrow for every row as codes allow.

    Pre-training leaves the variances of the encoder as they were drawn, and noise wider than the
    codes would undo it: components merge and never part again.
    """
    torch = load_torch()
    last = model.encoder.n_layers - 1
    weight, bias = (networks[f"encoder.{last}.{name}"].clone() for name in ("weight", "bias"))
    spread = np.log(_FIRST_NOISE * codes.var(axis=1))
    outputs = model.prior.width_outputs
    weight[:, :, outputs] = 0.0
    widths = torch.as_tensor(spread, dtype=bias.dtype, device=bias.device)[:, None]
    bias[:, :, outputs] = widths.repeat(1, 1, bias[:, :, outputs].shape[2] // model.n_latents)
    return networks | {f"encoder.{last}.weight": weight, f"encoder.{last}.bias": bias}


class _Steps(MemberSteps):
    """Steps of members on rows that stay on the device."""

    def __init__(
        self,
        model: MixtureModel,
        parameters: dict[str, Any],
        placed: PlacedRows,
        seeds: tuple[int, ...],
        training: MixtureTraining,
        epochs: int,
        device: Any,
    ) -> None:
        self.model, self.placed, self.training = model, placed, training
        self.n_batches = batches_of(len(placed), training.batch_rows)
        super().__init__(
            f"models ({TITLES[model.kind]})",
            parameters,
            seeds=seeds,
            steps=epochs * self.n_batches,
            weight_decay={},
            betas=_BETAS,
            clip_norm=training.clip_norm,
            device=str(device),
        )
        self.orders = Orders(seeds, len(placed), None, device)
        shape = (training.batch_rows, model.widths[0])
        self.masks = HashedNoise(seeds, *shape, device, "masks")
        self.step, self.epoch = 0, -1
        self.order: Any = None

    def words(self) -> dict[str, str]:
        """Describe the training, so that a checkpoint of another one is rejected."""
        known = () if self.placed.known is None else (self.placed.known,)
        return {
            "model": repr(self.model),
            "training": repr(self.training),
            "seeds": repr(self.seeds),
            "data": fingerprint(self.placed.host, *known),
        }

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        n_decays = step // self.n_batches // self.training.decay_epochs
        return self.training.learning_rate * self.training.decay**n_decays

    def train_to(self, step: int, advance: Callable[[int], None] | None = None) -> None:
        """Train all members up to a step."""
        with float32_products(allow_tf32=self.training.tf32):
            super().train_to(step, advance)

    def begin_epoch(self, epoch: int) -> None:
        """Prepare the order of an epoch."""
        self.epoch, self.order = epoch, self.orders.epoch(epoch)

    def batch_losses(self, step: int) -> Any:
        """Return the loss of each member on its batch of a step."""
        epoch, place = divmod(step, self.n_batches)
        if epoch != self.epoch:
            self.begin_epoch(epoch)
        block = slice(place * self.training.batch_rows, (place + 1) * self.training.batch_rows)
        self.step, picked = step, self.order[:, block]
        labels = None if self.placed.labels is None else self.placed.labels[picked]
        return self.price(self.placed.rows[picked], labels, block).mean(1)

    @abstractmethod
    def price(self, rows: Any, labels: Any, block: slice) -> Any:
        """Return the loss of each row of a batch."""

    def by_epoch(self) -> Float:
        """Return the mean loss of each epoch and member."""
        means: Float = self.losses.reshape(-1, self.n_batches, len(self.seeds)).mean(axis=1)
        return means

    def _refuse_divergence(self, losses: Float) -> None:
        # The others go on: members are independent, and those that overflow are marked.
        if not np.isfinite(losses).any():
            super()._refuse_divergence(losses)


class _ReconstructionSteps(_Steps):
    """Steps of an autoencoder without noise and prior."""

    def words(self) -> dict[str, str]:
        """Describe the training; how long it goes on afterwards does not matter."""
        return super().words() | {"training": repr(replace(self.training, epochs=0))}

    def price(self, rows: Any, labels: Any, block: slice) -> Any:
        """Return the mean squared error of the reconstruction from the codes.

        That of a Bernoulli likelihood would drive codes apart until its logits are saturated.
        """
        given = rows
        if self.training.corruption > 0:
            kept = self.masks.uniform(self.step) >= self.training.corruption
            given = rows * kept.to(rows.dtype)
        hidden = encoded(self.model, self.parameters, given, labels)
        made = decoded(self.model, self.parameters, self.model.prior.codes(hidden))
        return (mean_of(self.model, made) - rows).square().mean(-1)


class _BoundSteps(_Steps):
    """Steps on the negative evidence lower bound."""

    noise: Any = None

    def begin_epoch(self, epoch: int) -> None:
        """Prepare the order and the noise of an epoch."""
        super().begin_epoch(epoch)
        shape = (self.n_batches * self.training.batch_rows, self.model.n_latents)
        self.noise = HashedNoise(self.seeds, *shape, self.device).normal(epoch)

    def price(self, rows: Any, labels: Any, block: slice) -> Any:
        """Return the negative bound with one sample."""
        noise = self.noise[:, block]
        return negative_bound(self.model, self.parameters, rows, noise, labels)
