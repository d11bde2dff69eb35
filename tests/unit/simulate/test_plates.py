"""A simulated screen has the layout of a real one and the truth it declares."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from upto.core import InputError
from upto.simulate import (
    CONTROL,
    GUIDES,
    SCREEN_MIXINGS,
    PlateLayout,
    ScreenEffects,
    draw_screen,
    rigid_mixing,
)

TWO_GUIDES = ("MTOR_guide_1", "PLK1_guide_1")
QUIET = ScreenEffects(shift=0.0, plate_offset=0.0, plate_scale=0.0)
LARGE = PlateLayout(n_experiments=2, n_plates=8, n_wells=900, guides=TWO_GUIDES)


@given(
    n_experiments=st.integers(1, 4),
    n_plates=st.integers(1, 5),
    n_wells=st.integers(40, 90),
    control_plates=st.floats(0, 0.4),
    fixed_wells=st.booleans(),
    seed=st.integers(0, 1000),
)
@settings(max_examples=8, deadline=None)
def test_no_well_of_a_plate_is_used_twice_and_guides_have_as_many_wells(
    n_experiments, n_plates, n_wells, control_plates, fixed_wells, seed
):
    layout = PlateLayout(
        n_experiments=n_experiments,
        n_plates=n_plates,
        n_wells=n_wells,
        control_plates=control_plates,
        fixed_wells=fixed_wells,
    )
    screen = draw_screen(layout, n_features=8, seed=seed)
    wells = set(zip(screen.batch.tolist(), screen.address.tolist(), strict=True))
    assert len(wells) == len(screen.rows) == n_experiments * n_plates * n_wells
    pairs = set(
        zip(
            screen.experiment_name.tolist(),
            screen.plate.tolist(),
            screen.batch.tolist(),
            strict=True,
        )
    )
    assert len(pairs) == len(set(screen.batch.tolist())) == n_experiments * n_plates
    held = {batch: set() for batch in screen.batches.tolist()}
    for batch, treatment in zip(screen.batch.tolist(), screen.treatment.tolist(), strict=True):
        held[batch].add(treatment)
    empty = sum(treatments == {CONTROL} for treatments in held.values())
    assert empty == layout.n_control_plates
    assert np.array_equal(screen.is_control, screen.treatment == CONTROL)
    assert abs((~screen.is_control).sum() / layout.n_guide_wells - (len(held) - empty)) < 1e-9


def test_controls_and_a_guide_are_as_many_as_in_the_published_screen():
    screen = draw_screen(PlateLayout(control_plates=0.0), n_features=8, seed=0)
    counts = np.array([(screen.treatment == guide).sum() for guide in GUIDES])
    assert counts.max() - counts.min() <= 1
    assert screen.is_control.sum() / counts.mean() == pytest.approx(16)


def test_addresses_are_those_of_a_plate_of_1536_wells():
    layout = PlateLayout(n_experiments=1, n_plates=1, n_wells=1536, control_plates=0.0)
    screen = draw_screen(layout, n_features=8, seed=0)
    assert screen.address[0] == "A01"
    assert screen.address[-1] == "AF48"
    assert all(re.fullmatch(r"A?[A-Z](0[1-9]|[1-3]\d|4[0-8])", each) for each in screen.address)
    assert len(set(screen.address.tolist())) == 1536


def test_plate_numbers_begin_again_in_every_experiment():
    screen = draw_screen(PlateLayout(n_experiments=3, n_plates=2), n_features=8, seed=0)
    assert set(screen.plate.tolist()) == {1, 2}
    assert sorted(set(screen.batch.tolist())) == [
        "gene-001_1", "gene-001_2", "gene-002_1", "gene-002_2", "gene-003_1", "gene-003_2",
    ]  # fmt: skip


def test_a_run_has_the_columns_and_ids_of_the_published_files():
    screen = draw_screen(PlateLayout(n_experiments=1, n_plates=2), n_features=8, seed=0)
    run = screen.embeddings()
    assert list(run.columns) == [
        "experiment_name", "plate", "batch", "address", "gene", "treatment", "is_control",
    ]  # fmt: skip
    assert run.ids[0] == f"gene-001_1_{screen.address[0]}"
    assert len(set(run.ids.tolist())) == len(run)
    genes = dict(zip(run.columns["treatment"].tolist(), run.columns["gene"].tolist(), strict=True))
    assert genes["MTOR_guide_3"] == "MTOR"
    assert genes[CONTROL] == CONTROL
    assert np.array_equal(screen.factor_embeddings().rows, screen.factors)


def test_a_seed_gives_one_screen_and_another_seed_another():
    first, same, other = (draw_screen(n_features=8, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.rows, same.rows)
    assert np.array_equal(first.treatment, same.treatment)
    assert not np.allclose(first.factors, other.factors)
    single = draw_screen(n_features=8, noise=0.0, dtype=np.float32, seed=1)
    double = draw_screen(n_features=8, noise=0.0, seed=1)
    assert single.rows.dtype == single.factors.dtype == np.float32
    assert np.abs(single.rows - double.rows).max() < 1e-5


@pytest.mark.parametrize("mixing", SCREEN_MIXINGS)
def test_without_noise_the_mixing_leads_back_to_the_factors(mixing):
    layout = PlateLayout(n_experiments=1, n_plates=2, n_wells=40)
    screen = draw_screen(
        layout, n_factors=8, n_features=10, mixing=mixing, lipschitz=0.4, noise=0.0, seed=3
    )
    assert screen.rows.shape == (80, 10)
    assert np.abs(screen.mixing.inverse(screen.rows) - screen.factors).max() < 1e-8


def test_without_a_mixing_every_factor_is_a_coordinate():
    screen = draw_screen(n_features=8, mixing="none", noise=0.0, seed=0)
    assert np.array_equal(screen.rows, screen.factors)


def test_principal_components_are_the_factors_where_the_mixing_says_so():
    screen = draw_screen(LARGE, QUIET, n_features=8, mixing="principal", noise=0.0, seed=0)
    directions = np.linalg.svd(screen.rows - screen.rows.mean(0), full_matrices=False)[2]
    found = np.abs(directions @ screen.mixing.matrix.T)
    found /= np.linalg.norm(screen.mixing.matrix, axis=1)
    assert found.max(axis=1).min() > 0.98
    assert screen.mixing.lipschitz == pytest.approx(1.0)


def test_guides_move_their_own_factors_and_plates_move_the_technical_ones():
    effects = ScreenEffects(n_biological=3, n_technical=2, n_shared=1, shift=0.8, spread=0.5)
    screen = draw_screen(LARGE, effects, n_features=6, sources="gaussian", seed=0)
    assert (screen.biological, screen.technical, screen.shared) == ((0, 1, 2), (2, 3), (2,))
    control = screen.factors[screen.is_control]
    for guide, shifts in zip(screen.guides, screen.shifts, strict=True):
        moved = screen.factors[screen.treatment == guide]
        error = 4 / np.sqrt(len(moved))
        unmoved_by_plates = [0, 1, 4, 5]
        difference = moved.mean(0) - control.mean(0)
        assert np.abs(difference - shifts)[unmoved_by_plates].max() < error
        assert np.flatnonzero(shifts).tolist() == list(screen.axes_of(guide))
        assert np.abs(shifts[list(screen.axes_of(guide))]) == pytest.approx(0.8)
        (axis,) = screen.axes_of(guide)
        assert moved[:, axis].std() / control[:, axis].std() == pytest.approx(np.e**0.5, rel=0.1)
    means = np.array(
        [control[screen.batch[screen.is_control] == b].mean(0) for b in screen.batches]
    )
    assert np.abs(means - screen.offsets).max() < 0.4
    assert np.abs(screen.offsets[:, [0, 1, 4, 5]]).max() == 0.0
    assert screen.offsets[:, [2, 3]].std(axis=0).min() > 0.5


def test_plates_of_an_experiment_have_a_share_of_their_effects_in_common():
    layout = PlateLayout(
        n_experiments=150, n_plates=3, n_wells=10, guides=TWO_GUIDES, controls_per_guide=2.0
    )
    own, half, common = (
        draw_screen(
            layout,
            ScreenEffects(experiment_share=share, n_biological=1, n_technical=1),
            n_features=2,
            seed=0,
        )
        .offsets[:, 1]
        .reshape(150, 3)
        for share in (0.0, 0.5, 1.0)
    )
    assert np.abs(np.corrcoef(own[:, 0], own[:, 1])[0, 1]) < 0.2
    assert own.std() == pytest.approx(1.0, abs=0.1)
    assert np.ptp(common, axis=1).max() == 0.0
    assert common.std() == pytest.approx(1.0, abs=0.15)
    assert half == pytest.approx(np.sqrt(0.5) * (own + common))


def test_what_plates_do_to_rows_is_not_seen_in_the_factors():
    quiet = draw_screen(n_features=8, noise=0.0, seed=0)
    effects = ScreenEffects(observed_offset=0.5, observed_scale=0.2)
    moved = draw_screen(effects=effects, n_features=8, noise=0.0, seed=0)
    assert np.array_equal(quiet.factors, moved.factors)
    one = moved.batch == moved.batches[5]
    slopes = [np.polyfit(quiet.rows[one, j], moved.rows[one, j], 1) for j in range(8)]
    lines = np.array([np.polyval(p, quiet.rows[one, j]) for j, p in enumerate(slopes)]).T
    assert np.abs(lines - moved.rows[one]).max() < 1e-9
    assert np.abs(np.array(slopes) - [1.0, 0.0]).min(axis=0).max() > 0


def test_wells_on_the_edge_have_moved_along_the_first_technical_factor():
    layout = PlateLayout(n_experiments=1, n_plates=3, n_wells=1536, guides=TWO_GUIDES)
    effects = ScreenEffects(shift=0.0, plate_offset=0.0, plate_scale=0.0, edge=2.0)
    screen = draw_screen(layout, effects, n_features=8, seed=0)
    edge = np.array([bool(re.fullmatch(r"A\d+|AF\d+|\w+(01|48)", w)) for w in screen.address])
    assert edge.sum() == 3 * (2 * 48 + 2 * 30)
    difference = screen.factors[edge].mean(0) - screen.factors[~edge].mean(0)
    assert difference[screen.technical[0]] == pytest.approx(2.0, abs=0.2)
    assert np.abs(np.delete(difference, screen.technical[0])).max() < 0.2


def test_confounded_guides_stay_on_their_side_of_the_plate_effect():
    layout = PlateLayout(guides=TWO_GUIDES, controls_per_guide=2.0, confounded=1.0)
    screen = draw_screen(layout, n_features=8, seed=0)
    effect = screen.offsets[:, screen.technical[0]]
    above = dict(zip(screen.batches.tolist(), (effect > np.median(effect)).tolist(), strict=True))
    sides = np.array([above[batch] for batch in screen.batch.tolist()])
    assert sides[screen.treatment == TWO_GUIDES[0]].all()
    assert not sides[screen.treatment == TWO_GUIDES[1]].any()
    assert 0.2 < sides[screen.is_control].mean() < 0.8


def test_fixed_wells_hold_one_treatment_on_all_plates_and_others_do_not():
    free, fixed = (
        draw_screen(PlateLayout(control_plates=0.0, fixed_wells=each), n_features=8, seed=0)
        for each in (False, True)
    )
    pairs = set(zip(fixed.address.tolist(), fixed.treatment.tolist(), strict=True))
    assert len(pairs) == len(set(fixed.address.tolist())) == 64
    pairs = set(zip(free.address.tolist(), free.treatment.tolist(), strict=True))
    assert len(pairs) > len(set(free.address.tolist())) > 600


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: PlateLayout(n_plates=0), "4 experiments of 0 plates are too few"),
        (lambda: PlateLayout(n_wells=1537), "1537 wells are not on a plate"),
        (lambda: PlateLayout(guides=("A", "A")), "2 guides are not distinct"),
        (lambda: PlateLayout(guides=()), "0 guides are not distinct"),
        (lambda: PlateLayout(controls_per_guide=0), "0 controls per guide are too few"),
        (lambda: PlateLayout(confounded=1.5), "confounded of 1.5 is not a fraction"),
        (lambda: PlateLayout(n_wells=20, fixed_wells=True), "leave 10 for 16 guides"),
        (lambda: PlateLayout(control_plates=1.0), "36 of 36 plates would have controls only"),
        (lambda: ScreenEffects(n_biological=0), "0 biological and 4 technical factors"),
        (lambda: ScreenEffects(n_shared=5), "5 factors cannot be both"),
        (lambda: ScreenEffects(n_axes=5), "cannot move 5 of 4 biological"),
        (lambda: ScreenEffects(experiment_share=2.0), "cannot have 2 of the variance"),
        (lambda: ScreenEffects(plate_offset=-1.0), "plate_offset of -1 is below zero"),
        (lambda: ScreenEffects(shift=float("nan")), "shift of nan is not a finite number"),
        (lambda: ScreenEffects(n_technical=0, edge=1.0), "edge effect of 1 needs a technical"),
        (lambda: draw_screen(n_features=4, seed=0), "4 factors are fewer than the 8"),
        (lambda: draw_screen(n_features=8, n_factors=9, seed=0), "8 features cannot represent 9"),
        (lambda: draw_screen(mixing="knot", seed=0), "there is no mixing 'knot'"),
        (lambda: draw_screen(mixing=rigid_mixing(3, seed=0), seed=0), "maps 3 coordinates to 3"),
        (lambda: draw_screen(noise=-0.1, seed=0), "noise of -0.1 is below zero"),
        (lambda: draw_screen(dtype=np.float16, seed=0), "rows of float16 cannot be drawn"),
        (lambda: draw_screen(seed=0).axes_of("TP53_guide_1"), "there is no guide 'TP53_guide_1'"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_words(make, says):
    with pytest.raises(InputError, match=re.escape(says)):
        make()
