"""Write `docs/what-upto-says.md`: verdicts of every question, from real results.

Run it after a change of a verdict's words: ``python docs/_tools/what_upto_says.py``.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch

import upto
from upto.core import Embeddings, Result
from upto.files import bundled_path
from upto.question import questions
from upto.theory import PiecewiseNetwork

PAGE = Path(__file__).parents[1] / "what-upto-says.md"

OPENING = """\
<!-- Written by docs/_tools/what_upto_says.py; change the sentences of the questions instead. -->

# What upto says

The verdicts of every question next to each other, each from a result computed for this page on
simulated or bundled data (seed 0). They are meant to be pasted into a paper as they are.
"""

ROWS = 600
_rng = np.random.default_rng(0)
_sources = _rng.laplace(size=(ROWS, 4))
_rotation = np.linalg.qr(_rng.normal(size=(4, 4)))[0]
_noise = _rng.normal(size=(ROWS, 4))
_stretch = np.diag([3.0, 2.0, 1.0, 0.5])
_half = np.where(np.arange(4) < 2, 0.5 * _sources, _rng.laplace(size=(ROWS, 4)))
_compare = partial(upto.compare, refits=2)


def _product(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    # The last digits of a product depend on the machine, and the held-out rows on those of a run.
    return (rows @ matrix).round(6)


_rotated = _product(_sources, _rotation)
_means = np.array([[0.0, 0.0], [4.0, 1.0], [-1.0, 5.0]])
_PRIOR = ([0.2, 0.3, 0.5], _means, [[1.0, 1.0], [1.0, 4.0], [2.0, 0.5]])
_ROUND = ([0.2, 0.3, 0.5], _means, [[1.0, 1.0], [2.0, 2.0], [0.5, 0.5]])
_LINE = ([0.5, 0.5], [[-2.0], [3.0]], [[1.0], [2.0]])
_FOLD = PiecewiseNetwork(weights=[[[1.0], [-1.0]], [[1.0, 1.0]]])
_LEAKY = PiecewiseNetwork(weights=[np.eye(4)[:, :2] + 0.1, np.eye(6)[:, :4] + 0.1], leak=0.1)


def _plates(*, confounded: bool = False, strength: float = 1.5) -> Embeddings:
    rng = np.random.default_rng(1)
    plate = np.repeat(np.arange(6), 40)
    drug = plate >= 3 if confounded else rng.random(240) < 0.5
    rows = rng.laplace(size=(240, 6)) + rng.normal(size=(6, 6))[plate]
    rows[:, 0] += strength * drug
    names = {
        "plate": np.array([f"P{number}" for number in plate]),
        "compound": np.where(drug, "drug", "DMSO"),
    }
    return Embeddings(rows=rows, name="wells", columns=names)


_batches = partial(
    upto.batches, batch="plate", label="compound", control="DMSO", classifier="linear",
    conditions=["base", "pca", "ica"], folds=3, mixing=False, maps=False,
)  # fmt: skip

CASES: dict[str, dict[str, Callable[[], Result]]] = {
    "compare": {
        "The same run, rotated": lambda: _compare(_sources, _rotated + 1),
        "Rotated, with noise": lambda: _compare(_sources, _rotated + 0.3 * _noise),
        "Stretched and rotated": lambda: _compare(
            _sources, _product(_sources, _stretch @ _rotation)
        ),
        "Half of the directions": lambda: _compare(_sources, _product(_half, _rotation)),
        "Two coordinates of four": lambda: _compare(
            _sources, _product(_sources[:, :2], _rotation[:2, :2])
        ),
        "Unrelated runs": lambda: _compare(_sources, _rng_of(3)),
        "Identical files": lambda: _compare(_sources, _sources),
        "Six rows": lambda: _compare(_sources[:6], _rotated[:6]),
        "Two ResNets": lambda: _compare(_resnet(20), _resnet(32), labels="label"),
        "Four ResNets": lambda: _compare(*(_resnet(depth) for depth in (20, 32, 44, 56))),
    },
    "align": {
        "The same run, rotated": lambda: upto.align(_sources, _rotated),
        "Rotated, with noise": lambda: upto.align(_sources, _rotated + 0.3 * _noise),
        "Two ResNets": lambda: upto.align(_resnet(20), _resnet(32), up_to="ridge"),
    },
    "similarity": {
        "Two ResNets": lambda: upto.similarity(_resnet(20), _resnet(32)),
        "Unrelated runs": lambda: upto.similarity(_sources, _rng_of(3)),
    },
    "layers": {
        "Three layers, rotated": lambda: upto.layers(_layers(0), _layers(1)),
        "Unrelated layers": lambda: upto.layers(_layers(0), {"block": _rng_of(5)}),
    },
    "consensus": {
        "Three rotations of one run": lambda: upto.consensus(*_rotations(3)),
        "Matched components": lambda: upto.consensus(*_rotations(3), up_to="ica"),
        "A run that does not belong": lambda: upto.consensus(*_rotations(3), _rng_of(7)),
    },
    "unmix": {
        "Laplace sources": lambda: upto.unmix(_rotated),
        "Gaussian rows": lambda: upto.unmix(_noise),
    },
    "inspect": {
        "Laplace sources": lambda: upto.inspect(_product(_rng_of(13, rows=3000), _rotation)),
        "A ResNet": lambda: upto.inspect(_resnet(20)),
    },
    "factors": {
        "The factors, rotated": lambda: upto.factors(_rotated, _sources),
        "Unrelated latents": lambda: upto.factors(_rng_of(9), _sources),
    },
    "batches": {
        "A label that transfers": lambda: _batches(_plates()),
        "A label without effect": lambda: _batches(_plates(strength=0.0)),
        "Batch and label confounded": lambda: _batches(_plates(confounded=True)),
    },
    "lipschitz": {
        "A linear decoder": lambda: upto.lipschitz(_sources, decoder=_decoder(), n_points=200),
        "From outputs alone": lambda: upto.lipschitz(
            _sources, _product(_sources, _stretch), n_points=200
        ),
    },
    "diversity": {
        "A head of 50 classes": lambda: upto.diversity(_rng_of(11)[:50]),
        "Fewer classes than dimensions": lambda: upto.diversity(_rng_of(11)[:3]),
    },
    "mixture": {
        "A prior without its decoder": lambda: upto.mixture(_PRIOR),
        "A decoder that folds": lambda: upto.mixture(_LINE, decoder=_FOLD),
        "Two runs, equal variance ratios": lambda: upto.mixture(
            _ROUND, _ROUND, decoder=[_LEAKY] * 2
        ),
    },
}


def _decoder() -> "torch.nn.Module":
    layer = torch.nn.Linear(4, 4, dtype=torch.float64)
    layer.weight.data = torch.as_tensor(_stretch @ _rotation)
    return layer


def _rng_of(seed: int, *, rows: int = ROWS) -> np.ndarray:
    return np.random.default_rng(seed).laplace(size=(rows, 4))


def _resnet(depth: int) -> str:
    return f"{bundled_path('cifar_resnets')}::resnet{depth}"


def _rotations(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    turns = [np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(count)]
    return [_product(_sources, turn) + 0.05 * rng.normal(size=(ROWS, 4)) for turn in turns]


def _layers(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    return {
        f"block{depth}": _product(np.tanh(depth * _rng_of(20 + depth)), turn) for depth in (1, 2, 3)
    }


def page() -> str:
    """Return the page."""
    return OPENING + "".join(_sections())


def _sections() -> Iterator[str]:
    for question in questions():
        yield f"\n## {question.name}\n\n{question.asks}\n\n"
        for case, answer in CASES[question.name].items():
            yield f"*{case}.* {answer().verdict}\n\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
