"""Train many models p(y | x) ∝ exp(f(x)·g(y)) side by side.

Members share their shapes, so one batched product serves all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from upto.core import InputError, choose_progress
from upto.core.array_types import Float
from upto.engines.device import float32_products
from upto.engines.device_rows import host_array, load_torch
from upto_studies.train.arguments import checked_device, checked_seeds
from upto_studies.train.checkpoints import TrainingCheckpoint, fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from upto.core import Progress
    from upto_studies.train.checkpoints import KeptState
    from upto_studies.train.softmax_model import SoftmaxModel

USUAL_INPUTS = 256
"""Number of inputs of a layer above which its learning rate falls in proportion."""
CURVE_POINTS = 100
"""Largest number of points of a loss curve."""

_STEPS_AT_ONCE = 50
"""Steps between reports of progress."""
_LARGEST_STATE = 2**32
"""Bytes above which a state is not written: to train again takes no longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Steps of a training by Adam, whose learning rate falls to zero along a cosine.

    Parameters
    ----------
    n_steps
        Number of steps.
    learning_rate
        First learning rate. A layer with more than 256 inputs has a lower one in proportion, so
        that networks of any width learn at the same pace (Yang et al. 2021).
    looks
        Ascending steps after which f and g are evaluated; 0 is before the training.
    """

    n_steps: int
    learning_rate: float
    looks: tuple[int, ...]

    def __post_init__(self) -> None:
        ascending = all(a < b for a, b in zip(self.looks, self.looks[1:], strict=False))
        if not self.looks or not ascending or self.looks[0] < 0 or self.looks[-1] != self.n_steps:
            message = (
                f"looks at steps {list(self.looks)} do not ascend to {self.n_steps}, the last step."
            )
            raise InputError(message)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        return self.learning_rate * 0.5 * (1.0 + math.cos(math.pi * step / self.n_steps))


class Source(Protocol):
    """Batches of every member, by step, so that a training resumes without a state of them."""

    def words(self) -> dict[str, str]:
        """Describe the data."""
        ...

    def batch(self, step: int) -> tuple[Any, Any]:
        """Return the inputs of f and the answers of a step, members × rows first."""
        ...


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TrainedMembers:
    """What trained members make of held-out rows.

    Parameters
    ----------
    looks
        Steps after which they were evaluated.
    f
        Looks × members × rows × values.
    g
        The same of g; its rows are the classes if it is a table.
    losses
        Mean training losses, intervals × members.
    steps
        Last step of each interval.
    """

    looks: tuple[int, ...]
    f: NDArray[np.float32]
    g: NDArray[np.float32]
    losses: Float
    steps: tuple[int, ...]


def train_members(
    model: SoftmaxModel,
    source: Source,
    shown: tuple[NDArray[Any], NDArray[Any] | None],
    *,
    seeds: Sequence[int],
    steps: Steps,
    device: str = "cpu",
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Progress | bool | None = None,
) -> TrainedMembers:
    """Train one member per seed and evaluate them on held-out rows along the way.

    Parameters
    ----------
    model
        Model of every member.
    source
        Training batches.
    shown
        Held-out rows for f, and for g if it is a network.
    seeds
        One non-negative seed per member.
    steps
        Number of steps, learning rate and looks.
    device
        ``"cpu"`` or a CUDA device.
    checkpoint
        File for the state, written periodically, and for the results at the end.
    resume
        Whether to continue from that file, if it exists; a completed training is not repeated.
    progress
        As in `upto_studies.run.run_study`.

    Raises
    ------
    InputError
        If a member diverges, or the checkpoint is damaged or belongs to another training.
    """
    run = _Run(model, source, shown, checked_seeds(seeds), steps, device)
    kept = TrainingCheckpoint(checkpoint, run.words(), unit="step")
    if resume and kept.exists():
        run.load(kept.read())
    is_written = run.done == steps.n_steps
    with choose_progress(progress).task(f"training {len(run.seeds)} members", steps.n_steps) as go:
        go(run.done)
        while run.done < steps.n_steps:
            before = run.done
            run.train_to(min(before + _STEPS_AT_ONCE, steps.n_steps))
            go(run.done - before)
            if kept.is_due() and run.done < steps.n_steps and run.n_bytes < _LARGEST_STATE:
                kept.write(run.state(), run.done)
    run.refuse_divergence()
    if not is_written:
        kept.write(run.results(), run.done)
    return run.finished()


class _Run:
    """A training in progress."""

    def __init__(
        self,
        model: SoftmaxModel,
        source: Source,
        shown: tuple[NDArray[Any], NDArray[Any] | None],
        seeds: tuple[int, ...],
        steps: Steps,
        device: str,
    ) -> None:
        torch = load_torch()
        self.model, self.source, self.shown = model, source, shown
        self.seeds, self.steps = seeds, steps
        self.device = checked_device(device)
        self.parameters = {
            name: values.to(self.device).requires_grad_(model.is_learned(name))
            for name, values in model.initial(seeds).items()
        }
        self.learned = {k: each for k, each in self.parameters.items() if each.requires_grad}
        self.optimiser = torch.optim.Adam(
            [
                {"params": [values], "share": _share(name, values)}
                for name, values in self.learned.items()
            ],
            lr=steps.learning_rate,
            fused=True,
        )
        n_points = min(CURVE_POINTS, steps.n_steps)
        self.ends = tuple(steps.n_steps * (k + 1) // n_points for k in range(n_points))
        self.point_of = np.searchsorted(self.ends, np.arange(steps.n_steps), side="right")
        self.totals = torch.zeros((n_points, len(seeds)), device=self.device)
        self.done = 0
        self.outputs: tuple[list[Any], list[Any]] = ([], [])

    @property
    def n_bytes(self) -> int:
        """Size of the state."""
        return sum(
            3 * values.numel() * values.element_size() for values in self.parameters.values()
        )

    def words(self) -> dict[str, str]:
        """Describe the training, so that a checkpoint of another one is rejected."""
        rows = [each for each in self.shown if each is not None]
        return {
            "model": repr(self.model),
            "steps": repr(self.steps),
            "seeds": repr(self.seeds),
            "held-out rows": fingerprint(*rows),
            **self.source.words(),
        }

    def train_to(self, step: int) -> None:
        """Train until a step is done, with the looks on the way."""
        looks = set(self.steps.looks)
        with float32_products(allow_tf32=True):
            while self.done < step:
                if self.done in looks:
                    self._look()
                self._step()
            if self.done == self.steps.n_steps:
                self._look()

    def _step(self) -> None:
        losses = self.model.losses(self.parameters, *self.source.batch(self.done))
        self.optimiser.zero_grad(set_to_none=True)
        # Members are independent, so the gradient of the sum is that of each.
        losses.sum().backward()
        rate = self.steps.rate(self.done)
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["share"]
        self.optimiser.step()
        self.totals[int(self.point_of[self.done])] += losses.detach()
        self.done += 1

    def _look(self) -> None:
        torch = load_torch()
        with torch.no_grad(), float32_products(allow_tf32=False):
            for found, apply, rows in zip(
                self.outputs, (self.model.f_of, self.model.g_of), self.shown, strict=True
            ):
                given = rows
                if rows is not None:
                    placed = torch.as_tensor(rows, dtype=torch.float32, device=self.device)
                    given = placed.expand(len(self.seeds), *placed.shape)
                found.append(host_array(apply(self.parameters, given)).copy())

    def results(self) -> dict[str, Any]:
        """Return the outputs so far and the summed losses."""
        arrays = {
            name: np.stack(found) for name, found in zip("fg", self.outputs, strict=True) if found
        }
        return arrays | {"totals": host_array(self.totals)}

    def state(self) -> dict[str, Any]:
        """Return the state of the training."""
        arrays = self.results()
        for name, values in self.learned.items():
            moments = self.optimiser.state[values]
            arrays |= {
                f"parameter.{name}": values.detach(),
                f"first.{name}": moments["exp_avg"],
                f"second.{name}": moments["exp_avg_sq"],
            }
        return arrays

    def load(self, kept: KeptState) -> None:
        """Restore a state, or the results of a completed training."""
        torch = load_torch()
        if kept.done > self.steps.n_steps:
            kept.refuse(f"{kept.done} of {self.steps.n_steps} steps are done")
        self.totals.copy_(
            torch.as_tensor(kept.take("totals", tuple(self.totals.shape), np.float32))
        )
        is_done = kept.done == self.steps.n_steps
        n_looks = sum(look < kept.done or is_done for look in self.steps.looks)
        for name, found in zip("fg", self.outputs, strict=True):
            shape = (n_looks, len(self.seeds), None, self.model.width)
            found.extend(kept.take(name, shape, np.float32) if n_looks else ())
        for name, values in self.learned.items() if not is_done else ():
            shape = tuple(values.shape)
            taken = [
                torch.as_tensor(kept.take(f"{part}.{name}", shape, np.float32)).to(self.device)
                for part in ("parameter", "first", "second")
            ]
            with torch.no_grad():
                values.copy_(taken[0])
            count = torch.tensor(float(kept.done), device=self.device)
            self.optimiser.state[values] = {
                "step": count,
                "exp_avg": taken[1],
                "exp_avg_sq": taken[2],
            }
        self.done = kept.done

    def refuse_divergence(self) -> None:
        """Raise an error if the losses of a member are not finite."""
        bad = np.flatnonzero(~np.isfinite(host_array(self.totals)).all(axis=0))
        if len(bad):
            message = (
                f"{len(bad)} of {len(self.seeds)} members diverged, the first with seed "
                f"{self.seeds[bad[0]]}: lower the learning rate."
            )
            raise InputError(message)

    def finished(self) -> TrainedMembers:
        """Return the results."""
        counts = np.diff((0, *self.ends))[:, None]
        return TrainedMembers(
            looks=self.steps.looks,
            f=np.stack(self.outputs[0]),
            g=np.stack(self.outputs[1]),
            losses=host_array(self.totals).astype(np.float64) / counts,
            steps=self.ends,
        )


def device_title(device: str) -> str:
    """Describe the hardware of a training."""
    torch = load_torch()
    if torch.device(device).type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return f"{device}, {torch.get_num_threads()} threads"


def _share(name: str, values: Any) -> float:
    return min(1.0, USUAL_INPUTS / values.shape[1]) if name.endswith(".weight") else 1.0
