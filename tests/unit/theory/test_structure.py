"""Theorem 3 and Appendix A.5."""

from __future__ import annotations

import math

import pytest

from upto.core import Group, InputError
from upto.theory import (
    rigid_promise,
    statistical_from_structural,
    structure_promises,
    unmixing_promise,
)

GIVEN = {
    "n_dimensions": 3,
    "diameter": 5.0,
    "smallest_eigenvalue": 0.8,
    "curvature": 0.1,
}


def test_the_rigid_claim_uses_both_constants():
    rigid, _ = structure_promises(0.1, generator_lipschitz=0.5, **GIVEN)
    assert rigid.constant("e") == pytest.approx(1.1 * 1.5 - 1)
    assert rigid.constant("e of the paper") == pytest.approx(1.5**2 - 1)
    wanted = rigid_promise(0.1, second_lipschitz=0.5, n_dimensions=3, diameter=5.0)
    assert float(rigid) == float(wanted)
    assert (rigid.up_to, rigid.holds) == (Group.RIGID, None)


def test_equal_constants_give_the_bound_of_the_paper():
    rigid, _ = structure_promises(0.2, generator_lipschitz=0.2, **GIVEN)
    assert rigid.constant("e") == pytest.approx(rigid.constant("e of the paper"))


def test_components_follow_from_theorem_2_after_centring():
    rigid, components = structure_promises(1e-6, generator_lipschitz=0.0, **GIVEN)
    wanted = unmixing_promise(
        2 * float(rigid), radius=5.0, smallest_eigenvalue=0.8, curvature=0.1, n_dimensions=3
    )
    assert float(components) == pytest.approx(float(wanted))
    assert components.up_to is Group.SIGNED_PERMUTATION
    assert "non-Gaussian" in components.condition
    assert "the optimum that corresponds to the sources" in components.claim
    assert components.holds is None


def test_every_constant_of_theorem_3_has_a_symbol_of_its_own():
    for promise in structure_promises(0.1, generator_lipschitz=0.5, **GIVEN):
        symbols = [each.symbol for each in promise.constants]
        assert len(set(symbols)) == len(symbols)
        assert (promise.constant("L"), promise.constant("δ")) == (0.1, 0.5)
        assert {"e", "c", "n", "Δ"} <= set(symbols)
    assert {"G₁", "G₂", "R", "μ", "B", "λ"} <= set(symbols)


def test_sources_have_unit_variance_whatever_the_representation_has():
    wide = structure_promises(0.1, generator_lipschitz=0.0, **GIVEN | {"smallest_eigenvalue": 4.0})[
        1
    ]
    assert wide.constant("λ") == 1.0


def test_perfect_isometries_recover_sources_exactly():
    rigid, components = structure_promises(0.0, generator_lipschitz=0.0, **GIVEN)
    assert (rigid.value, components.value) == (0.0, 0.0)


def test_without_curvature_only_the_rigid_claim_is_left():
    rigid, components = structure_promises(
        0.1, generator_lipschitz=0.0, **GIVEN | {"curvature": 0.0}
    )
    assert rigid.value is not None
    assert (components.value, components.holds) == (None, False)


def test_a_negative_constant_is_refused():
    with pytest.raises(InputError, match=r"L of the generator is -0\.1"):
        structure_promises(0.1, generator_lipschitz=-0.1, **GIVEN)


def test_two_errors_to_the_structure_add_up():
    promise = statistical_from_structural(0.1, largest_norm=3.0, up_to=Group.AFFINE)
    assert float(promise) == pytest.approx(0.6)
    assert promise.up_to is Group.AFFINE
    assert float(statistical_from_structural(0.1)) == 0.2
    assert statistical_from_structural(0.1).holds is True
    unbounded = statistical_from_structural(0.1, largest_norm=math.inf)
    assert (unbounded.value, unbounded.holds) == (None, None)
    assert statistical_from_structural(0.0, largest_norm=math.inf).value == 0.0
