"""What mixture priors identify, as a result: rungs, stability, findings, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import upto
from upto.core import Group, InputError
from upto.measures import Mixture, component_overlap, match_components, push_forward
from upto.questions.mixture.result import MixtureResult
from upto.questions.mixture.run_stability import with_random_means
from upto.theory import PiecewiseNetwork

ABSOLUTE = PiecewiseNetwork(weights=[[[1.0], [-1.0]], [[1.0, 1.0]]])
"""f(z) = |z|, whose images have two preimages each."""
WEIGHTS = np.array([0.2, 0.3, 0.5])
MEANS = np.array([[0.0, 0.0], [4.0, 1.0], [-1.0, 5.0]])
VARIANCES = np.array([[1.0, 1.0], [1.0, 4.0], [2.0, 0.5]])
PRIOR = (WEIGHTS, MEANS, VARIANCES)


def leaky(width=2, seed=0):
    rng = np.random.default_rng(seed)
    weights = (rng.normal(size=(4 * width, width)), rng.normal(size=(6 * width, 4 * width)))
    return PiecewiseNetwork(weights=weights, leak=0.1)


def reached(result):
    return result.prior_up_to, result.decoder_up_to, result.hidden


def rungs(result):
    """Return what the table says of every rung."""
    (table,) = (each for each in result.tables() if each.title == "What is identified")
    return [row[1] for row in table.rows]


def codes(found):
    return {finding.code for finding in found.findings}


def test_a_diagonal_prior_and_an_injective_decoder_identify_everything():
    found = upto.mixture(PRIOR, decoder=leaky())
    assert reached(found) == (Group.SCALED_PERMUTATION, Group.SCALED_PERMUTATION, True)
    assert "run 1: as fitted, prior and decoder identify P(Z) and f up to a perm" in found.verdict
    assert all(rung.reached for rung in found.runs[0].rungs)
    assert codes(found) == {"UP098"}


def test_without_a_decoder_nothing_is_known_but_what_a_decoder_would_give():
    found = upto.mixture(PRIOR)
    assert reached(found) == (None, None, False)
    assert "F1 and F2 are not known (to settle it: give the decoder)" in found.verdict
    assert "would identify P(Z) and f up to a permutation and scaling" in found.verdict
    assert found.runs[0].assumption("P2").holds
    assert found.runs[0].assumption("F4").holds is None
    assert found.runs[0].possible_up_to is Group.SCALED_PERMUTATION


def test_equal_variance_ratios_leave_an_affine_map():
    equal = VARIANCES[:, :1].repeat(2, axis=1)
    found = upto.mixture((WEIGHTS, MEANS, equal), decoder=leaky())
    assert reached(found) == (Group.AFFINE, Group.AFFINE, True)
    assert "not more: P2 fails" in found.verdict
    assert "UP092" in codes(found)


def test_nearly_equal_ratios_are_remarked_on():
    near = VARIANCES[:, :1] * np.array([[1.0, 1.0], [1.0, 1.04], [1.0, 1.02]])
    found = upto.mixture((WEIGHTS, MEANS, near), decoder=leaky())
    assert found.prior_up_to is Group.SCALED_PERMUTATION
    assert "UP092" in codes(found)


def test_a_folding_decoder_identifies_nothing():
    prior = ([0.3, 0.7], [[-2.0], [3.0]], [[1.0], [2.0]])
    found = upto.mixture(prior, decoder=ABSOLUTE)
    assert reached(found) == (None, None, False)
    assert found.runs[0].assumption("F2").holds is False
    assert "nothing is shown to be identified: F2 fails" in found.verdict
    assert "UP088" in codes(found)
    assert rungs(found)[0] == "not promised"


def test_what_depends_on_a_missing_decoder_is_not_known():
    assert set(rungs(upto.mixture(PRIOR))) == {"not known"}
    assert rungs(upto.mixture(PRIOR, decoder=leaky()))[0] == "yes"
    narrow = PiecewiseNetwork(weights=[[[1.0, 0.0]], [[1.0], [1.0]]], leak=0.1)
    assert rungs(upto.mixture(PRIOR, PRIOR, decoder=[leaky(), narrow]))[0] == "1 of 2 runs"


def test_a_fitted_prior_decides_nothing_without_its_rows(rng):
    assert upto.mixture(PRIOR, decoder=leaky()).prior_up_to is not None
    found = upto.mixture(PRIOR, decoder=leaky(), fitted=True)
    assert found.prior_up_to is None
    assert found.runs[0].assumption("P2").remedy == "give the rows it was fitted to"
    fitted = Mixture(
        weights=WEIGHTS, means=MEANS, covariances=VARIANCES[:, :, None] * np.eye(2), fitted=True
    )
    assert upto.mixture(fitted, decoder=leaky()).prior_up_to is None


def draw(rng, n_rows, means, variances):
    state = rng.integers(len(means), size=n_rows)
    return means[state] + np.sqrt(variances[state]) * rng.normal(size=(n_rows, means.shape[1]))


def test_a_component_that_rows_do_not_support_is_found(rng):
    from sklearn.mixture import GaussianMixture

    rows = rng.normal(size=(300, 2))
    model = GaussianMixture(2, covariance_type="diag", random_state=0).fit(rows)
    found = upto.mixture(model, decoder=leaky(), rows=rows)
    assert found.prior_up_to is Group.AFFINE
    assert not found.hidden
    assert found.runs[0].n_rows == 300
    assert "UP095" in codes(found)
    assert sum(each.n_rows for each in found.runs[0].components) == 300


def test_rows_of_another_law_are_found(rng):
    found = upto.mixture(PRIOR, decoder=leaky(), rows=rng.laplace(size=(400, 2)))
    assert found.prior_up_to is None
    assert "UP087" in codes(found)


@pytest.mark.parametrize("seed", range(3))
def test_order_scale_and_shift_change_no_rung(seed):
    rng = np.random.default_rng(seed)
    order, swap = rng.permutation(3), rng.permutation(2)
    scale, shift = rng.uniform(0.2, 5.0, 2) * rng.choice([-1, 1], 2), rng.normal(size=2)
    changed = (
        WEIGHTS[order],
        (MEANS * scale + shift)[order][:, swap],
        (VARIANCES * scale**2)[order][:, swap],
    )
    found, expected = upto.mixture(changed), upto.mixture(PRIOR)
    for one, other in zip(found.runs[0].assumptions, expected.runs[0].assumptions, strict=True):
        assert (one.name, one.holds) == (other.name, other.holds)
    assert found.runs[0].possible_up_to is Group.SCALED_PERMUTATION


def as_mixture(weights, means, variances):
    return Mixture(
        weights=weights, means=means, covariances=variances[:, :, None] * np.eye(means.shape[1])
    )


@settings(max_examples=4)
@given(seed=st.integers(0, 10**6))
def test_affine_maps_and_orders_change_no_stability(seed):
    rng = np.random.default_rng(seed)
    first = as_mixture(*PRIOR)
    second = as_mixture(WEIGHTS, MEANS + 0.3 * rng.normal(size=MEANS.shape), VARIANCES)
    order, turn = rng.permutation(3), rng.normal(size=(2, 2)) + 2 * np.eye(2)
    moved = push_forward(second, turn, rng.normal(size=2))
    moved = Mixture(
        weights=moved.weights[order],
        means=moved.means[order],
        covariances=moved.covariances[order],
    )
    plain, mapped = match_components(first, second), match_components(first, moved)
    np.testing.assert_allclose(mapped.distance, plain.distance, atol=1e-4)
    np.testing.assert_allclose(mapped.overlaps, plain.overlaps, atol=1e-3)
    np.testing.assert_array_equal(order[mapped.partners], plain.partners)


def test_the_overlap_is_the_integral_of_the_root_of_the_product():
    first = Mixture(weights=[1.0], means=[[0.5]], covariances=[[[2.0]]])
    second = Mixture(weights=[0.4, 0.6], means=[[-1.0], [3.0]], covariances=[[[0.3]], [[1.5]]])
    grid = np.linspace(-30, 30, 200_001)

    def density(mean, variance):
        return np.exp(-0.5 * (grid - mean) ** 2 / variance) / np.sqrt(2 * np.pi * variance)

    own = density(0.5, 2.0)
    expected = [
        np.trapezoid(np.sqrt(own * density(mean, variance)), grid)
        for mean, variance in ((-1.0, 0.3), (3.0, 1.5))
    ]
    np.testing.assert_allclose(component_overlap(first, second)[0], expected, rtol=1e-8)


def test_random_means_have_the_spread_of_the_means_and_follow_affine_maps():
    mixture = as_mixture(*PRIOR)
    centre = WEIGHTS @ MEANS
    spread = (MEANS - centre).T @ (WEIGHTS[:, None] * (MEANS - centre))
    rng = np.random.default_rng(0)
    drawn = np.concatenate([with_random_means(mixture, rng).means for _ in range(4000)])
    np.testing.assert_allclose(drawn.mean(axis=0), centre, atol=0.1)
    np.testing.assert_allclose(np.cov(drawn.T), spread, rtol=0.1, atol=0.2)
    turn, shift = np.array([[2.0, 1.0], [0.0, -1.0]]), np.array([5.0, 1.0])
    here, there = (
        with_random_means(each, np.random.default_rng(1))
        for each in (mixture, push_forward(mixture, turn, shift))
    )
    np.testing.assert_allclose(here.means @ turn.T + shift, there.means, rtol=1e-9)


MANY = (
    np.full(6, 1 / 6),
    np.array([[-20.0], [-13.0], [-2.0], [1.0], [9.0], [25.0]]),
    np.array([[1.0], [2.0], [0.5], [1.0], [3.0], [2.0]]),
)
"""Far more components than an affine map of a line can move."""


def runs_of(rng, noise, count):
    weights, means, variances = MANY
    return [
        (weights, means + noise * rng.normal(size=means.shape), variances) for _ in range(count)
    ]


def test_components_that_recur_are_beyond_chance_with_an_interval(rng):
    found = upto.mixture(*runs_of(rng, 0.1, 4))
    stability = found.stability
    assert len(found.pairs) == stability.n_pairs == 12
    assert stability.recurring.value.value == 1.0
    assert stability.overlap.value.low is not None
    assert stability.overlap.value.value > stability.overlap.limit
    assert stability.distance.value.value < 0.2 < stability.distance.chance
    assert "100% of the components recur in another run" in found.verdict
    assert "UP097" not in codes(found)
    assert [match.second for match in found.pairs[0].matches] == [1, 2, 3, 4, 5, 6]


def test_components_of_unrelated_runs_are_within_chance(rng):
    found = upto.mixture(*runs_of(rng, 20.0, 2))
    assert "UP097" in codes(found)
    assert found.stability.overlap.value.low is None


def test_no_draws_give_no_chance_level(rng):
    found = upto.mixture(*runs_of(rng, 0.1, 2), draws=0)
    assert found.stability.overlap.chance is None
    assert found.stability.overlap.limit is None
    assert "chance" not in found.verdict


def test_runs_with_different_numbers_of_components_leave_some_alone():
    fewer = tuple(each[:5] for each in MANY)
    fewer = (np.full(5, 0.2), *fewer[1:])
    found = upto.mixture(MANY, fewer, draws=0)
    assert "UP096" in codes(found)
    lonely = [match for match in found.pairs[0].matches if match.second is None]
    assert len(lonely) == 1
    assert lonely[0].second_weight is None
    assert not lonely[0].recurs


def test_rows_of_the_same_samples_are_compared_up_to_the_promised_group(rng):
    # Rows that clearly do not follow the prior are tested in a moment.
    means, variances = MEANS * 4, VARIANCES
    rows = draw(rng, 300, means, variances / 4)
    prior = (np.full(3, 1 / 3), means, variances)
    other = (prior[0], means[:, ::-1] * 2, variances[:, ::-1] * 4)
    found = upto.mixture(
        prior, other, decoder=[leaky(), leaky()], rows=[rows, rows[:, ::-1] * 2], draws=0,
        up_to="scaled-permutation",
    )  # fmt: skip
    assert found.codes.rand_index.value == pytest.approx(1.0)
    assert found.codes.error.value < 1e-9 < found.codes.chance
    assert found.codes.up_to is Group.SCALED_PERMUTATION
    assert found.pairs[0].codes.p_value < 0.05
    assert found.pairs[1].codes is None
    shuffled = rng.permutation(rows)
    found = upto.mixture(prior, prior, rows=[rows, shuffled], draws=0)
    assert abs(found.codes.rand_index.value) < 0.05
    assert found.codes.up_to is Group.AFFINE


def test_rows_of_different_samples_are_not_compared(rng):
    rows = draw(rng, 300, MEANS * 3, VARIANCES)
    found = upto.mixture(PRIOR, PRIOR, rows=[rows, rows[:200]], draws=0)
    assert found.codes is None


def test_a_claim_beyond_what_is_known_is_not_supported():
    equal = (WEIGHTS, MEANS, VARIANCES[:, :1].repeat(2, axis=1))
    found = upto.mixture(equal, decoder=leaky(), up_to="scaled-permutation")
    assert "UP099" in codes(found)
    assert "UP099" not in codes(upto.mixture(equal, decoder=leaky(), up_to="affine"))
    assert "UP099" not in codes(upto.mixture(PRIOR, decoder=leaky(), up_to="affine"))


def test_the_weakest_run_decides():
    equal = (WEIGHTS, MEANS, VARIANCES[:, :1].repeat(2, axis=1))
    found = upto.mixture(PRIOR, equal, decoder=[leaky(), leaky()], draws=0)
    assert found.prior_up_to is Group.AFFINE
    assert found.run("run 1").prior_up_to is Group.SCALED_PERMUTATION
    (row,) = [row for row in found.tables()[0].rows if row[0] == "P2"]
    assert row[1] == "fails in 1 of 2 runs"
    assert row[2].startswith("run 2: ")


@pytest.mark.parametrize(
    ("prior", "code"),
    [
        (([0.5, 0.5], [[0, 0], [1, 2]], [np.eye(2), np.zeros((2, 2))]), "UP091"),
        (([0.002, 0.998], [[0, 0], [5, 2]], [[1, 1], [1, 4]]), "UP093"),
        (([1.0], [[0, 0]], [[1, 2]]), "UP094"),
        (([0.5, 0.5], [[0, 0], [0.1, 0]], [[1, 1.0], [1, 1.3]]), "UP095"),
    ],
)
def test_each_weakness_of_a_prior_is_found(prior, code):
    assert code in codes(upto.mixture(prior, decoder=leaky()))
    assert code not in codes(upto.mixture(PRIOR, decoder=leaky()))


def test_equal_components_leave_only_the_hidden_state_open():
    collapsed = (WEIGHTS, np.zeros((3, 2)), np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 4.0]]))
    found = upto.mixture(collapsed, decoder=leaky())
    assert found.runs[0].assumption("distinct").holds is False
    assert reached(found) == (Group.SCALED_PERMUTATION, Group.SCALED_PERMUTATION, False)
    assert found.verdict.endswith("; not more: distinct fails.")
    assert codes(found) == {"UP095", "UP098"}


def test_degenerate_priors_are_not_matched():
    flat = ([0.5, 0.5], [[0, 0], [1, 2]], [np.eye(2), np.zeros((2, 2))])
    found = upto.mixture(flat, flat)
    assert found.stability is None
    assert found.pairs == ()


def test_wide_priors_are_matched_without_descent(rng):
    means = 5 * rng.normal(size=(4, 14))
    prior = (np.full(4, 0.25), means, np.exp(rng.normal(size=(4, 14))))
    turn = rng.normal(size=(14, 14))
    other = push_forward(as_mixture(*prior), turn, np.zeros(14))
    found = upto.mixture(prior, other, draws=0)
    assert found.stability.overlap.value.value > 0.999


def test_the_result_is_read_back_and_drawn(rng):
    found = upto.mixture(*runs_of(rng, 0.1, 2), draws=0)
    again = MixtureResult.from_json(found.to_json())
    assert again == found
    assert again.panels()[0].title == "Weights of the components"
    assert len(found.tables()) == 7
    assert found.tables()[4].rows[0][-2:] == (1, 1)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "there is no prior"),
        (((WEIGHTS, MEANS),), {}, "run 1: a tuple is not a mixture"),
        (({"means": MEANS},), {}, "run 1 has no weights and no variances or covariances"),
        (((WEIGHTS, MEANS, -VARIANCES),), {}, "run 1: a covariance has the eigenvalue"),
        (
            ({"weights": WEIGHTS, "means": MEANS, "variances": -VARIANCES},),
            {},
            "variances down to -4: give positive ones",
        ),
        (((WEIGHTS[:2], MEANS, VARIANCES),), {}, r"run 1: weights \(2,\), means \(3, 2\)"),
        ((PRIOR,), {"decoder": leaky(3)}, "decoder takes 3 latents, but the prior run 1 has 2"),
        ((PRIOR, PRIOR), {"decoder": [leaky()]}, "there is 1 decoder for 2 priors: give one"),
        ((PRIOR,), {"rows": np.ones((20, 3))}, "first has 3 coordinates, but the prior run 1"),
        ((PRIOR, PRIOR), {"rows": np.ones((20, 2))}, "rows of 1 run for 2 priors"),
        ((PRIOR,), {"leak": 0.1}, "a leak of 0.1 without a decoder changes nothing"),
        ((PRIOR, ([1.0], [[0.0]], [[1.0]])), {}, "the priors have from 1 to 2 coordinates"),
        ((PRIOR,), {"rows": np.eye(9)[:, :2]}, "run 1: 9 rows are too few to test 3 components"),
        ((PRIOR,), {"up_to": "rigid"}, "identified up to affine or scaled-permutation"),
        ((PRIOR,), {"draws": -1}, "draws"),
        (
            ({"weights": WEIGHTS, "pi": WEIGHTS, "means": MEANS, "variances": VARIANCES},),
            {},
            "weights, pi, which are all weights: keep one",
        ),
        (
            ({"logits": WEIGHTS, "weights": WEIGHTS, "means": MEANS, "variances": VARIANCES},),
            {},
            "keep one kind of each",
        ),
    ],
)
def test_bad_input_is_one_sentence(arguments, options, message):
    with pytest.raises(InputError, match=message) as raised:
        upto.mixture(*arguments, **options)
    assert "\n" not in str(raised.value)


def test_names_and_forms_of_other_libraries_are_known():
    logits = {"logits": np.log(WEIGHTS) + 3, "mu": MEANS, "logvar": np.log(VARIANCES)}
    found = upto.mixture(logits, decoder=leaky())
    assert found.prior_up_to is Group.SCALED_PERMUTATION
    np.testing.assert_allclose([each.weight for each in found.runs[0].components], WEIGHTS)
    round_ = upto.mixture({"weights": WEIGHTS, "means": MEANS, "variances": VARIANCES[:, 0]})
    assert round_.runs[0].assumption("P2").holds is False


def test_a_module_is_read_with_its_biases():
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 9)).eval().double()
    found = upto.mixture(PRIOR, decoder=module)
    assert found.decoder_up_to is Group.SCALED_PERMUTATION
    smooth = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 9)).eval()
    found = upto.mixture(PRIOR, decoder=smooth)
    assert "is not a chain of linear layers" in found.runs[0].assumption("F1").evidence
    mixed = nn.Sequential(
        nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 9), nn.ReLU(), nn.Linear(9, 9)
    ).eval()
    assert upto.mixture(PRIOR, decoder=mixed).runs[0].assumption("F1").holds is None
    gap = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 2)).eval()
    with torch.no_grad():
        gap[0].weight[:] = torch.tensor([[1.0], [-1.0]])
        gap[0].bias[:] = -1.0  # without it, the two units leave no gap
        gap[2].weight[:] = torch.eye(2)
    line = ([0.5, 0.5], [[0.0], [3.0]], [[1.0], [2.0]])
    assert upto.mixture(line, decoder=gap).runs[0].assumption("F4").holds is False
