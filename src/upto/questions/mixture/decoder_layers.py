"""Take decoders as networks of linear layers and (leaky) ReLUs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from upto.core import InputError
from upto.decoders.decoder import check_decoder, find_decoder, importing_from_here
from upto.files.named_arrays import SUFFIXES, NamedArrays
from upto.files.request import listed, split_key
from upto.theory.piecewise import PiecewiseNetwork

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from upto.decoders.chains import ChainLayer

_PART = re.compile(r"(?P<stem>.*?)[._/]?(?P<kind>weight|bias)(s|es)?(?P<tail>[._]?\d*)")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layers:
    """A decoder: its name, and its network; None if its layers cannot be read.

    `order` names the layers in the order they are read, where numbers in their names do not say it.
    `relus_assumed` says that ReLUs were put between weights, which do not say their activation.
    """

    name: str
    network: PiecewiseNetwork | None
    order: tuple[str, ...] = ()
    relus_assumed: bool = False


def take_decoder(given: Any, *, leak: float | None) -> Layers:
    """Return the layers of a decoder.

    Parameters
    ----------
    given
        A `PiecewiseNetwork`; a file of weights, as ``path`` or ``path::prefix``; or what
        `upto.lipschitz` takes as a decoder.
    leak
        Slope below zero of the activation between layers given as weights. If it is None, ReLUs are
        assumed.

    Raises
    ------
    InputError
        If it is not a decoder, or not one of linear layers only.
    """
    if isinstance(given, PiecewiseNetwork):
        return Layers(name="decoder", network=given)
    if isinstance(given, str | os.PathLike):
        path = split_key(given if isinstance(given, str) else Path(given))[0]
        if path.suffix.lower() in SUFFIXES:
            arrays = NamedArrays(given if isinstance(given, str) else Path(given))
            network, order = _from_weights(arrays, 0.0 if leak is None else leak)
            assumed = leak is None and len(network.weights) > 1
            return Layers(name=path.stem, network=network, order=order, relus_assumed=assumed)
        given = str(given)
    check_decoder(given)
    with importing_from_here(given):
        found = find_decoder(given)
        chain = found.chain
    return Layers(name=found.name, network=None if chain is None else _from_chain(chain))


def _from_weights(arrays: NamedArrays, leak: float) -> tuple[PiecewiseNetwork, tuple[str, ...]]:
    layers: dict[str, dict[str, NDArray[Any]]] = {}
    for name in arrays.names:
        part = _PART.fullmatch(name)
        values = arrays[name]
        if part is None or values.ndim != (2 if part["kind"] == "weight" else 1):
            message = (
                f"{arrays.item(name)} of shape {values.shape} is neither the matrix nor the bias "
                "of a linear layer: fold normalisations into the layers, leave out all else, or "
                f"select the decoder as {arrays.path}::PREFIX."
            )
            raise InputError(message)
        layers.setdefault(part["stem"] + part["tail"], {})[part["kind"]] = values
    alone = [name for name, layer in layers.items() if "weight" not in layer]
    if alone:
        message = f"{arrays.path} has a bias but no weights of layer {listed(alone)}: save both."
        raise InputError(message)
    names, told = _ordered({name: each["weight"] for name, each in layers.items()}, arrays.path)
    ordered = [layers[name] for name in names]
    try:
        network = PiecewiseNetwork(
            weights=tuple(layer["weight"] for layer in ordered),
            biases=tuple(layer.get("bias", np.zeros(len(layer["weight"]))) for layer in ordered),
            leak=leak,
        )
    except InputError as error:
        message = f"{arrays.path}: {error}"
        raise InputError(message) from None
    return network, () if told else tuple(names)


def _ordered(weights: dict[str, NDArray[Any]], path: Path) -> tuple[list[str], bool]:
    """Return the names of layers in order, and whether the numbers in them say it."""
    names = sorted(weights, key=_parts)
    if all(_is_before(one, other) for one, other in pairwise(names)):
        return names, True
    found = list(islice(_orders(weights, []), 2))
    if len(found) > 1:
        message = (
            f"{path} has the layers {listed(names)}, whose names and shapes allow several orders: "
            "name them in order, e.g. 0.weight, 1.weight."
        )
        raise InputError(message)
    return (found[0] if found else names), False


def _orders(weights: dict[str, NDArray[Any]], before: list[str]) -> Iterator[list[str]]:
    """Yield the orders in which each layer takes what the last gives, and numbers increase."""
    left = [name for name in weights if name not in before]
    if not left:
        yield before
    for name in left:
        fits = not before or weights[before[-1]].shape[0] == weights[name].shape[1]
        if fits and not any(_is_before(other, name) for other in left):
            yield from _orders(weights, [*before, name])


def _is_before(first: str, second: str) -> bool:
    """Return whether two names first differ in a number, which is smaller in the first."""
    for one, other in zip(_parts(first), _parts(second), strict=False):
        if one != other:
            return one[0] >= 0 and other[0] >= 0 and one < other
    return False


def _parts(name: str) -> list[tuple[int, str]]:
    """Split a name into numbers, and texts, which have the number -1."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _from_chain(chain: tuple[ChainLayer, ...]) -> PiecewiseNetwork | None:
    """Return a network with one leak throughout; None for several."""
    *inner, last = [layer.leak for layer in chain]
    leaks = {*inner, *([last] if last != 1.0 else [])}
    if len(leaks) > 1:
        return None
    return PiecewiseNetwork(
        weights=tuple(layer.weights for layer in chain),
        biases=tuple(layer.bias for layer in chain),
        leak=leaks.pop() if leaks else 1.0,
        activated_output=last != 1.0,
    )
