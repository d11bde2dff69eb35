"""Selection of the modules of a model by name or pattern, and of their pooling rules."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from upto.activations.inputs import import_torch
from upto.activations.pooling import Pool, checked_rule
from upto.core import InputError
from upto.files.request import listed

_OWN_NAMES = ("output", "output of the model")
"""Layer names of the model's own output: the first that no module has is used."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A module selected by its own name or by a pattern."""

    module: Any
    by_name: bool


def chosen_modules(model: Any, patterns: tuple[str, ...]) -> dict[str, Chosen]:
    """Return the modules that match names and patterns, in the order of the model.

    Parameters
    ----------
    model
        The module that contains them.
    patterns
        Names and patterns; an empty one is the model itself.
    """
    abstract = import_torch().nn.Module.forward
    # Containers without a forward of their own, such as ModuleList, are never called.
    modules = {
        name: module
        for name, module in model.named_modules()
        if name and type(module).forward is not abstract
    }
    found: dict[str, Chosen] = {}
    for pattern in patterns:
        if not pattern:
            own = next(name for name in _OWN_NAMES if name not in modules)
            found[own] = Chosen(model, by_name=True)
        elif pattern in modules:
            found[pattern] = Chosen(modules[pattern], by_name=True)
        else:
            expression = name_expression(pattern)
            names = [name for name in modules if expression.fullmatch(name)]
            if not names:
                raise InputError(_nothing_found(pattern, [*modules]))
            for name in names:
                found.setdefault(name, Chosen(modules[name], by_name=False))
    return {name: found[name] for name in (*modules, *_OWN_NAMES) if name in found}


def pooling_rules(
    pool: str | Pool | Mapping[str, str | Pool], layers: Mapping[str, Any]
) -> dict[str, str | Pool]:
    """Return the rule of every layer: the first matching pattern of a mapping, or the mean."""
    if not isinstance(pool, Mapping):
        return dict.fromkeys(layers, checked_rule(pool))
    rules = [(name_expression(pattern), checked_rule(rule)) for pattern, rule in pool.items()]
    return {
        layer: next((rule for each, rule in rules if each.fullmatch(layer)), "mean")
        for layer in layers
    }


def name_expression(pattern: str) -> re.Pattern[str]:
    """Translate a pattern into a regular expression; dots separate names as slashes do paths.

    Examples
    --------
    >>> [bool(name_expression("blocks.*").fullmatch(name)) for name in ("blocks.3", "blocks.3.mlp")]
    [True, False]
    """
    parts = re.split(r"(\*\*|\*|\?|\[[^\]]+\])", pattern)
    known = {"**": ".*", "*": "[^.]*", "?": "[^.]"}
    return re.compile("".join(known.get(part) or _literal(part) for part in parts))


def _literal(part: str) -> str:
    if not part.startswith("[") or len(part) < 3:
        return re.escape(part)
    inside = part[1:-1].replace("\\", r"\\").replace("[", r"\[")
    return f"[^{inside[1:]}]" if inside.startswith("!") and len(inside) > 1 else f"[{inside}]"


def _nothing_found(pattern: str, names: list[str]) -> str:
    near = difflib.get_close_matches(pattern, names, n=5, cutoff=0.4) or names
    return (
        f"none of {len(names)} layers matches {pattern!r}: there are {listed(near, 5)}; * matches "
        "anything up to the next dot and ** anything."
    )
