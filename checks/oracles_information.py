"""Compute golden values for the information scores with other packages.

``python -m checks.oracles_information PEERS`` writes ``tests/golden/infomec.json``. PEERS is a
folder with the repositories latent_quantization and tripod (of kylehkhsu), disentanglement_lib and
ubisoft (ubisoft-laforge-disentanglement-metrics), and the package pyitlib. Their text is changed
only where packages of today refuse it. ``tests/oracles/test_infomec.py`` draws the same rows and
compares.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import types
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np

OUT = Path(__file__).resolve().parents[1] / "tests" / "golden" / "infomec.json"
N_SAMPLES = 900
CLASSES = (4, 5, 6)
SEEDS = (0, 1)
LOGISTIC = {
    "penalty=None": "C=np.inf",
    "multi_class='multinomial',": "",
    "n_jobs=-1,": "",
    "sparse=False": "sparse_output=False",
}
"""Arguments that scikit-learn renamed or took out."""
SCALARS = {
    "processed_sources[:, i], discrete_features=False,": (
        "processed_sources[:, i], discrete_features=False, random_state=0,"
    ),
    "ret[i, j] = feature_selection": "ret[i, [j]] = feature_selection",
    "ret[i, j] = sklearn.feature_selection": "ret[i, [j]] = sklearn.feature_selection",
    "ret[i] = sklearn.feature_selection": "ret[[i]] = sklearn.feature_selection",
}
"""Numbers that NumPy no longer takes out of arrays of one."""
JAX = {"import jax.numpy as jnp": "import numpy as jnp", "import jax\n": "", "import optax": ""}


def drawn(seed: int) -> tuple[Any, Any, Any]:
    """Return factors, codes that do not tie and are of unequal ranges, and discrete codes."""
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(count, size=N_SAMPLES) for count in CLASSES])
    centred = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    codes = np.column_stack(
        [
            centred[:, 0] + 0.4 * rng.normal(size=N_SAMPLES),
            centred[:, 1] + 0.5 * centred[:, 2] + 0.5 * rng.normal(size=N_SAMPLES),
            centred[:, 2] + 0.6 * rng.normal(size=N_SAMPLES),
            0.04 * (centred[:, 1] + 0.5 * rng.standard_t(3, size=N_SAMPLES)),
            0.02 * (centred[:, 0] + rng.normal(size=N_SAMPLES)),
        ]
    )
    noisy = factors + rng.integers(3, size=factors.shape)
    rare = (factors[:, 0] == 1) & (factors[:, 1] == 2)
    discrete = np.column_stack([noisy, rare, np.zeros(N_SAMPLES, dtype=np.int64)])
    return factors, codes, discrete


def module(path: Path, changes: dict[str, str], **names: Any) -> types.SimpleNamespace:
    """Run a peer's file with changes of its text and names in place of its imports."""
    text = path.read_text(encoding="utf-8")
    for old, new in changes.items():
        text = text.replace(old, new)
    space: dict[str, Any] = {"__name__": path.stem, **names}
    exec(compile(text, str(path), "exec"), space)
    return types.SimpleNamespace(**space)


def stub(name: str, **attributes: Any) -> None:
    """Replace a module that a peer imports but that is not needed here."""
    found = MagicMock()
    for key, value in attributes.items():
        setattr(found, key, value)
    sys.modules[name] = found


def cross_entropy(logits: Any, labels: Any) -> Any:
    """Return what optax calls ``softmax_cross_entropy_with_integer_labels``."""
    return np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(labels)), labels]


def by_latent_quantization(peers: Path, factors: Any, codes: Any, *, discrete: bool) -> Any:
    """Return InfoMEC of the standalone file."""
    file = peers / "latent_quantization" / "disentangle" / "metrics" / "infomec.py"
    found = module(file, LOGISTIC | SCALARS).compute_infomec(
        factors, codes.astype(np.float64), discrete
    )
    return [found["infom"], found["infoe"], found["infoc"]]


def by_tripod(peers: Path, factors: Any, codes: Any, *, discrete: bool) -> Any:
    """Return InfoMEC of Tripod."""
    file = peers / "tripod" / "disentangle" / "metrics" / "infomec.py"
    found = module(file, LOGISTIC | SCALARS).compute_infomec(
        factors, codes.astype(np.float64), discrete
    )
    return [found["infom"], found["infoe"], found["infoc"]]


def by_training(peers: Path, factors: Any, codes: Any, *, discrete: bool) -> Any:
    """Return InfoMEC of the training code, with NumPy in place of JAX."""
    folder = peers / "latent_quantization" / "disentangle" / "metrics"
    changes = LOGISTIC | SCALARS | JAX
    ratios = module(folder / "mutual_information.py", changes)
    mutual, active = ratios.compute_pairwise_mutual_information(
        codes,
        factors,
        not discrete,
        "discrete-discrete" if discrete else "continuous-discrete",
        normalization="sources",
    )
    predicting = module(
        folder / "explicitness.py",
        changes,
        optax=types.SimpleNamespace(softmax_cross_entropy_with_integer_labels=cross_entropy),
    )
    return [
        ratios.compute_mutual_information_ratio(mutual, active, "modularity"),
        predicting.explicitness_classification(codes, factors),
        ratios.compute_mutual_information_ratio(mutual, active, "compactness"),
    ]


def by_disentanglement_lib(factors: Any, codes: Any) -> dict[str, float]:
    """Return MIG and modularity in twenty bins."""
    mig, modularity_explicitness, utils = (
        importlib.import_module(f"disentanglement_lib.evaluation.metrics.{name}")
        for name in ("mig", "modularity_explicitness", "utils")
    )
    utils.make_discretizer = lambda target: utils._histogram_discretize(target, 20)
    mutual = utils.discrete_mutual_info(utils.make_discretizer(codes.T), factors.T)
    return {
        "mig": mig._compute_mig(codes.T, factors.T)["discrete_mig"],
        "modularity": modularity_explicitness.modularity(mutual),
    }


def by_ubisoft(peers: Path, factors: Any, codes: Any) -> dict[str, float]:
    """Return the scores of Ubisoft's package that are made of information."""
    folder = peers / "ubisoft" / "src" / "metrics"
    found = {}
    for name in ("mig", "mig_sup", "dcimig", "jemmig", "modularity"):
        score = getattr(module(folder / f"{name}.py", {}), name)
        found[name] = score(factors=factors, codes=codes, continuous_factors=False)
        found[f"{name} of numbers"] = score(
            factors=factors + 0.1 * codes[:, :3], codes=codes, continuous_factors=True
        )
    return found


def plain(value: Any) -> Any:
    """Return numbers for JSON, with None for NaN."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, int):
        return value
    return float(value) if np.isfinite(value) else None


def main() -> None:
    """Write the peers' values."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peers", type=Path)
    peers = parser.parse_args().peers
    sys.path[:0] = [str(peers), str(peers / "disentanglement_lib"), str(peers / "ubisoft" / "src")]
    warnings.simplefilter("ignore")
    gin = MagicMock()
    gin.configurable = lambda *_, **__: lambda function: function
    for name in ("ipdb", "absl"):
        stub(name)
    stub("gin", tf=gin, configurable=gin.configurable)
    stub("gin.tf", configurable=gin.configurable)
    stub("six")
    stub("six.moves", range=range)
    cases = []
    for seed in SEEDS:
        factors, codes, discrete = drawn(seed)
        cases.append(
            {
                "seed": seed,
                "latent_quantization": by_latent_quantization(
                    peers, factors, codes, discrete=False
                ),
                "latent_quantization_training": by_training(peers, factors, codes, discrete=False),
                "tripod": by_tripod(peers, factors, codes, discrete=False),
                "discrete": {
                    "latent_quantization": by_latent_quantization(
                        peers, factors, discrete, discrete=True
                    ),
                    "latent_quantization_training": by_training(
                        peers, factors, discrete, discrete=True
                    ),
                    "tripod": by_tripod(peers, factors, discrete, discrete=True),
                },
                "disentanglement_lib": by_disentanglement_lib(factors, codes),
                "ubisoft": by_ubisoft(peers, factors, codes),
            }
        )
    record = {"n_samples": N_SAMPLES, "classes": list(CLASSES), "cases": cases}
    OUT.write_text(json.dumps(plain(record), indent=1) + "\n", encoding="utf-8")
    print(f"{OUT}: {len(cases)} cases")


if __name__ == "__main__":
    main()
