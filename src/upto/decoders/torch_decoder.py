"""Torch modules and functions as decoders: linearised once, then one backward pass per product.

The gradient Jᵀu is linear in u, so its own gradient along v is J v. With both graphs kept, every
further product at the same points is one backward pass: as fast as forward mode over a batch of
directions, and also correct for TorchScript, whose optimised code drops forward-mode derivatives.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections import Counter
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from upto.activations.inputs import import_torch
from upto.core import InputError
from upto.decoders.chains import layer_chain
from upto.decoders.decoder import Linearisation, refuse_rows, refuse_type, said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from upto.core.array_types import Float
    from upto.decoders.chains import ChainLayer

_RANDOM = ("Dropout", "BatchNorm", "RReLU")
"""Parts of the names of layers that mix rows or are random in training mode."""


class TorchDecoder:
    """A torch module, a method of one, or a function that maps each row independently.

    A module is copied, and the copy runs in double precision if possible; the original module and
    torch's random state are never changed.

    Parameters
    ----------
    given
        The module, method or function.
    name
        Name of the decoder.
    shape
        Input shape of one latent, if it is not a flat row.

    Raises
    ------
    InputError
        If layers in train mode depend on chance or on other rows, or if there are no weights.
    """

    def __init__(self, given: Any, name: str, shape: tuple[int, ...] | None = None) -> None:
        torch = import_torch("decoders that are torch modules or functions")
        self.name, self._shape = name, shape
        self._torch, self._given = torch, given
        owner = given if isinstance(given, torch.nn.Module) else getattr(given, "__self__", None)
        self._module = owner if isinstance(owner, torch.nn.Module) else None
        held: list[Any] = []
        if self._module is not None:
            _refuse_training(self._module, name)
            held = [*self._module.parameters(), *self._module.buffers()]
        if any(each.is_meta for each in held):
            message = f"{name} has no weights, only their shapes (device meta): load them first."
            raise InputError(message)
        first = next((each for each in held if each.is_floating_point()), None)
        self._device = torch.device("cpu") if first is None else first.device
        self._dtype = torch.float64 if first is None else first.dtype
        self._function: Any = None
        self._chance: list[Any] = []

    @property
    def chain(self) -> tuple[ChainLayer, ...] | None:
        """Linear layers with the leak after each; None for other networks."""
        if self._module is None or self._module is not self._given:
            return None
        # Tracing runs the module, which may change it.
        copied = _copied(self._torch, self._module)
        return None if copied is None else layer_chain(copied)

    def evaluate(self, points: Float) -> Any:
        """Run only the decoder."""
        with self._running():
            return self._outputs(self._leaf(points)).detach()

    def linearise(self, points: Float) -> Linearisation:
        """Run the decoder and its gradient once and keep their graph."""
        torch = self._torch
        with self._running():
            leaf = self._leaf(points)
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

    @contextmanager
    def _running(self) -> Iterator[None]:
        """Run with gradients, unfused attention and a separate random state."""
        torch = self._torch
        devices = [self._device] if self._device.type == "cuda" else []
        # Fused attention cannot be differentiated twice.
        plain = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
        with (
            torch.random.fork_rng(devices=devices),
            torch.inference_mode(mode=False),
            torch.enable_grad(),
            plain,
        ):
            # A random decoder must draw new numbers each time, or it would go undetected.
            if self._chance:
                torch.set_rng_state(self._chance[0])
                for device, state in zip(devices, self._chance[1:], strict=True):
                    torch.cuda.set_rng_state(state, device)
            try:
                yield
            finally:
                self._chance = [torch.get_rng_state(), *map(torch.cuda.get_rng_state, devices)]

    def _leaf(self, points: Float) -> Any:
        if self._function is None:
            self._settle(points[:1])
        return self._tensor(points).requires_grad_()

    def _settle(self, point: Float) -> None:
        """Choose a copy in double precision if it runs, else an unchanged copy, else the module."""
        torch, own = self._torch, self._dtype
        copied = None if self._module is None else _copied(torch, self._module)
        kinds = [torch.float64, torch.float32 if self._module is None else own]
        if self._module is not None and copied is None:
            kinds = [own]
        failure: Exception | None = None
        for kind in kinds:
            try:
                self._dtype, self._function = kind, self._given
                if copied is not None:
                    self._function = _method_of(copied.to(kind), self._given, self._module)
                with torch.no_grad():
                    self._function(self._shaped(self._tensor(point)))
            except Exception as error:  # noqa: BLE001 - whatever the code of others raises
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
        except Exception as error:
            raise InputError(self._failed(leaf.shape[1], error)) from error
        tensor = self._only_tensor(found)
        kind = str(tensor.dtype).removeprefix("torch.")
        refuse_type(self.name, "outputs", kind, is_real=torch.is_floating_point(tensor))
        refuse_rows(self.name, "outputs", tuple(tensor.shape), n_points)
        return tensor.reshape(n_points, -1)

    def _only_tensor(self, found: Any) -> Any:
        """Return the only float tensor among the decoder's outputs."""
        tensors = dict(_tensors(self._torch, found))
        if not tensors:
            message = (
                f"{self.name} returns {type(found).__name__}, not a tensor: give a function of "
                "torch tensors, or an object with jvp(points, directions) over NumPy arrays."
            )
            raise InputError(message)
        real = {where: each for where, each in tensors.items() if each.is_floating_point()}
        if len(real) > 1:
            message = (
                f"{self.name} returns {len(real)} tensors ({', '.join(real)}): wrap it in a "
                "function that returns only the output to measure."
            )
            raise InputError(message)
        return next(iter((real or tensors).values()))

    def _gradient(self, outputs: Any, leaf: Any, weights: Any) -> Any:
        if not outputs.requires_grad:
            raise InputError(self._no_derivative("its outputs have no gradient"))
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
            "remove argmax, detach and no_grad, or give an object with jvp(points, directions)."
        )

    def _failed(self, width: int, error: Exception | None) -> str:
        why = said(error)
        wanted = None if self._module is not self._given else _first_width(self._given)
        if wanted is not None and wanted != width and self._shape is None:
            return (
                f"the latents have {width} coordinates, but the first layer of {self.name} takes "
                f"{wanted}: give the latents of this decoder."
            )
        shape = (width,) if self._shape is None else self._shape
        return (
            f"{self.name} cannot take a batch of latents of shape {tuple(shape)} "
            f"({why}): give the latents of this decoder, and export it with a batch of "
            "any size."
        )


def _copied(torch: Any, module: Any) -> Any | None:
    """Copy a module, without gradients of its parameters; None for one that cannot be copied."""
    try:
        # A non-leaf tensor cannot be deep-copied, but its values can.
        memo = {
            id(each): each.detach().clone()
            for part in module.modules()
            for _, each in _tensors(torch, vars(part))
            if not each.is_leaf
        }
        # TorchScript copies its parameters by computing them; and where warnings are errors, a
        # warning of torch during the copy must not prevent it.
        with (
            warnings.catch_warnings(action="ignore"),
            torch.inference_mode(mode=False),
            torch.no_grad(),
        ):
            copied = copy.deepcopy(module, memo)
        for parameter in copied.parameters():
            parameter.requires_grad_(requires_grad=False)
    except Exception:  # noqa: BLE001 - whatever the code of others raises
        return None
    return copied


def _method_of(copied: Any, given: Any, module: Any) -> Any:
    """Return the copy's counterpart of the given module or method."""
    if given is module:
        return copied
    if inspect.ismethod(given):
        return given.__func__.__get__(copied)
    return getattr(copied, given.__name__)


def _tensors(torch: Any, found: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the tensors in nested containers with their locations."""
    if isinstance(found, torch.Tensor):
        yield where or "0", found
        return
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(found, Mapping):
        items = found.items()
    elif isinstance(found, list | tuple):
        names = getattr(found, "_fields", range(len(found)))
        items = zip(names, found, strict=True)
    elif is_dataclass(found) and not isinstance(found, type):
        items = ((field.name, getattr(found, field.name)) for field in fields(found))
    for name, each in items:
        yield from _tensors(torch, each, f"{where}.{name}" if where else str(name))


def _refuse_training(module: Any, name: str) -> None:
    # TorchScript gives all layers one class but stores the original names.
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
            f"{name} is in train mode, in which {found.total()} of its layers depend on chance or "
            f"on other rows ({listed}): call its eval() first."
        )
        raise InputError(message)


def _first_width(module: Any) -> int | None:
    for each in module.modules():
        width = getattr(each, "in_features", None)
        if isinstance(width, int):
            return width
    return None
