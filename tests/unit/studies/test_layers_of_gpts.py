"""The study of GPT layers: what it compares, how it scores, what it reports."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

pytest.importorskip("torch")

from upto.core import Estimate, InputError
from upto_studies.gpt_agreement import LayerStates, PairScores, Passages, pair_scores
from upto_studies.gpt_states import planned_gpts, row_positions
from upto_studies.gpt_tables import (
    last_less_best,
    least_gain,
    svcca_of,
    unit_means,
    verdict_of,
)
from upto_studies.layers_of_gpts import ScoredPair, Settings, planned_pairs
from upto_studies.run import run_study, study_plan

PASSAGES = np.arange(600) // 12


def settings(size: str = "tiny", **changes: object) -> Settings:
    plan = study_plan("layers-of-gpts", size=size, settings=changes)
    return msgspec.convert(plan.settings, Settings)


def states(rows: np.ndarray, **changes: int) -> LayerStates:
    return LayerStates(rows.astype(np.float32), Passages(PASSAGES, 0), **changes)


def drawn(width: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(600, width))


def scored(unit: int, back: int, value: float, kind: str = "sizes") -> ScoredPair:
    scores = PairScores(svcca={"held out": {4: value}}, errors={}, r2={})
    return ScoredPair(kind=kind, unit=unit, names=("8", "16"), back=back, scores=scores)


def test_pairs_of_sizes_share_a_seed_and_pairs_of_seeds_a_size():
    pairs = planned_pairs(4, 4)
    sizes = [pair for kind, _, pair in pairs if kind == "sizes"]
    assert len(set(sizes)) == 6 * 4
    assert all(seed == other and size < wider for size, seed, wider, other in sizes)
    seeds = [pair for kind, _, pair in pairs if kind == "seeds"]
    assert len(seeds) == 4 * 4
    assert all(size == other and seed != next_one for size, seed, other, next_one in seeds)
    assert len([1 for kind, *_ in planned_pairs(2, 2) if kind == "seeds"]) == 2


def test_passages_are_fitted_or_held_out_whole():
    split = Passages(PASSAGES, 0)
    assert len(split.fitted) == len(split.held) == 300
    assert not np.intersect1d(PASSAGES[split.fitted], PASSAGES[split.held]).size


def test_a_linear_image_agrees_up_to_affine_maps_only():
    rows = drawn(6, 0)
    image = rows @ drawn(6, 1)[:6] + 3
    found = pair_scores(states(rows), states(image), [2, 6, 9])
    assert set(found.svcca["held out"]) == {2, 6}
    assert found.svcca["held out"][6] == pytest.approx(1.0)
    assert found.r2["held out"]["affine"] == pytest.approx(1.0)
    assert found.errors["held out"]["affine"] < 1e-5
    assert found.errors["held out"]["rigid"] > 0.05
    assert found.r2["held out"]["rigid"] < 0.9


def test_a_rotated_run_agrees_up_to_rigid_maps_and_by_chance_it_does_not():
    rows = drawn(6, 0)
    rotation, _ = np.linalg.qr(drawn(6, 1)[:6])
    found = pair_scores(states(rows), states(rows @ rotation), [6])
    assert found.errors["held out"]["rigid"] < 1e-5
    assert found.errors["chance, held out"]["affine"] > 0.1
    assert abs(found.svcca["chance, held out"][6]) < 0.1
    assert found.svcca["chance, in sample"][6] < 0.3


def test_errors_are_mean_distances_over_the_diameter():
    rows = drawn(3, 0)
    noise = 0.1 * drawn(3, 1)
    target = states(rows + noise)
    found = pair_scores(states(rows), target, [3])
    both = np.concatenate([target.fitted, target.held])
    diameter = np.linalg.norm(both[:, None] - both[None], axis=2).max()
    expected = np.linalg.norm(noise, axis=1).mean() / diameter
    assert found.errors["held out"]["rigid"] == pytest.approx(expected, rel=0.1)


def test_means_of_positions_can_be_subtracted():
    place = np.tile(np.arange(4), 150)[:, None] * np.array([5.0, -3.0, 2.0])
    rows, others = drawn(3, 0), drawn(3, 1)
    apart = pair_scores(states(rows + place), states(others + place), [1])
    within = pair_scores(
        states(rows + place, positions=4), states(others + place, positions=4), [1]
    )
    assert apart.svcca["held out"][1] > 0.8
    assert abs(within.svcca["held out"][1]) < 0.2


def test_the_last_layer_is_held_against_the_best_earlier_one_of_each_unit():
    values = {0: (0.9, 0.8), 4: (0.5, 0.7), 8: (0.6, 0.2)}
    pairs = [scored(unit, back, values[back][unit]) for back in values for unit in (0, 1)]
    pairs.append(scored(0, 0, 0.7))
    score = svcca_of(4, "held out")
    np.testing.assert_allclose(unit_means(pairs, "sizes", 0, score), [0.8, 0.8])
    found = last_less_best(pairs, "sizes", [0, 4, 8], score)
    assert found is not None
    assert found.value == pytest.approx(((0.8 - 0.6) + (0.8 - 0.7)) / 2)
    assert last_less_best(pairs, "sizes", [0, 4, 8], svcca_of(5, "held out")) is None


def test_the_claim_needs_every_number_of_directions_and_the_verdict_says_what_speaks_against_it():
    def gain(kind, count, basis):
        return f"{kind}: SVCCA of {count}, {basis}, last less best earlier"

    measured = {
        gain("sizes", 4, "in sample"): Estimate(value=0.3, low=0.2, high=0.4),
        gain("sizes", 4, "held out"): Estimate(value=0.1, low=0.05, high=0.15),
        gain("sizes", 8, "in sample"): Estimate(value=0.2, low=-0.1, high=0.5),
        gain("seeds", 4, "held out"): Estimate(value=0.0, low=-0.1, high=0.1),
        "sizes: affine R², held out, last less best earlier": Estimate(
            value=-0.2, low=-0.3, high=-0.1
        ),
        "perplexity over trigrams, worst size": Estimate(value=0.5),
    }
    least = least_gain(settings(directions=[4, 8]), measured)
    assert (least.value, least.low, least.high) == (0.1, -0.1, 0.15)
    said = verdict_of(settings(directions=[4, 8]), 2, measured)
    assert "between seeds of one size by +0.000 [-0.100, +0.100] with 4 directions" in said
    assert said.endswith("the affine R² of sizes by -0.200 [-0.300, -0.100], the opposite")


def test_positions_are_spread_over_a_text():
    assert row_positions(128, 4) == [31, 63, 95, 127]
    assert row_positions(16, 1) == [15]


def test_every_size_has_the_layers_compared():
    shapes = list(planned_gpts(settings("full"), 4096))
    assert [each.width for each in shapes] == [128, 192, 256, 384]
    assert min(each.depth for each in shapes) == 12
    with pytest.raises(InputError, match="2 layers has none 3 before the last"):
        list(planned_gpts(settings(layers=[0, 3]), 280))
    with pytest.raises(InputError, match="2 widths and 1 depths"):
        list(planned_gpts(Settings(**(_values() | {"depths": [3]})), 280))


def _values() -> dict[str, object]:
    return dict(study_plan("layers-of-gpts", size="tiny").settings)


def test_novels_that_are_missing_are_asked_for(tmp_path):
    with pytest.raises(InputError, match=r"does not contain english_novels_18.txt.xz: .*github"):
        run_study("layers-of-gpts", size="tiny", settings={"data": "novels"}, data=tmp_path)


def test_too_few_passages_are_refused():
    with pytest.raises(InputError, match="make 1 passages of 4: give at least two"):
        run_study("layers-of-gpts", size="tiny", settings={"n_sentences": 60})


def test_the_tiny_study_compares_every_layer():
    quick = {"steps": 20, "n_sentences": 600, "n_texts": 40}
    result = run_study("layers-of-gpts", size="tiny", settings=quick)
    assert result.missed == ()
    assert all(each.measured is not None for each in result.quantities)
    svcca, differences, errors, sizes, yardstick = result.details
    assert len(svcca.rows) == 4 * 2 * 3
    assert len(differences.rows) == 3 * 2 * 2
    assert len(errors.rows) == 2 * 3 * 3
    assert len(sizes.rows) == 2
    assert [row[0] for row in yardstick.rows] == ["16", "24"]
    assert "a substitute" in result.verdict
    losses = result.plots[-1]
    assert [each.name for each in losses.marks] == ["width 16", "width 24", "trigrams, held out"]
