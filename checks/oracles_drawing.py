"""Compute disentanglement_lib's BetaVAE and FactorVAE scores on the rows that ours draw.

``python checks/oracles_drawing.py PEERS`` writes ``tests/golden/drawing.json``. `PEERS` holds the
checked-out files of dl (disentanglement_lib). Their programs are given the draws of
`upto.disentanglement.interventions` in place of their own; whoever changes those runs this again.
"""

from __future__ import annotations

import importlib
import json
import sys
import types
import warnings
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import MagicMock

import numpy as np

from upto.core import random_stream
from upto.disentanglement.interventions import _examples, _grouped
from upto.disentanglement.predictor_tables import as_codes, as_factors

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "drawing.json"
GRID = (6, 5, 4)
BATCH, FITTED, SCORED = 8, 400, 1000
SEEDS = (0, 1, 2)


def grid_of(seed: int) -> tuple[Any, Any]:
    """Return codes of every combination of three factors, and the factors."""
    rng = np.random.default_rng(seed)
    factors = np.indices(GRID).reshape(3, -1).T
    mix = np.eye(3, 4) + 0.45 * rng.normal(size=(3, 4))
    return (factors / np.array(GRID)) @ mix + 0.25 * rng.normal(size=(len(factors), 4)), factors


class Given(np.random.RandomState):
    """Returns the factors that were held, one by one."""

    def __init__(self, held: Iterator[int]) -> None:
        super().__init__(0)
        self.held = held

    def randint(self, *_: Any, **__: Any) -> int:
        """Return the next."""
        return next(self.held)


def pairs(group: Any, rng: np.random.Generator, size: int) -> Any:
    """Draw as `beta_vae_score` does; return rows, the first of all pairs and then the others."""
    first, start, count = group.drawn(rng, size * BATCH)
    other = start + (first - start + 1 + rng.integers(count - 1)) % count
    return np.hstack([group.rows[each].reshape(size, BATCH) for each in (first, other)])


def batches(group: Any, rng: np.random.Generator, size: int) -> Any:
    """Draw as `factor_vae_score` does; return rows."""
    _, start, count = group.drawn(rng, size)
    return group.rows[start[:, None] + rng.integers(count[:, None], size=(size, BATCH))]


def peer_score(function: Any, name: str, draw: Any, seed: int, **more: int) -> float:
    """Return the score of a peer's function on our draws."""
    codes, factors = grid_of(seed)
    groups = _grouped(as_factors(factors, as_codes(codes)), 10)[0]
    rows, held = [], []
    for purpose, size in (("fitted", FITTED), ("scored", SCORED)):
        rng = random_stream(seed, name, purpose)
        drawn, truth = _examples(draw, groups, rng, size, BATCH * codes.shape[1])
        rows.append(drawn.reshape(-1, BATCH))
        held.append(truth)
    order = iter(np.concatenate(rows))
    table = {tuple(row): code for row, code in zip(factors.tolist(), codes, strict=True)}
    truth = types.SimpleNamespace(
        num_factors=len(GRID),
        sample_factors=lambda *_: factors[next(order)],
        sample_observations_from_factors=lambda found, _: found,
        sample_observations=lambda *_: factors,
    )
    found = function(
        truth,
        lambda seen: np.array([table[tuple(row)] for row in seen.tolist()]),
        Given(chain(*held)),
        batch_size=BATCH,
        num_train=FITTED,
        num_eval=SCORED,
        **more,
    )
    if next(order, None) is not None:
        message = "the peer did not draw as often as we do"
        raise RuntimeError(message)
    return float(found["eval_accuracy"])


def main() -> None:
    """Write the peer's values."""
    for name in ("gin", "gin.tf", "absl", "six", "six.moves"):
        sys.modules[name] = MagicMock()
    sys.modules["gin"].configurable = lambda *_, **__: lambda function: function
    sys.modules["gin.tf"].configurable = sys.modules["gin"].configurable
    sys.modules["six.moves"].range = range
    path = Path(sys.argv[1]) / "dl"
    for part in ("disentanglement_lib", "evaluation", "metrics"):
        path /= part
        name = ".".join(path.parts[path.parts.index("disentanglement_lib") :])
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(path)]
    beta, factor = (
        importlib.import_module(f"{name}.{each}") for each in ("beta_vae", "factor_vae")
    )
    cases = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in SEEDS:
            rows = {"num_variance_estimate": int(np.prod(GRID))}
            cases.append(
                {
                    "seed": seed,
                    "beta-vae": peer_score(beta.compute_beta_vae_sklearn, "beta-vae", pairs, seed),
                    "factor-vae": peer_score(
                        factor.compute_factor_vae, "factor-vae", batches, seed, **rows
                    ),
                }
            )
    record = {"batch": BATCH, "fitted": FITTED, "scored": SCORED, "cases": cases}
    GOLDEN.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
