"""Training of independent members side by side, step by step, with checkpoints."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError, choose_progress
from upto.engines.device_rows import host_array, load_torch
from upto_studies.train.arguments import checked_device, checked_seeds
from upto_studies.train.checkpoints import TrainingCheckpoint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from upto.core import Progress
    from upto.core.array_types import Float
    from upto_studies.train.checkpoints import KeptState

_LEG_STEPS = 25
"""Steps between looks at the losses, which wait for the device."""
_MOMENTS = ("exp_avg", "exp_avg_sq")


class MemberSteps(ABC):
    """Members trained side by side by AdamW; every parameter has a first axis of members.

    Parameters
    ----------
    what
        Name of the members in progress reports and errors.
    parameters
        First values, by name.
    seeds
        One non-negative seed per member.
    steps
        Number of steps.
    weight_decay
        Of each parameter, by name; none for those without a name.
    betas
        Decay of the mean gradient and of its square.
    clip_norm
        Maximum norm of a member's gradient; None for no clipping.
    device
        ``"cpu"`` or a CUDA device.

    Attributes
    ----------
    parameters
        Values in their current state.
    done
        Steps done.
    losses
        Steps × members; NaN for steps to come.
    """

    def __init__(
        self,
        what: str,
        parameters: dict[str, Any],
        *,
        seeds: Sequence[int],
        steps: int,
        weight_decay: dict[str, float],
        betas: tuple[float, float],
        clip_norm: float | None,
        device: str,
    ) -> None:
        torch = load_torch()
        self.what, self.n_steps, self.clip_norm = what, steps, clip_norm
        self.seeds, self.device = checked_seeds(seeds), checked_device(device)
        self.parameters = {
            name: values.to(self.device).requires_grad_() for name, values in parameters.items()
        }
        self._optimiser = torch.optim.AdamW(
            [
                {"params": [values], "weight_decay": weight_decay.get(name, 0.0)}
                for name, values in self.parameters.items()
            ],
            betas=betas,
            fused=self.device.type == "cuda",
        )
        self.done = 0
        self.losses: Float = np.full((steps, len(self.seeds)), np.nan)
        self._checkpoint = TrainingCheckpoint(None, {})

    @abstractmethod
    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""

    @abstractmethod
    def batch_losses(self, step: int) -> Any:
        """Return the loss of each member on its batch of a step."""

    def keep_in(self, path: str | Path | None, words: dict[str, str], *, resume: bool) -> None:
        """Write the state to a file every two minutes.

        Parameters
        ----------
        path
            The file; None writes nothing.
        words
            Description of the training, which must match on resuming.
        resume
            Whether to continue from that file, if it exists.

        Raises
        ------
        InputError
            If the file is damaged or belongs to another training.
        """
        self._checkpoint = TrainingCheckpoint(path, words, unit="step")
        if resume and self._checkpoint.exists():
            self._load(self._checkpoint.read())

    def keep(self) -> None:
        """Write the state now."""
        self._checkpoint.write(*self._state())

    def train(self, progress: Progress | None = None) -> None:
        """Train all members to the end.

        Raises
        ------
        InputError
            If a member diverges.
        """
        label = f"training {len(self.seeds)} {self.what}"
        with choose_progress(progress).task(label, self.n_steps) as advance:
            advance(self.done)
            self.train_to(self.n_steps, advance)

    def train_to(self, step: int, advance: Callable[[int], None] | None = None) -> None:
        """Train all members up to a step."""
        torch = load_torch()
        while self.done < step:
            count = min(_LEG_STEPS, step - self.done)
            losses = [self._step(self.done + number) for number in range(count)]
            found = host_array(torch.stack(losses))
            self.losses[self.done : self.done + count] = found
            self.done += count
            self._refuse_divergence(found[-1])
            if self._checkpoint.is_due():
                self._checkpoint.write(*self._state())
            if advance is not None:
                advance(count)

    def _step(self, step: int) -> Any:
        losses = self.batch_losses(step)
        # Members are independent, so the gradient of the sum is that of each.
        losses.sum().backward()
        if self.clip_norm is not None:
            self._clip(self.clip_norm)
        for group in self._optimiser.param_groups:
            group["lr"] = self.rate(step)
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)
        return losses.detach()

    def _clip(self, most: float) -> None:
        torch = load_torch()
        gradients = [each.grad for each in self.parameters.values()]
        squares = torch.stack([each.flatten(1).square().sum(1) for each in gradients]).sum(0)
        factors = (most / squares.sqrt().clamp(min=1e-12)).clamp(max=1.0)
        for each in gradients:
            each.mul_(factors.reshape(-1, *[1] * (each.ndim - 1)))

    def _refuse_divergence(self, losses: Float) -> None:
        bad = ~np.isfinite(losses)
        if bad.any():
            message = (
                f"{int(bad.sum())} of {len(bad)} {self.what} diverged before step {self.done}, "
                f"first that of seed {self.seeds[int(bad.argmax())]}: lower the learning rate."
            )
            raise InputError(message)

    def _state(self) -> tuple[dict[str, Any], int]:
        torch = load_torch()
        arrays: dict[str, Any] = {"losses": self.losses}
        for name, values in self.parameters.items():
            own = self._optimiser.state.get(values, {})
            arrays[name] = values.detach()
            for moment in _MOMENTS:
                arrays[f"{moment}.{name}"] = own.get(moment, torch.zeros_like(arrays[name]))
        return arrays, self.done

    def _load(self, kept: KeptState) -> None:
        torch = load_torch()
        if kept.done > self.n_steps:
            kept.refuse(f"{kept.done} of {self.n_steps} steps are done")
        self.losses = kept.take("losses", self.losses.shape, np.float64)
        # A fused optimiser counts its steps on the device, others on the host.
        place = self.device if self.device.type == "cuda" else "cpu"
        for name, values in self.parameters.items():
            names = (name, *(f"{moment}.{name}" for moment in _MOMENTS))
            found = [kept.take(each, tuple(values.shape), np.float32) for each in names]
            now, *moments = (torch.as_tensor(each).to(self.device) for each in found)
            with torch.no_grad():
                values.copy_(now)
            self._optimiser.state[values] = {
                "step": torch.tensor(float(kept.done), device=place),
                **dict(zip(_MOMENTS, moments, strict=True)),
            }
        self.done = kept.done
