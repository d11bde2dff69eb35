"""Training steps of one member on fixed buffers, captured as CUDA graphs on a GPU.

All state of a step is on the device: the next images, the progress of the training, the state of
the noise. A captured graph is therefore the whole step, and members on separate streams run in
parallel without the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from upto.core import random_stream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto_studies.train.images.autoencoders import ImageAutoencoder
    from upto_studies.train.images.settings import ImageTraining

LEG_STEPS = 250
"""Maximum number of steps between host synchronisations, whose images are sent together."""
_WARM_STEPS = 3
_DISCRIMINATOR = {"lr": 1e-4, "betas": (0.5, 0.9)}
"""Kim & Mnih 2018, as in disentanglement_lib."""


class MemberSteps:
    """Training steps of one member.

    Parameters
    ----------
    member
        The autoencoder, already on the device.
    images
        All images on the device: count × side × side × channels, as bytes.
    training
        Training settings.
    """

    def __init__(self, member: ImageAutoencoder, images: Any, training: ImageTraining) -> None:
        self.member, self.images, self.training = member, images, training
        device = images.device
        self.noise = torch.Generator(device)
        self.noise.manual_seed(int(random_stream(member.seed, "noise").integers(2**63)))
        shape = (LEG_STEPS, training.batch_images)
        self.order = torch.zeros(shape, dtype=torch.int64, device=device)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self.begun = torch.zeros((), dtype=torch.int64, device=device)
        self.losses = torch.zeros(LEG_STEPS, dtype=torch.float32, device=device)
        self.optimiser = _optimiser(member, training, device)
        self.stream: Any = None
        self.graph: Any = None
        if device.type == "cuda":
            self.stream = torch.cuda.Stream(device)

    def prepare_leg(self, begun: int, n_steps: int) -> None:
        """Send the indices of the next images to the device, after `begun` steps."""
        size = self.training.batch_images
        picked = image_order(
            self.member.seed, len(self.images), begun * size, (begun + n_steps) * size
        )
        self.order[:n_steps] = torch.from_numpy(picked.reshape(n_steps, size)).to(self.order.device)
        self.begun.fill_(begun)
        self.position.zero_()

    def take(self) -> None:
        """Take a step, on a GPU by replaying the captured graph."""
        if self.stream is None:
            self._step()
            return
        if self.graph is None:
            self._record()
        with torch.cuda.stream(self.stream):
            self.graph.replay()

    def tensors(self) -> dict[str, Any]:
        """Return the tensors of the training state by name, not copies."""
        found = dict(self.member.named_tensors())
        # Adam creates its state in its first step; a checkpoint may be loaded before.
        for name, parameter in self.member.named_parameters():
            state = self._adam_state(parameter)
            found |= {f"{name}.{key}": values for key, values in state.items()}
        return found

    def _adam_state(self, parameter: Any) -> dict[str, Any]:
        state = self.optimiser.state[parameter]
        if not state:
            on_device = parameter.device if self.stream is not None else "cpu"
            state["step"] = torch.zeros((), dtype=torch.float32, device=on_device)
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
        return dict(state)

    def _step(self) -> None:
        chosen = self.order.index_select(0, self.position)[0]
        batch = self.images.index_select(0, chosen)
        pixels = batch.permute(0, 3, 1, 2).to(torch.float32) / 255
        done = (self.begun + self.position[0]) / self.training.steps
        made, bottled = self.member.training_pass(
            pixels,
            share=done.to(torch.float32),
            generator=self.noise,
            bfloat16=self.training.bfloat16,
            compiled=self.training.compiled,
        )
        loss = functional.binary_cross_entropy_with_logits(made.float(), pixels) + bottled.penalty
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        clipped = [each.grad for each in self.optimiser.param_groups[0]["params"]]
        torch._foreach_clamp_min_(clipped, -self.training.clip)
        torch._foreach_clamp_max_(clipped, self.training.clip)
        self.optimiser.step()
        self.losses.index_copy_(0, self.position, loss.detach()[None])
        self.position += 1

    def _record(self) -> None:
        """Capture a step; warm-up steps are undone."""
        before = [(values, values.detach().clone()) for values in self.tensors().values()]
        noise = self.noise.get_state()
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            for _ in range(_WARM_STEPS):
                self._step()
                self.position.zero_()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        self.graph.register_generator_state(self.noise)
        self.optimiser.zero_grad(set_to_none=True)
        with torch.cuda.graph(self.graph, stream=self.stream):
            self._step()
        with torch.no_grad():
            for values, kept in before:
                values.copy_(kept)
        self.noise.set_state(noise)
        self.position.zero_()
        torch.cuda.synchronize()


def image_order(seed: int, n_images: int, start: int, stop: int) -> NDArray[np.int64]:
    """Return the images at positions `start` to `stop` of epochs, each newly shuffled."""
    first, last = start // n_images, max(start, stop - 1) // n_images
    epochs = [
        random_stream(seed, "order", str(epoch)).permutation(n_images)
        for epoch in range(first, last + 1)
    ]
    return np.concatenate(epochs)[start - first * n_images : stop - first * n_images]


def _optimiser(member: ImageAutoencoder, training: ImageTraining, device: Any) -> Any:
    weights, others = member.decayed_parameters(), member.plain_parameters()
    groups = [
        {"params": weights, "weight_decay": member.model.weight_decay},
        {"params": others, "weight_decay": 0.0},
        {"params": member.bottleneck.discriminator_parameters(), "weight_decay": 0.0}
        | _DISCRIMINATOR,
    ]
    on_gpu = device.type == "cuda"
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=training.learning_rate,
        fused=on_gpu,
        capturable=on_gpu,
    )
