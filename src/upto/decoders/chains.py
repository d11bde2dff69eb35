"""Extract the layers of networks that are chains of linear layers and leaky rectifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from upto.activations.inputs import import_torch

if TYPE_CHECKING:
    from upto.core.array_types import Float

_SAME = ("Identity", "Dropout", "Flatten", "Unflatten")
"""Layers that preserve distances in evaluation mode."""


class ChainLayer(NamedTuple):
    """Weights of a linear layer, the leak of the activation after it, and its bias."""

    weights: Float
    leak: float
    bias: Float


def layer_chain(module: Any) -> tuple[ChainLayer, ...] | None:
    """Return the linear layers and the leak after each, or None for other networks.

    The leak is 1 if no activation follows, 0 for a plain rectifier. Networks with hooks, or with an
    overridden forward, return None, because these may compute anything.

    Parameters
    ----------
    module
        Torch module in evaluation mode; it is run, so pass a copy.
    """
    torch = import_torch("certificates of networks")
    try:
        if _is_changed(torch, module):
            return None
        graph = torch.fx.symbolic_trace(module)
    except Exception:  # noqa: BLE001 - what cannot be traced, for whatever reason, is no chain
        return None
    layers: list[ChainLayer] = []
    before = None
    for node in graph.graph.nodes:
        if node.all_input_nodes != ([] if before is None else [before]):
            return None
        if node.op not in ("placeholder", "output") and not _follow(torch, graph, node, layers):
            return None
        before = node
    return tuple(layers) or None


def _follow(torch: Any, graph: Any, node: Any, layers: list[ChainLayer]) -> bool:
    """Add one step to the chain, and return whether it is a known one."""
    if node.op == "call_module":
        layer = graph.get_submodule(node.target)
        if isinstance(layer, torch.nn.Linear):
            # Otherwise the layer is applied to each part of a sample.
            if layers and len(layers[-1].weights) != layer.in_features:
                return False
            layers.append(_linear(layer))
            return True
        leak = _leak(torch, layer)
        if leak is None:
            return type(layer).__name__ in _SAME
    elif node.op != "call_function":
        return False
    elif node.target in (torch.relu, torch.nn.functional.relu):
        leak = 0.0
    elif node.target is torch.nn.functional.leaky_relu:
        given = node.kwargs.get("negative_slope", 0.01)
        leak = float(node.args[1] if len(node.args) > 1 else given)
    else:
        return False
    if not layers or not 0.0 <= leak <= 1.0:
        return False
    layers[-1] = layers[-1]._replace(leak=layers[-1].leak * leak)
    return True


def _linear(layer: Any) -> ChainLayer:
    # NumPy has no bfloat16.
    weights = layer.weight.detach().cpu().double().numpy()
    bias = np.zeros(len(weights))
    if layer.bias is not None:
        bias = layer.bias.detach().cpu().double().numpy()
    return ChainLayer(weights, 1.0, bias)


def _is_changed(torch: Any, module: Any) -> bool:
    """Return whether calling a module runs anything but the layers' own code."""
    every = torch.nn.modules.module
    if every._global_forward_hooks or every._global_forward_pre_hooks:
        return True
    return any(
        each._forward_hooks or each._forward_pre_hooks or "forward" in vars(each)
        for each in module.modules()
    )


def _leak(torch: Any, layer: Any) -> float | None:
    if isinstance(layer, torch.nn.LeakyReLU):
        return float(layer.negative_slope)
    return 0.0 if isinstance(layer, torch.nn.ReLU) else None
