"""What `upto.compare` promises for stitched decoders is kept, and a broken promise is noticed."""

from __future__ import annotations

import numpy as np
import pytest

from upto_studies import compared_promises
from upto_studies.compared_promises import COMPONENTS, MAPS, compared_cases

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cases():
    return compared_cases(np.random.default_rng(3), 10, [2, 3])


def test_no_promise_of_a_map_is_broken(cases):
    assert [case for case in cases if case.statement == MAPS and case.is_violated] == []


def test_every_kind_of_pair_is_promised_something(cases):
    kinds = {case.kind.split(", ")[0] for case in cases if case.statement == MAPS}
    assert kinds == {"stitched", "scaled", "small", "flat", "isometric"}
    assert {case.n_dimensions for case in cases} == {2, 3}
    assert any(case.statement == COMPONENTS for case in cases)


def test_rows_in_a_unit_so_small_that_squares_vanish_are_measured(cases):
    small = [case.measured for case in cases if case.kind.startswith("small")]
    assert min(small) > 1e-9


def test_isometries_are_promised_to_agree_up_to_rounding(cases):
    exact = [case for case in cases if case.kind == "isometric, Theorem 1"]
    assert exact
    assert all(case.bound < 1e-9 for case in exact)


def test_decoders_that_are_called_isometries_and_are_not_break_promises(monkeypatch):
    true = compared_promises._runs

    def understated(rng, kind, n):
        first, second, _ = true(rng, kind, n)
        return first, second, (0.0, 0.0)

    monkeypatch.setattr(compared_promises, "_runs", understated)
    cases = compared_cases(np.random.default_rng(3), 10, [2, 3])
    broken = {case.kind.split(", ")[0] for case in cases if case.is_violated}
    assert broken >= {"stitched", "scaled", "small"}
    assert "isometric" not in broken
