"""From assumptions to what is identified: Table 1 of Kivva et al. and what lies between."""

import numpy as np
import pytest
from scipy.stats import norm

from upto.core import Group, InputError
from upto.theory import (
    Assumption,
    PiecewiseNetwork,
    check_decoder,
    check_prior,
    stated,
    what_is_identified,
)

WEAK = ("P1", "F1", "F2")
STRONG = ("P1", "F1", "F4", "continuous")


@pytest.mark.parametrize(
    ("assumptions", "prior", "decoder", "hidden"),
    [
        ((), None, None, False),
        (("P1", "F1"), None, None, False),
        (("P1", "F2"), None, None, False),
        (("F1", "F2"), None, None, False),
        (WEAK, Group.AFFINE, None, False),
        (("P1", "F1", "F3"), Group.AFFINE, None, False),
        ((*WEAK, "P2"), Group.SCALED_PERMUTATION, None, False),
        ((*WEAK, "P3"), Group.AFFINE, None, False),
        ((*WEAK, "P2", "P3"), Group.SCALED_PERMUTATION, None, True),
        (STRONG, Group.AFFINE, Group.AFFINE, False),
        (STRONG[:3], Group.AFFINE, None, False),
        ((*WEAK, "continuous"), Group.AFFINE, None, False),
        ((*STRONG, "P2"), Group.SCALED_PERMUTATION, Group.SCALED_PERMUTATION, False),
        ((*STRONG, "P2", "P3"), Group.SCALED_PERMUTATION, Group.SCALED_PERMUTATION, True),
    ],
)
def test_each_set_of_assumptions_gives_its_row(assumptions, prior, decoder, hidden):
    found = what_is_identified(stated(*assumptions))
    assert (found.prior, found.decoder, found.hidden) == (prior, decoder, hidden)


def test_one_hidden_variable_needs_distinct_components_and_not_the_third_assumption():
    assert what_is_identified(stated(*WEAK, "distinct"), hidden_variables=1).hidden
    assert what_is_identified(stated(*WEAK, "P3"), hidden_variables=1).hidden
    assert not what_is_identified(stated(*WEAK), hidden_variables=1).hidden
    assert not what_is_identified(stated(*WEAK, "distinct"), hidden_variables=2).hidden
    assert not what_is_identified(stated("P1", "F1", "distinct"), hidden_variables=1).hidden


@pytest.mark.parametrize(
    "mixture",
    [
        ([0.5, 0.5], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]),
        ([0.3, 0.3, 0.4], [[0, 0], [0, 0], [3, 1]], [[1, 1], [1, 1], [1, 4]]),
    ],
)
def test_weights_of_equal_components_are_not_identified(mixture):
    """Any weights of the two with the same sum make the same law."""
    checks = [*check_prior(mixture), *stated("F1", "F4", "continuous")]
    found = what_is_identified(checks, hidden_variables=1)
    assert not found.hidden
    assert found.prior is not None
    lacks = {each.level.what: [a.name for a in each.lacks] for each in found.guarantees}
    assert lacks["P(U), for one hidden variable"] == ["distinct"]
    holds = {each.name: each.holds for each in found.assumptions}
    assert (holds["distinct"], holds["P3"]) == (False, False)


@pytest.mark.parametrize("count", [0, 1.5, "1", True])
def test_a_number_of_hidden_variables_that_is_none_is_refused(count):
    with pytest.raises(InputError, match="hidden_variables is"):
        what_is_identified(stated(*WEAK), hidden_variables=count)


def test_what_is_missing_for_the_next_level_is_named():
    found = what_is_identified(stated("P1", "F1", "F2", "continuous"))
    lacks = {each.level.what: [a.name for a in each.lacks] for each in found.guarantees}
    assert lacks["P(Z) up to an affine map"] == []
    assert lacks["f up to the same affine map"] == ["F4"]
    assert lacks["P(Z) up to a permutation, scaling and translation of its coordinates"] == ["P2"]
    lines = [str(each) for each in found.guarantees]
    by = "by Theorem 3.10(a) from P1, F1, F2 and noise of known law"
    assert lines[0] == f"P(Z) up to an affine map: {by}"
    assert lines[1] == "f up to the same affine map: lacks F4 (neither stated nor checked)"


def test_injective_implies_the_weaker_kinds_and_their_failure_goes_up():
    found = {a.name: a for a in what_is_identified(stated("F4")).assumptions}
    assert found["F2"].holds
    assert found["F3"].holds
    assert found["F2"].evidence == "follows from F3"
    failed = Assumption(name="F2", holds=False, evidence="folds everywhere")
    found = {a.name: a for a in what_is_identified([failed, *stated("F4")]).assumptions}
    assert found["F3"].holds is False
    assert found["F4"].holds is False


def test_a_failure_counts_most_and_an_undecided_check_least():
    open_, failed = (Assumption(name="P2", holds=holds, evidence="seen") for holds in (None, False))
    for checks, holds in [
        ([open_, *stated("P2")], True),
        ([*stated("P2"), open_], True),
        ([*stated("P2"), failed], False),
        ([failed, *stated("P2")], False),
        ([open_], None),
    ]:
        assert what_is_identified(checks).assumptions[0].holds is holds
    assert what_is_identified([*stated(*WEAK), open_]).prior is Group.AFFINE


def test_an_observably_injective_decoder_is_identified_part_by_part():
    found = what_is_identified(stated("P1", "F1", "F3", "continuous"))
    assert "each connected part" in found.remark
    assert what_is_identified(stated(*WEAK)).remark == ""
    assert what_is_identified(stated(*STRONG)).remark == ""


def test_tables_show_every_level_and_assumption():
    found = what_is_identified([*stated(*WEAK), Assumption(name="P2", holds=None, evidence="?")])
    levels, assumptions = found.tables()
    assert [row[1] for row in levels.texts()] == ["yes", "no", "no", "no", "no", "no"]
    assert levels.texts()[2][3] == "P2"
    assert ["P2", "not known", "?"] in assumptions.texts()
    assert assumptions.texts()[-1][:2] == ["noise of known law", "assumed"]


def test_an_unknown_assumption_is_refused():
    with pytest.raises(InputError, match="'F9' is not one of P1"):
        what_is_identified(stated("F9"))


def thirds(*points):
    return np.full(3, 1 / 3), np.array(points)[:, None], np.zeros((3, 1))


def test_points_can_be_bent_apart():
    """Thirds at 0, 1, 3 and at 0, 1, 5 have one image under two injective decoders."""
    straight = PiecewiseNetwork(weights=[[[1.0]]])
    bent = PiecewiseNetwork(
        weights=[[[1.0], [-1.0], [1.0]], [[1.0, -1.0, -0.5]]], biases=[[0.0, 0.0, -1.0], [0.0]]
    )
    first, second = thirds(0.0, 1.0, 3.0), thirds(0.0, 1.0, 5.0)
    np.testing.assert_array_equal(straight(first[1]), bent(second[1]))
    # Affine maps keep the ratio of distances, or invert it.
    assert {1 / 2, 2.0}.isdisjoint({1 / 4, 4.0})
    for prior, decoder in ((first, straight), (second, bent)):
        checks = {each.name: each.holds for each in check_decoder(decoder)}
        assert checks["F4"]
        found = what_is_identified(
            [*check_prior(prior), *check_decoder(decoder)], hidden_variables=1
        )
        assert (found.prior, found.decoder, found.hidden) == (None, None, False)
        assert [each.name for each in found.guarantees[0].lacks] == ["P1"]


def beside_a_point(place):
    """Half a standard normal law, half a point."""
    return np.array([0.5, 0.5]), np.array([[0.0], [place]]), np.array([[1.0], [0.0]])


FLAT = PiecewiseNetwork(
    weights=[[[1.0], [-1.0], [1.0], [1.0]], [[1.0, -1.0, -1.0, 1.0]]],
    biases=[[0.0, 0.0, -1.0, -2.0], [0.0]],
)
ZIGZAG = PiecewiseNetwork(
    weights=[[[1.0], [-1.0], [1.0], [1.0]], [[1.0, -1.0, -2.0, 2.0]]],
    biases=[[0.0, 0.0, -1.0, -2.0], [0.0]],
)


@pytest.mark.parametrize(
    ("decoder", "places", "kind"),
    [(FLAT, (1.25, 1.75), "F3"), (ZIGZAG, (0.5, 1.5), "F2")],
)
def test_one_full_component_is_not_enough_where_decoders_are_not_injective(decoder, places, kind):
    """A point can stand at any preimage; the full component fixes z but for its sign."""
    np.testing.assert_allclose(*(decoder([[place]]) for place in places))
    assert abs(places[0]) != abs(places[1])
    for place in places:
        checks = [*check_prior(beside_a_point(place)), *check_decoder(decoder)]
        assert {each.name: each.holds for each in checks}[kind]
        found = what_is_identified(checks, hidden_variables=1)
        assert (found.prior, found.decoder, found.hidden) == (None, None, False)


def test_one_full_component_is_enough_where_the_decoder_is_injective():
    bent = PiecewiseNetwork(
        weights=[[[1.0], [-1.0], [1.0]], [[1.0, -1.0, -0.5]]], biases=[[0.0, 0.0, -1.0], [0.0]]
    )
    checks = [*check_prior(beside_a_point(3.0)), *check_decoder(bent)]
    found = what_is_identified(checks, hidden_variables=1)
    assert found.prior is Group.AFFINE
    assert found.decoder is Group.AFFINE
    assert found.hidden
    assert str(found.guarantees[0]).endswith(
        "from P1 partly, F1, F4, continuous and noise of known law"
    )
    # P1 itself fails, and what fails counts more than what is stated.
    assert what_is_identified([*checks, *stated("P1")]).assumptions[0].holds is False


def test_what_is_lacking_leaves_out_routes_on_which_something_fails():
    """Without its decoder, a prior with one point lacks what is not known, not P1, which fails."""
    guarantees = what_is_identified(check_prior(beside_a_point(3.0))).guarantees
    assert [each.name for each in guarantees[0].lacks] == ["F1", "F4", "continuous"]
    # P2 fails on both routes, and P1 only on one.
    assert [each.name for each in guarantees[2].lacks] == ["F1", "F4", "continuous", "P2"]
    points = what_is_identified(check_prior(thirds(0.0, 1.0, 3.0))).guarantees[0]
    assert [each.name for each in points.lacks] == ["P1", "F1", "F2"]


def test_no_full_component_is_known_from_the_failure_of_one():
    failed = Assumption(name="P1 partly", holds=False, evidence="points")
    found = what_is_identified([failed, *stated("P1", "F1", "F4", "continuous")])
    assert found.prior is None
    assert {each.name: each.holds for each in found.assumptions}["P1"] is False


def folded_density(points, means, deviation):
    """Density of |z| for a mixture of thirds."""
    return sum(norm.pdf(s * points, m, deviation) for m in means for s in (-1, 1)) / 3


def test_without_weak_injectivity_two_unlike_mixtures_have_one_image():
    """Remark 3.12: the assumption that fails is the one the library says fails."""
    first, second, deviation = (-2.0, -1.0, 3.0), (-2.0, 1.0, 3.0), 0.4
    points = np.linspace(0, 8, 400)
    np.testing.assert_allclose(
        folded_density(points, first, deviation),
        folded_density(points, second, deviation),
        rtol=0,
        atol=1e-12,
    )
    # The skewness of a scalar law is the same under every affine map but for its sign.
    skewness = [
        abs(np.mean((np.array(m) - np.mean(m)) ** 3)) / (np.var(m) + deviation**2) ** 1.5
        for m in (first, second)
    ]
    assert abs(skewness[0] - skewness[1]) > 0.1
    absolute = PiecewiseNetwork(weights=[[[1.0], [-1.0]], [[1.0, 1.0]]])
    prior = check_prior((np.full(3, 1 / 3), np.array(first)[:, None], np.full((3, 1), deviation)))
    found = what_is_identified([*prior, *check_decoder(absolute)], hidden_variables=1)
    assert (found.prior, found.decoder, found.hidden) == (None, None, False)
    assert [a.name for a in found.guarantees[0].lacks] == ["F2"]
    unfolded = PiecewiseNetwork(weights=[[[1.0], [-1.0]], [[1.0, -1.0]]])
    found = what_is_identified([*prior, *check_decoder(unfolded)], hidden_variables=1)
    assert found.decoder is Group.SCALED_PERMUTATION
    assert found.hidden


def test_hidden_variables_that_p3_was_not_checked_for_are_refused():
    """Two variables cannot number three states, and P3 was checked for one."""
    prior = check_prior(([0.2, 0.3, 0.5], [[0, 0], [3, 1], [7, 5]], [[1, 1], [1, 4], [2, 3]]))
    checks = [*prior, *stated("F1", "F4", "continuous")]
    assert what_is_identified(checks, hidden_variables=1).hidden
    with pytest.raises(InputError, match="hidden_variables is 2, but P3 was checked for 1"):
        what_is_identified(checks, hidden_variables=2)
