"""P12: InfoMEC of ten thousand rows, twelve codes and six factors."""

from __future__ import annotations

import warnings

import numpy as np
from checks.oracles_information import LOGISTIC, SCALARS, module
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import mutual_info_classif
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, mutual_info_score
from sklearn.preprocessing import StandardScaler

from benchmarks.measure import interleaved, load, publish
from upto.disentanglement.info_scores import infomec

CLASSES = (10, 10, 10, 8, 4, 15)
"""Those of Shapes3D."""
SIZES = {"quick": 2_000, "full": 10_000}


def drawn(n_samples, seed=0):
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(count, size=n_samples) for count in CLASSES])
    centred = (factors - factors.mean(axis=0)) / factors.std(axis=0)
    noise = rng.normal(size=(n_samples, 12))
    mixed = centred @ rng.normal(size=(6, 12)) + 0.3 * rng.normal(size=(n_samples, 12))
    good = noise.copy()
    good[:, :6] = centred + 0.01 * noise[:, :6]
    return factors, {"noise": noise, "factors and noise": good, "factors mixed": mixed}


def steps(factors, codes):
    """Take the steps of latent_quantization's ``infomec.py``, with the calls of today."""
    shares = np.empty((factors.shape[1], codes.shape[1]))
    scaled = StandardScaler().fit_transform(codes)
    explicit = []
    for i, labels in enumerate(factors.T):
        for j in range(codes.shape[1]):
            shares[i, j] = mutual_info_classif(
                scaled[:, [j]], labels, discrete_features=False, n_neighbors=10, random_state=0
            )[0]
        shares[i] /= mutual_info_score(labels, labels)
        losses = []
        for inputs in (scaled, np.zeros_like(codes)):
            model = LogisticRegression(C=np.inf, class_weight="balanced", max_iter=100)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(inputs, labels)
            losses.append(log_loss(labels, model.predict_proba(inputs)))
        explicit.append(1 - losses[0] / losses[1])
    ranges = np.ptp(codes, axis=0)
    kept = shares[:, ranges > ranges.max() / 20]
    found = []
    for axis in (0, 1):
        least = 1 / kept.shape[axis]
        found.append(((kept.max(axis) / kept.sum(axis)).mean() - least) / (1 - least))
    return found[0], float(np.mean(explicit)), found[1]


def authors(folder):
    """Return their own ``infomec.py``, its text changed only where packages of today refuse it."""
    file = folder / "latent_quantization" / "disentangle" / "metrics" / "infomec.py"
    found = module(file, LOGISTIC | SCALARS).compute_infomec

    def scores(factors, codes):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            each = found(factors, codes, discrete_latents=False)
        return each["infom"], each["infoe"], each["infoc"]

    return scores


def run(size, peers=None, rounds=None):
    factors, cases = drawn(SIZES[size])
    who = "latent_quantization" if peers else "latent_quantization's steps"
    reference = authors(peers) if peers else steps
    rows = []
    for name, codes in cases.items():
        theirs = []
        seconds = interleaved(
            {
                "upto": lambda z=codes: infomec(z, factors, variant="latent_quantization"),
                "upto, adjusted for chance": lambda z=codes: infomec(z, factors),
                who: lambda z=codes, kept=theirs: kept.append(reference(factors, z)),
            },
            rounds or 3,
        )
        found = infomec(codes, factors, variant="latent_quantization")
        ours = [each.value for each in (found.modularity, found.explicitness, found.compactness)]
        adjusted = infomec(codes, factors)
        rows.append(
            {
                "codes": name,
                "size": f"{len(codes)}×{codes.shape[1]}, {len(CLASSES)} factors",
                **{f"{who} s": value for who, value in seconds.items()},
                "peer / upto": seconds[who] / seconds["upto"],
                "largest difference": float(np.abs(np.subtract(ours, theirs[0])).max()),
                "InfoM": ours[0],
                "InfoM adjusted": adjusted.modularity.value,
            }
        )
    publish("p12", "InfoMEC", rows, seed=0, load=load())
