"""Train autoencoders with facets side by side, with the rows on the device."""

from __future__ import annotations

import operator
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, choose_progress, random_stream
from upto.core.array_types import Float
from upto.engines.device import float32_products
from upto.engines.device_rows import host_array, load_torch
from upto_studies.train.arguments import (
    checked_device,
    checked_rows,
    checked_seeds,
    one_for_each,
)
from upto_studies.train.checkpoints import TrainingCheckpoint, fingerprint
from upto_studies.train.labelled_rows import batches_of
from upto_studies.train.mixtures.components import fit_components, log_responsibilities
from upto_studies.train.orders import Orders

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from upto.core import Progress
    from upto_studies.train.checkpoints import KeptState
    from upto_studies.train.mixtures.facets import FacetModel
    from upto_studies.train.mixtures.fade_in import FacetTraining

_EVALUATED = 500
"""Rows per member in one pass without gradients."""
_MOMENTS = ("exp_avg", "exp_avg_sq")
"""Moments that Adam keeps, by its own names."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FacetCodes:
    """What members make of rows.

    Parameters
    ----------
    means
        Posterior means of each facet, members × rows × coordinates.
    variances
        Mean posterior variances of each facet, members × coordinates.
    clusters
        The most probable component at the posterior mean, facets × members × rows.
    errors
        Reconstruction errors in nats, one per member.
    divergences
        Divergence of each facet from its prior in nats, facets × members.
    """

    means: tuple[NDArray[np.float32], ...]
    variances: tuple[NDArray[np.float32], ...]
    clusters: NDArray[np.int64]
    errors: Float
    divergences: Float

    @property
    def together(self) -> NDArray[np.float32]:
        """Posterior means of all facets, members × rows × coordinates."""
        return np.concatenate(self.means, axis=2)


def train_facets(
    run: FacetRun,
    *,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Progress | bool | None = None,
) -> None:
    """Train the members of a run to the end.

    Parameters
    ----------
    run
        The members, changed in place.
    checkpoint
        File for the state, written every two minutes, and for the parameters at the end.
    resume
        Whether to continue from that file, if it exists; a completed training is not repeated.
    progress
        As in `upto.compare`.

    Raises
    ------
    InputError
        If the checkpoint is damaged or belongs to another training.
    """
    kept = TrainingCheckpoint(checkpoint, run.words())
    if resume and kept.exists():
        run.load(kept.read())
    n_epochs = run.training.n_epochs
    label = f"training {len(run.seeds)} autoencoders"
    with choose_progress(progress).task(label, n_epochs) as advance:
        advance(run.epoch)
        while run.epoch < n_epochs:
            run.train_epoch()
            advance(1)
            if kept.is_due() or run.epoch == n_epochs:
                kept.write(run.state(), run.epoch)


class FacetRun:
    """Autoencoders with facets, in training or trained; components start from a fit to the codes.

    Parameters
    ----------
    model
        Model of every member.
    rows
        Training rows, from 0 to 1.
    seeds
        One non-negative seed per member, which alone determines its weights, order and noise.
    leaks
        Slope of the rectifiers below zero, one for all or one per member; 0 is ReLU.
    training
        Training settings.
    device
        ``"cpu"`` or a CUDA device.

    Attributes
    ----------
    epoch
        Epochs done.
    errors, divergences
        Mean reconstruction error of every epoch (epochs × members) and divergence of every facet
        (epochs × facets × members), in nats.

    Raises
    ------
    InputError
        If the rows do not suit the model, fill no batch or are outside the range.
    """

    def __init__(
        self,
        model: FacetModel,
        rows: NDArray[Any],
        *,
        seeds: Sequence[int],
        leaks: float | Sequence[float],
        training: FacetTraining,
        device: str = "cpu",
    ) -> None:
        torch = load_torch()
        if len(training.epochs) != model.n_facets:
            message = (
                f"{len(training.epochs)} stages for {model.n_facets} facets: give the epochs of "
                "one stage per facet."
            )
            raise InputError(message)
        given = checked_rows("training rows", rows, model.n_inputs)
        if given.min() < 0 or given.max() > 1:
            message = "training rows are outside the range: scale them to values from 0 to 1."
            raise InputError(message)
        self.model, self.training = model, training
        self.seeds, self.device = checked_seeds(seeds), checked_device(device)
        self.leaks = one_for_each("leaks", leaks, len(self.seeds))
        self.n_batches = batches_of(len(given), training.batch_rows)
        self._data = fingerprint(given)
        self._rows = torch.as_tensor(given, dtype=torch.float32, device=self.device)
        self._leaks = torch.as_tensor(self.leaks, dtype=torch.float32, device=self.device)
        self._orders = Orders(self.seeds, len(given), None, self.device)
        self.parameters = {
            name: values.to(self.device).requires_grad_()
            for name, values in model.initial(self.seeds).items()
        }
        self._optimiser = torch.optim.Adam(
            self.parameters.values(), lr=training.learning_rate, fused=True
        )
        self.epoch = 0
        shape = (0, model.n_facets, len(self.seeds))
        self.errors, self.divergences = np.empty((0, len(self.seeds))), np.empty(shape)
        self._fit_components()

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """Mask of members whose losses are not finite."""
        terms = np.concatenate([self.errors[:, None], self.divergences], axis=1)
        lost: NDArray[np.bool_] = np.logical_not(np.isfinite(terms).all(axis=(0, 1)))
        return lost

    def train_epoch(self) -> None:
        """Show every row once, but for those that do not fill a batch; epoch 0 only looks."""
        torch = load_torch()
        order, noise = self._orders.epoch(self.epoch), self._noise(str(self.epoch))
        totals = torch.zeros((1 + self.model.n_facets, len(self.seeds)), device=self.device)
        size = self.training.batch_rows
        with float32_products(allow_tf32=True), torch.set_grad_enabled(self.epoch > 0):
            for batch in range(self.n_batches):
                some = slice(batch * size, (batch + 1) * size)
                shares = self.training.shares(self.epoch, batch, self.n_batches)
                error, divergences = self.model.terms(
                    self.parameters, self._leaks, self._rows[order[:, some]], noise[:, some], shares
                )
                if self.epoch > 0:
                    self._step(error + sum(map(operator.mul, shares, divergences)))
                totals += torch.cat([error[None], divergences]).detach()
        means = host_array(totals).astype(np.float64)[None] / self.n_batches
        self.errors = np.concatenate([self.errors, means[:, 0]])
        self.divergences = np.concatenate([self.divergences, means[:, 1:]])
        self.epoch += 1

    def evaluate(self, rows: NDArray[Any]) -> FacetCodes:
        """Return codes, clusters and errors of rows, with all facets."""
        torch = load_torch()
        given = checked_rows("rows", rows, self.model.n_inputs)
        noise = self._noise("evaluation", n_rows=len(given))
        facets = range(self.model.n_facets)
        found: list[list[list[Any]]] = [[[] for _ in facets] for _ in range(3)]
        means, variances, clusters = found
        terms, counts = [], []
        with torch.no_grad(), float32_products(allow_tf32=False):
            priors = [self.model.prior(self.parameters, facet) for facet in facets]
            for start, shown in self._parts(given):
                posteriors = self.model.encode(self.parameters, self._leaks, shown)
                for facet, (mean, log_variance) in enumerate(posteriors):
                    means[facet].append(host_array(mean))
                    variances[facet].append(host_array(log_variance.exp().sum(1)))
                    likely = log_responsibilities(mean, *priors[facet]).argmax(-1)
                    clusters[facet].append(host_array(likely))
                some = noise[:, start : start + shown.shape[1]]
                error, divergences = self.model.terms(
                    self.parameters, self._leaks, shown, some, (1.0,) * len(facets)
                )
                terms.append(host_array(torch.cat([error[None], divergences])))
                counts.append(shown.shape[1])
        average = np.average(np.stack(terms), axis=0, weights=counts).astype(np.float64)
        return FacetCodes(
            means=tuple(np.concatenate(each, axis=1) for each in means),
            variances=tuple(np.sum(each, axis=0) / len(given) for each in variances),
            clusters=np.stack([np.concatenate(each, axis=1) for each in clusters]),
            errors=average[0],
            divergences=average[1:],
        )

    def words(self) -> dict[str, str]:
        """Describe the training, so that a checkpoint of another one is refused."""
        return {
            "model": repr(self.model),
            "training": repr(self.training),
            "seeds": repr(self.seeds),
            "leaks": repr(self.leaks.tolist()),
            "rows": self._data,
        }

    def state(self) -> dict[str, Any]:
        """Return the arrays from which the training continues; parameters alone once it is done."""
        arrays: dict[str, Any] = {"errors": self.errors, "divergences": self.divergences}
        for name, values in self.parameters.items():
            arrays[f"parameter.{name}"] = values.detach()
            if self.epoch < self.training.n_epochs:
                moments = self._optimiser.state[values] or dict.fromkeys(
                    _MOMENTS, load_torch().zeros_like(values)
                )
                arrays |= {f"{moment}.{name}": moments[moment] for moment in _MOMENTS}
        return arrays

    def load(self, kept: KeptState) -> None:
        """Restore what `state` returned."""
        torch = load_torch()
        if not 0 < kept.done <= self.training.n_epochs:
            kept.refuse(f"{kept.done} of {self.training.n_epochs} epochs are done")
        self.errors = kept.take("errors", (kept.done, len(self.seeds)), np.float64)
        shape = (kept.done, self.model.n_facets, len(self.seeds))
        self.divergences = kept.take("divergences", shape, np.float64)
        self.epoch = kept.done
        n_steps = float((kept.done - 1) * self.n_batches)
        for name, values in self.parameters.items():
            with torch.no_grad():
                values.copy_(self._taken(kept, f"parameter.{name}", values))
            if self.epoch < self.training.n_epochs:
                moments = {each: self._taken(kept, f"{each}.{name}", values) for each in _MOMENTS}
                self._optimiser.state[values] = {
                    "step": torch.tensor(n_steps, device=self.device),
                    **moments,
                }

    def _taken(self, kept: KeptState, name: str, like: Any) -> Any:
        array = kept.take(name, tuple(like.shape), np.float32)
        return load_torch().as_tensor(array, device=self.device)

    def _step(self, losses: Any) -> None:
        self._optimiser.zero_grad(set_to_none=True)
        # Members share no parameters, so the sum has the gradient of each.
        losses.sum().backward()
        self._optimiser.step()

    def _fit_components(self) -> None:
        """Set the means of the components to those of mixtures fitted to the first codes."""
        from sklearn.exceptions import ConvergenceWarning

        torch = load_torch()
        # Of all rows, because they may be sorted.
        drawn = random_stream(0, "first codes").permutation(len(self._rows))
        some = host_array(self._rows[np.sort(drawn[: self.training.start_rows]).tolist()])
        found: list[list[Any]] = [[] for _ in self.model.dimensions]
        with torch.no_grad(), float32_products(allow_tf32=False):
            for _, shown in self._parts(some):
                posteriors = self.model.encode(self.parameters, self._leaks, shown)
                for parts, (mean, _) in zip(found, posteriors, strict=True):
                    parts.append(host_array(mean))
        for facet, parts in enumerate(found):
            seeds = [
                int(random_stream(seed, "components", str(facet)).integers(2**31))
                for seed in self.seeds
            ]
            with warnings.catch_warnings():
                # A start needs no optimum.
                warnings.simplefilter("ignore", ConvergenceWarning)
                _, means, _ = fit_components(
                    np.concatenate(parts, axis=1), self.model.n_clusters[facet], seeds, n_starts=1
                )
            with torch.no_grad():
                self.parameters[f"prior.{facet}.means"].copy_(torch.as_tensor(means))

    def _parts(self, rows: NDArray[Any]) -> Iterator[tuple[int, Any]]:
        torch = load_torch()
        for start in range(0, len(rows), _EVALUATED):
            part = torch.as_tensor(
                rows[start : start + _EVALUATED], dtype=torch.float32, device=self.device
            )
            yield start, part.expand(len(self.seeds), *part.shape)

    def _noise(self, *words: str, n_rows: int | None = None) -> Any:
        """Draw the noise of an epoch at once, from a generator of every member's own."""
        torch = load_torch()
        count = self.n_batches * self.training.batch_rows if n_rows is None else n_rows
        drawn = torch.empty((len(self.seeds), count, self.model.width), device=self.device)
        for seed, own in zip(self.seeds, drawn, strict=True):
            generator = torch.Generator(self.device)
            generator.manual_seed(int(random_stream(seed, "noise", *words).integers(2**63)))
            own.normal_(generator=generator)
        return drawn
