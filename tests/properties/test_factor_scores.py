"""What does not change what codes tell must not change a score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from upto.disentanglement.calibrate import evaluate_scores

N_SAMPLES = 60
INVARIANT = ("infomec@adjusted", "infomec@latent_quantization", "infomec@tripod", "mig@adjusted")
INVARIANT += ("dcimig@adjusted", "ridgeway/modularity@adjusted", "irs", "drvi@spn", "drvi@bmmi")
INVARIANT += ("linear-probe", "independence")


@settings(max_examples=3, deadline=None)
@given(
    seed=st.integers(0, 1000),
    order=st.permutations(range(4)),
    signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=4, max_size=4),
)
def test_scores_do_not_depend_on_the_order_and_signs_of_codes(seed, order, signs):
    rng = np.random.default_rng(seed)
    factors = np.column_stack([rng.integers(3, size=N_SAMPLES), rng.uniform(size=N_SAMPLES)])
    codes = np.hstack([factors, rng.normal(size=(N_SAMPLES, 2))])
    codes = codes + 0.2 * rng.normal(size=codes.shape)
    options = {"scores": INVARIANT, "continuous": (False, True), "half_samples": 0}
    before = evaluate_scores(codes, factors, refits=1, **options)
    after = evaluate_scores(codes[:, order] * signs, factors, refits=1, **options)
    for one, other in zip(before, after, strict=True):
        assert (one.value is None) == (other.value is None), one.name
        if one.value is None:
            continue
        # Logistic regressions stop where their gradient is small, not where it is zero.
        within = 2e-3 if "explicitness" in one.name else 1e-9
        assert one.value.value == pytest.approx(other.value.value, abs=within), one.name
        if not one.name.startswith(("gaussian", "wasserstein")):
            assert one.chance == pytest.approx(other.chance, abs=within), one.name


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 1000))
def test_names_of_labels_do_not_count(seed):
    rng = np.random.default_rng(seed)
    factors = rng.integers(3, size=(N_SAMPLES, 2))
    codes = factors + rng.normal(size=(N_SAMPLES, 2))
    named = np.array(["north", "west", "east"])[factors]
    scores = ("infomec/modularity@latent_quantization", "mig", "msas@smi", "irs")
    plain = evaluate_scores(codes, factors, scores=scores, refits=1, half_samples=0)
    again = evaluate_scores(codes, named, scores=scores, refits=1, half_samples=0)
    for one, other in zip(plain, again, strict=True):
        assert one.value.value == pytest.approx(other.value.value, abs=1e-12)
        assert one.chance == pytest.approx(other.chance, abs=1e-12)
