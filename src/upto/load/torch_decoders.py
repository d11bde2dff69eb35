"""Torch modules and functions as decoders: linearised once, then one backward pass a product.

The gradient Jᵀu is linear in u, so its own gradient along v is J v. With the graph of both kept,
every further product at the same points is one backward pass: as fast as forward mode over a batch
of directions, and right for TorchScript too, whose optimised code drops forward-mode derivatives.
"""

from __future__ import annotations

import copy
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from upto.core import InputError
from upto.load.batches import first_tensor, import_torch
from upto.load.chains import layer_chain
from upto.load.decoders import Linearisation, refuse_rows, refuse_type

if TYPE_CHECKING:
    from collections.abc import Iterator

    from upto.load.decoders import Float

_RANDOM = ("Dropout", "BatchNorm", "RReLU")
"""Beginnings or parts of the names of layers that mix rows or draw numbers while training."""
_FAILURES = (
    RuntimeError,
    TypeError,
    ValueError,
    AssertionError,
    IndexError,
    KeyError,
    AttributeError,
)


class TorchDecoder:
    """A torch module, or a function of a tensor, that maps each row of a batch by itself.

    A module is copied and the copy computes in double precision where it can; the one given is
    never changed.

    Parameters
    ----------
    given
        The module or function.
    name
        What it is called.
    shape
        The shape of one latent as it takes it, where that is not a flat row.

    Raises
    ------
    InputError
        If layers are in train mode whose output then depends on chance or on other rows.
    """

    def __init__(self, given: Any, name: str, shape: tuple[int, ...] | None = None) -> None:
        torch = import_torch()
        self.name, self._shape = name, shape
        self._torch, self._given = torch, given
        self._is_module = isinstance(given, torch.nn.Module)
        if self._is_module:
            _refuse_training(given, name)
        held: list[Any] = []
        if self._is_module:
            held = [*given.parameters(), *given.buffers()]
        first = next((each for each in held if each.is_floating_point()), None)
        self._device = torch.device("cpu") if first is None else first.device
        self._dtype = torch.float64 if first is None else first.dtype
        self._function: Any = None

    @property
    def chain(self) -> tuple[tuple[Float, float], ...] | None:
        """Each linear layer's weights and the leak after it, where there is nothing else."""
        return layer_chain(self._given) if self._is_module else None

    def linearise(self, points: Float) -> Linearisation:
        """Run the decoder and its gradient once, and keep their graph."""
        torch = self._torch
        with torch.inference_mode(mode=False), torch.enable_grad(), _plain_attention(torch):
            if self._function is None:
                self._settle(points[:1])
            leaf = self._tensor(points).requires_grad_()
            outputs = self._outputs(leaf)
            weights = torch.zeros_like(outputs, requires_grad=True)
            gradient = self._gradient(outputs, leaf, weights)

        def push(directions: Any) -> Any:
            if not gradient.requires_grad:
                return torch.zeros_like(outputs)
            try:
                (pushed,) = torch.autograd.grad(
                    gradient, weights, directions, retain_graph=True, materialize_grads=True
                )
            except RuntimeError as error:
                raise InputError(self._no_derivative(str(error))) from None
            return pushed

        def pull(cotangents: Any) -> Any:
            (pulled,) = torch.autograd.grad(
                outputs, leaf, cotangents, retain_graph=True, materialize_grads=True
            )
            return pulled

        return Linearisation(points=leaf.detach(), outputs=outputs.detach(), push=push, pull=pull)

    def _settle(self, point: Float) -> None:
        """Choose a copy in double precision if it runs, else one as it is, else the module."""
        torch, own = self._torch, self._dtype
        self._function = _copied(self._given) if self._is_module else self._given
        is_copy = self._function is not self._given
        kinds = [torch.float64, own if self._is_module else torch.float32]
        if self._is_module and not is_copy:
            kinds = [own]
        failure: Exception | None = None
        for kind in kinds:
            try:
                self._dtype = kind
                if is_copy:
                    self._function = self._function.to(kind)
                with torch.no_grad():
                    self._function(self._shaped(self._tensor(point)))
            except _FAILURES as error:
                failure = error
            else:
                return
        self._function = None
        raise InputError(self._failed(point.shape[1], failure)) from failure

    def _tensor(self, points: Float) -> Any:
        return self._torch.tensor(points, dtype=self._dtype, device=self._device)

    def _shaped(self, rows: Any) -> Any:
        return rows if self._shape is None else rows.reshape(len(rows), *self._shape)

    def _outputs(self, leaf: Any) -> Any:
        torch = self._torch
        n_points = leaf.shape[0]
        try:
            found = self._function(self._shaped(leaf))
        except _FAILURES as error:
            raise InputError(self._failed(leaf.shape[1], error)) from error
        tensor = first_tensor(found)
        if tensor is None:
            message = (
                f"{self.name} returns {type(found).__name__}, not a tensor: give a function of "
                "torch tensors, or an object with jvp(points, directions) over NumPy arrays."
            )
            raise InputError(message)
        kind = str(tensor.dtype).removeprefix("torch.")
        refuse_type(self.name, "outputs", kind, is_real=torch.is_floating_point(tensor))
        refuse_rows(self.name, "outputs", tuple(tensor.shape), n_points)
        return tensor.reshape(n_points, -1)

    def _gradient(self, outputs: Any, leaf: Any, weights: Any) -> Any:
        if not outputs.requires_grad:
            raise InputError(self._no_derivative("its outputs carry no gradient"))
        try:
            (gradient,) = self._torch.autograd.grad(
                outputs, leaf, weights, create_graph=True, materialize_grads=True
            )
        except RuntimeError as error:
            raise InputError(self._no_derivative(str(error))) from None
        return gradient

    def _no_derivative(self, why: str) -> str:
        (why, *_) = why.strip().splitlines() or ["unknown"]
        return (
            f"{self.name} has no derivative with respect to its latents ({why.rstrip('.')}): "
            "leave out argmax, detach and no_grad, or give an object with jvp(points, directions)."
        )

    def _failed(self, width: int, error: Exception | None) -> str:
        (why, *_) = str(error).strip().splitlines() or [type(error).__name__]
        wanted = _first_width(self._given) if self._is_module else None
        if wanted is not None and wanted != width and self._shape is None:
            return (
                f"the latents have {width} coordinates, but the first layer of {self.name} takes "
                f"{wanted}: give the latents of this decoder."
            )
        shape = (width,) if self._shape is None else self._shape
        return (
            f"{self.name} cannot take a batch of latents of shape {tuple(shape)} "
            f"({why.rstrip('.')}): give the latents of this decoder, and export it with a batch of "
            "any size."
        )


def _copied(module: Any) -> Any:
    """Copy a module, without gradients of its parameters; one that cannot be is taken itself."""
    try:
        return copy.deepcopy(module).requires_grad_(requires_grad=False)
    except _FAILURES:
        return module


def _refuse_training(module: Any, name: str) -> None:
    # TorchScript gives all its layers one class, and remembers what they were.
    layers = [getattr(each, "original_name", type(each).__name__) for each in module.modules()]
    training = [each.training for each in module.modules()]
    found = Counter(
        layer
        for layer, trains in zip(layers, training, strict=True)
        if trains and any(word in layer for word in _RANDOM)
    )
    if found:
        listed = ", ".join(f"{count} {layer}" for layer, count in sorted(found.items()))
        message = (
            f"{name} is in train mode, and {found.total()} of its layers then depend on chance or "
            f"on other rows ({listed}): call its eval() first."
        )
        raise InputError(message)


def _first_width(module: Any) -> int | None:
    for each in module.modules():
        width = getattr(each, "in_features", None)
        if isinstance(width, int):
            return width
    return None


@contextmanager
def _plain_attention(torch: Any) -> Iterator[None]:
    """Let attention run as plain products: its fused form cannot be differentiated twice."""
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        yield
