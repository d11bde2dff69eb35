"""What the verdict says of several runs, and under which conditions."""

import numpy as np
import pytest

import upto
from upto.core import Group
from upto.theory import PiecewiseNetwork

WEIGHTS = np.array([0.2, 0.3, 0.5])
MEANS = np.array([[0.0, 0.0], [4.0, 1.0], [-1.0, 5.0]])
VARIANCES = np.array([[1.0, 1.0], [1.0, 4.0], [2.0, 0.5]])
PRIOR = (WEIGHTS, MEANS, VARIANCES)
NARROW = PiecewiseNetwork(weights=[[[1.0, 0.0]], [[1.0], [1.0]]], leak=0.1)


def leaky():
    rng = np.random.default_rng(0)
    return PiecewiseNetwork(weights=(rng.normal(size=(8, 2)), rng.normal(size=(12, 8))), leak=0.1)


ROUND = (WEIGHTS, MEANS, VARIANCES[:, :1].repeat(2, axis=1))
POINTS = (WEIGHTS, MEANS, np.zeros((3, 2, 2)))
ONE_FULL = (WEIGHTS, MEANS, VARIANCES[:, :, None] * np.eye(2) * [[[0.0]], [[0.0]], [[1.0]]])


def verdicts(tmp_path, *priors):
    """Return the verdict on priors in files, in both orders of them."""
    paths = []
    for number, (weights, means, spreads) in enumerate(priors):
        kind = "variances" if np.ndim(spreads) == 2 else "covariances"
        paths.append(tmp_path / f"r{number}.npz")
        np.savez(paths[-1], weights=weights, means=means, **{kind: spreads})
    return [upto.mixture(*order, draws=0).verdict for order in (paths, paths[::-1])]


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (ROUND, "would identify P(Z) and f up to an affine map, and P(U)."),
        (ONE_FULL, "F1, F2, F4 and continuous are not known"),
        (ONE_FULL, "would identify P(Z) and f up to an affine map, and P(U)."),
        (POINTS, "not shown that all of them identify something: P1 fails in 1 of 2 runs (r1: "),
    ],
)
def test_the_weakest_prior_decides_without_decoders_in_any_order(tmp_path, other, says):
    forward, backward = verdicts(tmp_path, PRIOR, other)
    assert says in forward
    # Maps between the priors do depend on which run comes first.
    assert forward.partition(" After")[0] == backward.partition(" After")[0]


def test_the_reasons_of_all_runs_are_named():
    one = upto.mixture(PRIOR, ROUND, decoder=[leaky(), leaky()], draws=0)
    assert "; not more: P2 fails in 1 of 2 runs. After" in one.verdict
    both = upto.mixture(POINTS, PRIOR, PRIOR, decoder=[leaky(), NARROW, leaky()]).verdict
    assert both.startswith("Each of 3 runs: it is not shown that all of them identify something: ")
    assert "P1 fails in 1 of 3 runs (run 1: " in both
    assert "F2 fails in 1 of 3 runs (run 2: " in both
    either = upto.mixture(POINTS, PRIOR, decoder=[leaky(), NARROW]).verdict
    assert either.startswith("Each of 2 runs: nothing is shown to be identified: ")


def test_a_degenerate_component_needs_an_injective_decoder_only():
    found = upto.mixture(ONE_FULL)
    assert found.runs[0].possible_up_to is Group.AFFINE
    assert "F1, F4 and continuous are not known (to settle it: give the decoder)" in found.verdict
    assert "would identify P(Z) and f up to an affine map, and P(U)" in found.verdict
    assert [rung.fails for rung in found.runs[0].rungs[:2]] == [(), ()]
    assert "nothing is shown to be identified: P1 fails" in upto.mixture(POINTS).verdict
