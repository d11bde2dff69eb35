"""Efficiency of ICA: against `upto.compare`, planted truths, and the study at its smallest."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import upto
from upto.simulate.sources import draw_sources
from upto_studies.efficiency_tables import _over_pairs
from upto_studies.ica_efficiency import Condition
from upto_studies.planted_pairs import Planted
from upto_studies.run import run_study
from upto_studies.unmixed_pairs import non_gaussianity, unmixed_pair


def pair(**changes):
    runs = Planted(n_sources=8, **changes).draw(0)
    return unmixed_pair(*runs, seed=0)


def test_the_efficiency_is_that_of_compare():
    first, second = Planted(n_sources=6, rows_each=200, shared=0.9).draw(3)
    found = unmixed_pair(first, second, seed=0)
    compared = upto.compare(first, second, up_to="affine", refits=0, permutations=19)
    # Other rows are held out, so the two agree up to sampling.
    assert found.efficiency == pytest.approx(compared.efficiency, abs=0.05)
    assert found.efficiency_in_sample == pytest.approx(compared.efficiency_in_sample, abs=0.05)


def test_rotated_gaussian_rows_match_on_the_same_rows_alone():
    found = pair(kind="gaussian")
    assert found.efficiency > 0.9
    assert found.principal > 0.9
    assert abs(found.apart) < 0.35
    assert found.recurrence < 0.3
    assert abs(found.rotated) < 0.35


def test_laplace_sources_are_found_on_different_rows():
    found = pair(kind="laplace", rows_each=300)
    assert found.apart > 0.6
    assert found.recurrence == 1.0
    assert found.non_gaussianity == pytest.approx(1.0, abs=0.2)
    assert found.shared == pytest.approx(1.0)
    assert found.rows_each == pytest.approx(300)


def test_leading_directions_stay_in_their_coordinates():
    rows = draw_sources("laplace", 3000, 5, seed=0).rows * np.array([9.0, 7.0, 5.0, 0.1, 0.1])
    # The axes are the coordinates already, so that a permutation leaves no gap to close.
    found = unmixed_pair(rows, rows[:, ::-1].copy(), n_directions=3)
    assert found.n_components == 3
    assert found.efficiency is None


def test_errors_keep_the_order_of_the_paper_and_a_turned_permutation_is_worse():
    rows = draw_sources("laplace", 4000, 6, seed=0).rows
    noise = np.random.default_rng(1).normal(size=rows.shape)
    found = unmixed_pair(rows, rows @ np.diag([1.0, 1, 1, 1, 1, 9]) + 0.05 * noise)
    # The coordinates match, and ICA sees their widths, which a rigid motion leaves alone.
    assert found.errors["linear"] < found.whitened < 0.2 * found.errors["rigid"]
    assert found.turned > found.errors["permutation"]
    assert found.failure == "ICA ≤ rigid"
    assert found.n_non_gaussian == 6
    turned = unmixed_pair(rows, rows @ np.linalg.qr(noise[:6])[0] + 0.05 * noise)
    assert (turned.failure, turned.turned_failure) == ("", "")


def test_components_that_cannot_be_told_from_a_gaussian_are_not_counted():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(3000, 3)), rng.laplace(size=(3000, 2))])
    assert unmixed_pair(rows, rows + 0.01 * rng.normal(size=rows.shape)).n_non_gaussian == 2


def test_whole_groups_are_held_out_and_halved():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 20)
    # Within a group rows are nearly copies, so 600 rows tell no more than 30.
    rows = rng.laplace(size=(30, 8))[groups] + 0.01 * rng.normal(size=(600, 8))
    other = rng.laplace(size=(30, 8))[groups] + 0.01 * rng.normal(size=(600, 8))
    assert unmixed_pair(rows, other, groups=groups).shared < 0
    assert unmixed_pair(rows, other).shared > 0.2


def test_distances_from_a_gaussian():
    rng = np.random.default_rng(0)
    columns = np.column_stack([rng.normal(size=200_000), 3 * rng.laplace(size=200_000)])
    assert non_gaussianity(columns) == pytest.approx([0.0, 1.0], abs=0.05)


def test_shared_variance_is_planted():
    first, second = Planted(n_sources=4, rows_each=5000, shared=0.6).draw(0)
    found = unmixed_pair(first, second)
    # The affine map explains the square of the correlation.
    assert found.shared == pytest.approx(0.36, abs=0.03)


def test_intervals_resample_whole_families():
    def condition(family, value):
        return Condition(
            family=family,
            models="",
            n_directions=1,
            row_share=1.0,
            pair=SimpleNamespace(efficiency=value),
        )

    conditions = [condition(f, v) for f, v in (("a", 0.0), ("a", 0.0), ("b", 1.0), ("c", 2.0))]
    number = lambda some: float(np.mean([each.pair.efficiency for each in some]))  # noqa: E731
    settings = SimpleNamespace(n_resamples=400)
    found = _over_pairs(settings, conditions, number, 0)
    assert found.value == pytest.approx(0.75)
    assert (found.low, found.high) == pytest.approx((0.0, 2.0))
    two = _over_pairs(settings, conditions[:3], number, 0)
    assert two.low is None
    assert math.isfinite(two.value)


@pytest.mark.slow
def test_the_study_at_its_smallest():
    result = run_study("ica-efficiency", size="tiny", progress=False)
    measured = {each.name: each.measured for each in result.quantities}
    assert abs(measured["gaussian, rows apart"].value) < 0.2
    assert measured["rotation/many rows, rows apart"].value > 0.7
    assert measured["rotation/few rows, rows apart"].value < 0.3
    assert measured["depth"].value < -0.5
    assert {table.title for table in result.details} >= {
        "Efficiency of ICA: rows",
        "Efficiency of ICA: training time",
    }
    assert "1.00 if both are unmixed on the same rows" in result.verdict


def test_the_study_with_real_pairs(tmp_path):
    for number, name in enumerate(("one", "two", "three")):
        runs = Planted(n_sources=8, rows_each=60, shared=0.9).draw(number)
        (tmp_path / "reps").mkdir(exist_ok=True)
        np.savez(tmp_path / "reps" / f"{name}.npz", a=runs[0], b=runs[1])
    result = run_study(
        "ica-efficiency",
        size="small",
        settings={
            "n_draws": 1,
            "rows_each": [10],
            "widths": [8],
            "kinds": ["laplace"],
            "depths": [],
            "shared": [],
            "epochs": [],
            "code_widths": [],
            "code_depths": [],
            "directions": [4, 8],
            "n_resamples": 50,
        },
        data=tmp_path,
        progress=False,
    )
    titles = [table.title for table in result.details]
    assert titles[:2] == [
        "What goes with the efficiency, real pairs",
        "Efficiency by the share of components that recur",
    ]
    conditions = result.details[-1]
    assert len(conditions.rows) == 3 * 2 * 2
    assert {row[0] for row in conditions.rows} == {"one", "two", "three"}
