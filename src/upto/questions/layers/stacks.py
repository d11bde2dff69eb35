"""Group layers into runs, from any input format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from upto.activations.layers_of_runs import read_layers
from upto.core import Embeddings, InputError
from upto.files.accept import as_embeddings
from upto.files.packages import check_packages
from upto.files.run_names import distinct_names, name_choices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    LayersOfRun = Embeddings | Mapping[str, ArrayLike] | str | Path

ONLY_LAYER = "output"
"""Name of the layer of a run with a single, unnamed layer."""
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Stack:
    """A run and its named layers, first layer first."""

    name: str
    seed: int | None
    layers: tuple[Embeddings, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the layers."""
        return tuple(str(layer.layer) for layer in self.layers)


def as_stacks(runs: Sequence[Any]) -> tuple[Stack, ...]:
    """Group layers by run.

    Parameters
    ----------
    runs
        Folders of recordings, manifests, `Embeddings` with a name and a layer, mappings from
        layers to rows, or the rows of a single layer.
    """
    check_packages(runs)
    found: dict[tuple[Any, str], list[Embeddings]] = {}
    for position, run in enumerate(runs):
        if isinstance(run, Embeddings):
            found.setdefault((None, run.name), []).append(run)
        elif isinstance(run, str | Path):
            for each in read_layers(run):
                found.setdefault((position, each.name), []).append(each)
        else:
            name = _ORDINALS[position] if position < len(_ORDINALS) else f"run {position + 1}"
            is_many = isinstance(run, Mapping)
            found[position, name] = (
                [_layer(name, layer, rows) for layer, rows in run.items()]
                if is_many
                else [as_embeddings(run, name=name)]
            )
    # Runs of equal names are distinguished by their folders.
    names = distinct_names([name_choices(layers[0]) for layers in found.values()])
    return tuple(
        _stack(name, layers) for name, layers in zip(names, found.values(), strict=True) if layers
    )


def _layer(name: str, layer: Any, rows: Any) -> Embeddings:
    found = as_embeddings(rows, name=f"{name}, layer {layer}")
    return replace(found, name=name, layer=str(layer))


def _stack(name: str, layers: list[Embeddings]) -> Stack:
    nameless = sum(layer.layer is None for layer in layers)
    if nameless and len(layers) > 1:
        message = (
            f"{name} has {len(layers)} entries, {nameless} of them without a layer: name the layer "
            "of each."
        )
        raise InputError(message)
    named = [replace(each, layer=each.layer or ONLY_LAYER) for each in layers]
    names = [each.layer for each in named]
    repeated = sorted({str(each) for each in names if names.count(each) > 1})
    if repeated:
        message = (
            f"{name} has the layer {repeated[0]!r} {names.count(repeated[0])} times: use distinct "
            "names for runs and for the layers of a run."
        )
        raise InputError(message)
    return Stack(
        name=name,
        seed=next((each.seed for each in named if each.seed is not None), None),
        layers=tuple(named),
    )
