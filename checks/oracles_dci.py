"""Compute golden values for codes and factors with the authors' own code.

``python checks/oracles_dci.py PEERS`` writes ``tests/golden/dci.json``. `PEERS` holds the
checked-out files of dl (disentanglement_lib), ubisoft (ubisoft-laforge-disentanglement-metrics,
its folder src) and lq (latent_quantization). The data follow from the seeds in the file.
"""

from __future__ import annotations

import importlib
import json
import sys
import types
import warnings
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_softmax
from sklearn import ensemble, linear_model, preprocessing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Float = NDArray[np.float64]

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "dci.json"
N_SAMPLES = 300
N_FITTED = 200
CLASSES = (4, 3, 5)
GRID = (6, 5, 4)


def data_of(seed: int, *, continuous: bool) -> tuple[Float, NDArray[Any]]:
    """Return codes without ties, and factors that they mix and hide in noise."""
    rng = np.random.default_rng(seed)
    if continuous:
        factors = rng.uniform(size=(N_SAMPLES, len(CLASSES)))
        shown = factors - 0.5
    else:
        factors = np.column_stack([rng.integers(count, size=N_SAMPLES) for count in CLASSES])
        shown = factors / np.array(CLASSES) - 0.5
    mix = np.eye(3, 5) + 0.3 * rng.normal(size=(3, 5))
    codes = (shown @ mix + 0.15 * rng.normal(size=(N_SAMPLES, 5))) * rng.uniform(0.5, 3.0, size=5)
    return codes, factors


def grid_of(seed: int) -> tuple[Float, NDArray[np.int64]]:
    """Return codes of every combination of three factors."""
    rng = np.random.default_rng(seed)
    factors = np.indices(GRID).reshape(3, -1).T
    mix = np.eye(3, 4) + 0.45 * rng.normal(size=(3, 4))
    codes = (factors / np.array(GRID)) @ mix + 0.25 * rng.normal(size=(len(factors), 4))
    return codes, factors


def held_out() -> NDArray[np.bool_]:
    """Return which rows are tested."""
    return np.arange(N_SAMPLES) >= N_FITTED


def importance_of(seed: int) -> Float:
    """Return importances, one code without any."""
    found = np.random.default_rng(seed).exponential(size=(5, 3))
    found[3] = 0.0
    return found


@contextmanager
def importing(*folders: Path) -> Iterator[None]:
    """Search folders first for modules."""
    names = [str(folder) for folder in folders]
    sys.path[:0] = names
    try:
        yield
    finally:
        for name in names:
            sys.path.remove(name)


def standing_in(name: str, **content: Any) -> None:
    """Replace a module that a peer imports but that is not needed here."""
    module = types.ModuleType(name)
    module.__dict__.update(content)
    sys.modules[name] = module


def disentanglement_lib(folder: Path) -> Iterator[tuple[str, Any]]:
    # It is decorated for a program that reads settings, and writes a log: neither is needed.
    standing_in("gin", configurable=lambda *_, **__: lambda function: function, REQUIRED=None)
    standing_in("gin.tf")
    sys.modules["gin"].tf = sys.modules["gin.tf"]
    standing_in("absl", logging=types.SimpleNamespace(info=lambda *_: None))
    standing_in("six")
    standing_in("six.moves", range=range)
    names = ("disentanglement_lib", "evaluation", "metrics")
    for depth in range(1, 4):
        path = folder.joinpath("dl", *names[:depth])
        standing_in(".".join(names[:depth]), __path__=[str(path)])
    found = ("dci", "sap_score", "beta_vae", "factor_vae", "irs", "unsupervised_metrics")
    found += ("modularity_explicitness", "downstream_task", "utils")
    peer = {name: importlib.import_module(".".join([*names, name])) for name in found}
    # Trees draw the order of columns; the tests draw it from the same seed.
    seeded = partial(ensemble.GradientBoostingClassifier, random_state=0)
    peer["dci"].ensemble = types.SimpleNamespace(GradientBoostingClassifier=seeded)
    codes, factors = data_of(0, continuous=False)
    parts = (codes[:N_FITTED].T, factors[:N_FITTED].T, codes[N_FITTED:].T, factors[N_FITTED:].T)
    matrix, _, _ = peer["dci"].compute_importance_gbt(*parts)
    yield "dci importance", matrix.tolist()
    yield "dci", peer["dci"]._compute_dci(*parts)
    given = importance_of(1)
    yield "disentanglement of importance", peer["dci"].disentanglement(given)
    yield "completeness of importance", peer["dci"].completeness(given)
    yield "disentanglement of codes", peer["dci"].disentanglement_per_code(given).tolist()
    yield (
        "sap, discrete",
        peer["sap_score"]._compute_sap(*parts, continuous_factors=False)["SAP_score"],
    )
    yield (
        "sap matrix",
        peer["sap_score"].compute_score_matrix(*parts, continuous_factors=False).tolist(),
    )
    numbers = data_of(2, continuous=True)
    inputs = (numbers[0].T, numbers[1].T)
    yield (
        "sap, continuous",
        peer["sap_score"]._compute_sap(*inputs, *inputs, continuous_factors=True)["SAP_score"],
    )
    normal, mean, spread = peer["utils"].normalize_data(parts[0])
    tested = peer["utils"].normalize_data(parts[2], mean, spread)[0]
    areas = [
        peer["modularity_explicitness"].explicitness_per_factor(normal, fit, tested, held)[1]
        for fit, held in zip(parts[1], parts[3], strict=True)
    ]
    yield "ridgeway explicitness", areas
    for quantile in (0.99, 1.0):
        found = peer["irs"].scalable_disentanglement_score(factors, codes, quantile)
        yield f"irs {quantile:g}", found["avg_score"]
        yield f"irs matrix {quantile:g}", found["IRS_matrix"].tolist()
    covariance = np.cov(codes.T)
    unsupervised = peer["unsupervised_metrics"]
    yield "total correlation", unsupervised.gaussian_total_correlation(covariance)
    distance = float(np.real(unsupervised.gaussian_wasserstein_correlation(covariance)))
    yield "wasserstein correlation", distance
    yield "wasserstein correlation, normalised", distance / np.trace(covariance)
    for name, predictor in (
        ("linear", peer["utils"].logistic_regression_cv),
        ("boosted-trees", seeded),
    ):
        loss = peer["downstream_task"]._compute_loss(
            parts[0].T, parts[1], parts[2].T, parts[3], predictor
        )
        yield f"downstream {name}", loss[1]
    codes, factors = grid_of(3)
    table = {tuple(row): code for row, code in zip(factors.tolist(), codes, strict=True)}
    truth = types.SimpleNamespace(
        num_factors=3,
        sample_factors=lambda count, rng: np.column_stack(
            [rng.randint(size, size=count) for size in GRID]
        ),
        sample_observations_from_factors=lambda found, _: found,
        sample_observations=lambda count, rng: truth.sample_factors(count, rng),
    )

    def represented(found: NDArray[np.int64]) -> Float:
        return np.array([table[tuple(row)] for row in found.tolist()])

    for name, function, more in (
        ("beta-vae", peer["beta_vae"].compute_beta_vae_sklearn, {}),
        ("factor-vae", peer["factor_vae"].compute_factor_vae, {"num_variance_estimate": 2000}),
    ):
        scores = function(
            truth,
            represented,
            np.random.RandomState(0),
            batch_size=16,
            num_train=2000,
            num_eval=4000,
            **more,
        )
        yield name, scores["eval_accuracy"]


def ubisoft(folder: Path) -> Iterator[tuple[str, Any]]:
    def bins(values: Float, count: int) -> NDArray[np.int64]:
        return np.digitize(values, np.linspace(0, 1, count + 1)[:-1], right=False).astype(int)

    # Its own utilities draw and launch processes.
    standing_in("utils", get_bin_index=bins)
    with importing(folder / "ubisoft" / "metrics"):
        for name in ("dci", "sap", "explicitness", "irs"):
            sys.modules.pop(name, None)
        peer = {
            name: importlib.import_module(name) for name in ("dci", "sap", "explicitness", "irs")
        }
    peer["dci"].RandomForestRegressor = partial(ensemble.RandomForestRegressor, random_state=0)
    codes, factors = data_of(2, continuous=True)
    for model in ("lasso", "random_forest"):
        yield f"ubisoft dci, {model}", peer["dci"].dci(factors, codes, model=model)
    yield "ubisoft sap", peer["sap"].sap(factors, codes)
    yield (
        "ubisoft explicitness, continuous",
        peer["explicitness"].explicitness(factors, codes, impl=2),
    )
    codes, factors = data_of(0, continuous=False)
    options = {"continuous_factors": False}
    yield (
        "ubisoft explicitness",
        peer["explicitness"].explicitness(factors, codes, impl=2, **options),
    )
    yield "ubisoft irs", peer["irs"].irs(factors, codes, **options)


def latent_quantization(folder: Path) -> Iterator[tuple[str, Any]]:
    def cross_entropy(logits: Float, labels: NDArray[np.int64]) -> Float:
        return -log_softmax(logits, axis=1)[np.arange(len(labels)), labels]

    def regression(**settings: Any) -> linear_model.LogisticRegression:
        # scikit-learn no longer has these three; an infinite C is no penalty.
        for name in ("penalty", "multi_class", "n_jobs"):
            settings.pop(name)
        return linear_model.LogisticRegression(C=np.inf, **settings)

    standing_in("jax", numpy=np)
    standing_in("jax.numpy", **vars(np))
    standing_in("optax", softmax_cross_entropy_with_integer_labels=cross_entropy)
    standing_in("ipdb")
    with importing(folder / "lq" / "disentangle" / "metrics"):
        sys.modules.pop("explicitness", None)
        peer = importlib.import_module("explicitness")
    # SciPy asks every array whether it is one of JAX.
    del sys.modules["jax"], sys.modules["jax.numpy"]
    peer.linear_model = types.SimpleNamespace(
        LogisticRegression=regression, LinearRegression=linear_model.LinearRegression
    )
    peer.preprocessing = types.SimpleNamespace(
        OneHotEncoder=lambda sparse: preprocessing.OneHotEncoder(sparse_output=sparse),
        StandardScaler=preprocessing.StandardScaler,
        LabelEncoder=preprocessing.LabelEncoder,
    )
    codes, factors = data_of(0, continuous=False)
    yield "infomec explicitness", float(peer.explicitness_classification(codes, factors))
    levels = np.round(2 * codes).astype(np.int64)
    found = float(peer.explicitness_classification(levels, factors))
    yield "infomec explicitness, discrete codes", found
    codes, factors = data_of(2, continuous=True)
    found = float(peer.explicitness_regression(codes, factors))
    yield "infomec explicitness, continuous", found


def main() -> None:
    folder = Path(sys.argv[1])
    values = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source in (disentanglement_lib, ubisoft, latent_quantization):
            values.update(source(folder))
    note = "Written by checks/oracles_dci.py from the authors' own programs."
    text = json.dumps({"note": note, "values": values}, indent=1, default=float)
    GOLDEN.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
