"""What `consensus` says of many runs: what they share, and which of them do not belong."""

from __future__ import annotations

import json
from dataclasses import replace

import array_api_strict
import numpy as np
import pytest
import scipy.linalg
from mixtures import correlations

import upto
from upto import (
    ConsensusResult,
    Embeddings,
    Estimate,
    InputError,
    ThreadsEngine,
    compare,
    consensus,
    read_run,
)
from upto.questions.consensus import reproducibility as reproducing
from upto.questions.consensus import spaces
from upto.questions.consensus.reproducibility import (
    Explained,
    chance_limit,
    chance_share,
    explained_share,
    mean_correlations,
)

NOISE = 0.4


def codes(result):
    return {finding.code for finding in result.findings}


def rotation(rng, width):
    return np.linalg.qr(rng.normal(size=(width, width)))[0]


def turned(rng, *, n_runs=4, n_rows=2000, width=5, noise=NOISE):
    """Rotations of one latent space of unit variance a coordinate on average, and noise."""
    spread = np.sqrt(np.linspace(1.8, 0.2, width))
    latent = rng.laplace(size=(n_rows, width)) / np.sqrt(2) * spread
    runs = [
        latent @ rotation(rng, width) + noise * rng.normal(size=latent.shape) + rng.normal()
        for _ in range(n_runs)
    ]
    return latent, runs


def mixed_runs(rng, *, n_runs=4, n_rows=2500, n_shared=5, n_private=3, noise=0.1):
    """Mixtures of sources of which some are in every run and the others in one each."""
    shared = rng.laplace(size=(n_rows, n_shared)) / np.sqrt(2)
    width, runs = n_shared + n_private, []
    for _ in range(n_runs):
        private = rng.laplace(size=(n_rows, n_private)) / np.sqrt(2)
        sources = np.hstack([shared + noise * rng.normal(size=shared.shape), private])
        runs.append(sources @ rng.normal(size=(width, width)))
    return shared, runs


def written(tmp_path, *runs, **options):
    result = consensus(*runs, output=tmp_path / "out.npy", **options)
    return result, np.load(tmp_path / "out.npy")


def test_planted_runs_are_explained_as_far_as_their_noise_lets_them(rng, tmp_path):
    latent, runs = turned(rng, n_rows=6000)
    result, rows = written(tmp_path, *runs)
    # The others' mean has a third of the noise of one run.
    explained = 1 - NOISE**2 * (1 + 1 / 3) / (1 + NOISE**2)
    for run in result.runs:
        assert run.explained.value == pytest.approx(explained, abs=0.01)
        assert run.explained.low < run.explained.value < run.explained.high < 1
        assert run.p_value == 0.005
        assert run.belongs
        assert run.n_appearing == 5
    assert result.in_every_run == (0, 1, 2, 3, 4)
    assert (result.in_some_runs, result.in_no_run) == ((), ())
    assert result.verdict.startswith("All 4 runs share one space up to a rigid motion: ")
    assert result.findings == ()
    # The mean of four runs has a quarter of the noise, in every direction.
    centred = latent - latent.mean(axis=0)
    turn, _ = scipy.linalg.orthogonal_procrustes(rows, centred)
    left = np.sum((rows @ turn - centred) ** 2)
    assert left / len(rows) == pytest.approx(5 * NOISE**2 / 4, rel=0.05)


def test_the_file_holds_the_mean_of_the_turned_runs_along_its_principal_axes(rng, tmp_path):
    _, runs = turned(rng, width=4)
    result, rows = written(tmp_path, *runs)
    assert rows.shape == (2000, 4)
    covariance = np.cov(rows.T)
    variances = np.diag(covariance)
    assert np.all(np.diff(variances) < 0)
    # The axes are those of the fitted rows, most of all.
    off = covariance - np.diag(variances)
    assert np.abs(off).max() < 0.05 * variances.max()
    shares = [component.variance for component in result.components]
    np.testing.assert_allclose(shares, variances / variances.sum(), atol=0.02)


def test_the_coordinates_of_the_file_lean_to_the_right(rng, tmp_path):
    """Of skewed runs, that is: which of two equal sides is called the right is left to chance."""
    latent = (rng.exponential(size=(2000, 4)) - 1) * np.sqrt([1.8, 1.0, 0.5, 0.2])
    for side in (1, -1):
        runs = [
            side * latent @ rotation(rng, 4) + 0.1 * rng.normal(size=latent.shape) for _ in range(3)
        ]
        _, rows = written(tmp_path, *runs)
        leaning = np.sum(rows * np.abs(rows), axis=0) / np.sum(rows**2, axis=0)
        assert leaning.min() > 0.2


def test_two_runs_are_explained_as_the_comparison_explains_them(rng):
    _, (first, second) = turned(rng, n_runs=2, n_rows=600)
    result = consensus(first, second)
    onto = compare(first, second, ica=False, refits=0)
    back = compare(second, first, ica=False, refits=0)
    assert result.runs[1].explained.value == pytest.approx(onto.rigid.held_out.r2, abs=1e-10)
    assert result.runs[0].explained.value == pytest.approx(back.rigid.held_out.r2, abs=1e-10)
    scaled = consensus(first, second, up_to="similarity")
    assert scaled.runs[1].explained.value == pytest.approx(onto.similarity.held_out.r2, abs=1e-10)
    assert result.verdict.startswith("Both runs share")


def test_runs_of_different_scales_agree_up_to_a_similarity_only(rng):
    _, runs = turned(rng, noise=0.05, n_rows=800)
    runs = [scale * run for scale, run in zip((0.01, 1, 1, 50), runs, strict=True)]
    rigid, similar = consensus(*runs), consensus(*runs, up_to="similarity")
    # The two of one scale belong together, and the others do not part them.
    assert [run.belongs for run in rigid.runs] == [False, True, True, False]
    assert "(second and third)" in rigid.verdict
    assert all(run.p_value == 0.005 for run in rigid.runs)
    assert "UP030" in codes(rigid)
    assert all(run.explained.value > 0.98 for run in similar.runs)
    scales = np.array([run.scale for run in similar.runs]) * (0.01, 1, 1, 50)
    np.testing.assert_allclose(scales / scales.mean(), 1, rtol=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_exactly_the_shared_components_are_found_in_every_run(seed, tmp_path):
    shared, runs = mixed_runs(np.random.default_rng(seed))
    result, rows = written(tmp_path, *runs, up_to="ica")
    assert result.in_every_run == (0, 1, 2, 3, 4)
    assert result.in_no_run == (5, 6, 7)
    assert all(run.n_appearing == 5 and run.belongs for run in result.runs)
    assert result.verdict.startswith("5 of 8 components appear in all 4 runs, 3 in none: ")
    assert result.consistency == 1
    assert codes(result) == set()
    found = correlations(rows[:, :5], shared)
    assert sorted(found.argmax(axis=1)) == [0, 1, 2, 3, 4]
    assert found.max(axis=1).min() > 0.99
    assert correlations(rows[:, 5:], shared).max() < 0.15
    np.testing.assert_allclose(rows.std(axis=0), 1, atol=0.05)
    means = [component.mean.value for component in result.components]
    assert means == sorted(means, reverse=True)
    assert sum(component.variance for component in result.components) == pytest.approx(1)


def test_a_run_is_explained_by_the_share_of_its_variance_that_is_shared(rng):
    _, runs = mixed_runs(rng, noise=0.0, n_rows=4000)
    runs = [run @ np.linalg.inv(np.linalg.cholesky(np.cov(run.T)).T) for run in runs]
    result = consensus(*runs, up_to="ica")
    for run in result.runs:
        assert run.explained.value == pytest.approx(5 / 8, abs=0.03)
        assert run.explained.low < 5 / 8 < run.explained.high


def test_components_of_some_runs_only_are_told_from_those_of_all(rng):
    sources = rng.laplace(size=(2500, 4))
    runs = [
        np.hstack([sources[:, :3], sources[:, 3:] if i < 3 else rng.laplace(size=(2500, 1))])
        @ rng.normal(size=(4, 4))
        for i in range(5)
    ]
    result = consensus(*runs, up_to="ica")
    assert result.in_every_run == (0, 1, 2)
    assert result.in_some_runs == (3,)
    assert result.components[3].n_runs == 3
    limit = result.chance_limit
    assert [c > limit for c in result.components[3].correlations] == [True] * 3 + [False] * 2


@pytest.mark.parametrize("up_to", ["rigid", "similarity", "ica"])
def test_an_unrelated_run_is_flagged_and_no_other(rng, up_to):
    _, runs = turned(rng, n_rows=1500)
    result = consensus(*runs, rng.laplace(size=(1500, 5)), up_to=up_to)
    assert [run.belongs for run in result.runs] == [True] * 4 + [False]
    (message,) = (f.message for f in result.findings if f.code == "UP030")
    assert message.startswith("the share of fifth that the others explain is ")
    # After ICA, one that half of the rows do not find again may be missing.
    appearing = [component.n_runs for component in result.components[:4]]
    assert sum(n_runs >= 4 for n_runs in appearing) >= (3 if up_to == "ica" else 4)
    assert result.runs[4].n_appearing <= 1


def test_gaussian_runs_of_the_same_rows_share_no_component(rng):
    """The accident of the sample is the same in every run, but no component of it."""
    rows = rng.normal(size=(5000, 8))
    result = consensus(*(rows @ rotation(rng, 8) for _ in range(4)), up_to="ica", seed=0)
    assert result.in_every_run == ()
    assert result.verdict.startswith("No component appears in all 4 runs")
    assert min(run.n_near_gaussian for run in result.runs) >= 7
    messages = [finding.message for finding in result.findings if finding.code == "UP003"]
    assert len(messages) == 4
    assert all("of 8 components of" in message for message in messages)


@pytest.mark.slow
@pytest.mark.parametrize("given", ["mixtures", "ICA of mixtures"])
def test_gaussian_sources_beside_others_do_not_appear(rng, given):
    sources = np.hstack([rng.laplace(size=(4000, 6)), rng.normal(size=(4000, 4))])
    runs = [sources @ rng.normal(size=(10, 10)) for _ in range(6)]
    if given != "mixtures":
        runs = [upto.ICA(random_state=i).fit_transform(run) for i, run in enumerate(runs)]
    result = consensus(*runs, up_to="ica", seed=0)
    assert result.verdict.startswith("6 of 10 components appear in all 6 runs, 4 in none: ")
    assert "UP003" in codes(result)


def test_components_that_are_given_are_matched_as_they_are(rng, tmp_path):
    shared = rng.laplace(size=(2000, 4))
    runs = []
    for _ in range(3):
        own = np.hstack([shared + 0.2 * rng.normal(size=shared.shape), rng.laplace(size=(2000, 2))])
        scales = rng.choice([-1, 1], 6) * rng.uniform(0.1, 10, 6)
        runs.append((own * scales)[:, rng.permutation(6)])
    result, rows = written(tmp_path, *runs, up_to="signed-permutation")
    assert result.in_every_run == (0, 1, 2, 3)
    assert result.verdict.startswith("4 of 6 components appear in all 3 runs, 2 in none: ")
    assert all(run.converged is None and run.n_components == 6 for run in result.runs)
    found = correlations(rows[:, :4], shared)
    assert sorted(found.argmax(axis=1)) == [0, 1, 2, 3]
    # The mean of three has a third of the noise.
    variance = 2 / (2 + 0.04 / 3)
    np.testing.assert_allclose(found.max(axis=1), np.sqrt(variance), atol=2e-3)
    with pytest.raises(InputError, match="components is 3, but a consensus up to signed-perm"):
        consensus(*runs, up_to="signed-permutation", n_components=3)
    # Coordinates that were turned are no match any more.
    turns = [run @ rotation(rng, 6) for run in runs]
    assert len(consensus(*turns, up_to="signed-permutation").in_every_run) < 4


def test_given_components_that_are_gaussian_are_a_finding(rng):
    rows = np.hstack([rng.laplace(size=(3000, 2)), rng.normal(size=(3000, 3)), np.ones((3000, 1))])
    result = consensus(rows, 2 * rows[:, ::-1], up_to="signed-permutation")
    assert [run.n_components for run in result.runs] == [5, 5]
    messages = [finding.message for finding in result.findings if finding.code == "UP003"]
    assert [message.split(" cannot")[0] for message in messages] == [
        "3 of 5 components of first",
        "3 of 5 components of second",
    ]


@pytest.mark.parametrize(("noise", "appears"), [(0.6, True), (1.4, False)])
def test_a_component_needs_half_a_correlation_to_appear(rng, noise, appears):
    """Two runs of a source and noise correlate by 1 / (1 + σ²)."""
    source = rng.laplace(size=(4000, 3)) / np.sqrt(2)
    runs = [source + noise * rng.normal(size=source.shape) for _ in range(2)]
    result = consensus(*runs, up_to="signed-permutation")
    wanted = 1 / (1 + noise**2)
    found = [component.mean.value for component in result.components]
    np.testing.assert_allclose(found, wanted, atol=0.05)
    assert result.chance_limit < wanted
    assert (result.least_correlation, result.limit) == (0.5, 0.5)
    assert (result.in_every_run == (0, 1, 2)) is appears
    assert "where the required correlation is 0.50 and the chance limit 0.0" in result.verdict


@pytest.mark.slow
def test_components_of_an_unrelated_run_appear_as_seldom_as_the_limit_says(rng):
    # Which rows are held out follows their last bits, so one draw is right or wrong by chance.
    found = []
    for _ in range(20):
        _, runs = turned(rng, n_rows=1500)
        result = consensus(*runs, rng.laplace(size=(1500, 5)), up_to="ica")
        found.append(result.runs[4].n_appearing)
    assert sum(number > 0 for number in found) <= 4


def test_far_rows_that_runs_share_do_not_make_them_belong_together(rng):
    runs = [rng.normal(size=(2000, 4)) for _ in range(3)]
    for run in runs:
        run[:8, 0] += 1000
    result = consensus(*runs)
    assert all(run.explained.value > 0.9 and run.p_value < 0.05 for run in result.runs)
    assert not any(run.belongs for run in result.runs)


@pytest.mark.parametrize(
    ("robust", "times", "p_value", "belongs"),
    [
        (0.1, 1.0, 0.01, True),
        (0.1, 1.0, 0.06, False),
        (-0.1, 1.0, 0.01, False),
        (0.1, 2.1, 0.01, False),
        (0.1, 1.0, None, None),
    ],
)
def test_a_run_belongs_if_something_is_explained_and_more_than_by_chance(
    robust, times, p_value, belongs
):
    share = Estimate(value=0.5)
    found = Explained(share=share, robust=robust, times=times, chance=-0.5, p_value=p_value)
    assert found.belongs is belongs


def test_components_are_fitted_without_the_rows_they_are_judged_on(rng, monkeypatch):
    seen = []
    found = spaces.find_components

    def fitting(engine, rows, *, part, keep, **options):
        seen.append(rows[~keep])
        assert part.weight == keep.sum()
        return found(engine, rows, part=part, keep=keep, **options)

    def judging(*args):
        judged.extend(judged_rows(*args))
        return judged

    judged: list[np.ndarray] = []
    judged_rows = reproducing.judged_rows
    monkeypatch.setattr(spaces, "find_components", fitting)
    monkeypatch.setattr("upto.questions.consensus.question.judged_rows", judging)
    consensus(*turned(rng, n_rows=500)[1], up_to="ica")
    for left_out, used in zip(seen, judged, strict=True):
        assert len(used) == 150
        np.testing.assert_array_equal(np.sort(left_out, axis=0), np.sort(used, axis=0))


def test_few_reproducible_components_are_a_finding(rng):
    _, runs = mixed_runs(rng, n_runs=3, n_shared=2, n_private=5)
    result = consensus(*runs, up_to="ica")
    assert codes(result) == {"UP031"}
    (finding,) = result.findings
    assert finding.message == "2 of 7 components appear in all 3 runs."


def test_matches_along_a_ring_are_a_finding(rng):
    """Each component is made of two sources of a ring of six, and shares one with the next."""
    sources = rng.laplace(size=(4000, 6))
    ring = (sources + np.roll(sources, -1, axis=1)) / np.sqrt(2)
    runs = [ring[:, [i, i + 3]] @ rng.normal(size=(2, 2)) for i in range(3)]
    result = consensus(*runs, up_to="ica")
    assert result.consistency == pytest.approx(2 / 3)
    assert "UP032" in codes(result)


@pytest.mark.parametrize("up_to", ["rigid", "similarity", "ica"])
def test_runs_of_different_width_are_embedded_in_the_widest(rng, tmp_path, up_to):
    latent, runs = turned(rng, n_runs=3, noise=0.05)
    wide = np.hstack([runs[0], 0.3 * rng.laplace(size=(2000, 2))]) @ rotation(rng, 7)
    result, rows = written(tmp_path, wide, runs[1], runs[2], up_to=up_to)
    assert rows.shape == (2000, 7)
    assert "UP018" in codes(result)
    assert len(result.in_every_run) == 5
    assert all(run.explained.value > 0.9 for run in result.runs)
    lost = np.linalg.lstsq(rows, latent - latent.mean(axis=0), rcond=None)[1]
    assert np.max(lost / np.sum(latent**2, axis=0)) < 0.05


@pytest.mark.parametrize("up_to", ["rigid", "similarity", "ica"])
def test_nothing_held_out_decides_nothing_but_still_writes(rng, tmp_path, up_to):
    _, runs = turned(rng, n_rows=300)
    result, rows = written(tmp_path, *runs, up_to=up_to, held_out=0)
    assert rows.shape == (300, 5)
    assert result.verdict.startswith("Undecided: no rows were held out")
    assert (result.chance_limit, result.n_judged, result.in_every_run) == (None, 0, ())
    assert all(run.explained is None and run.belongs is None for run in result.runs)
    assert all(component.n_runs is None for component in result.components)
    assert codes(result) == {"UP015"}
    assert ConsensusResult.from_json(result.to_json()) == result


def test_edges_are_finite_and_remarked_on(rng):
    rows = rng.laplace(size=(300, 4))
    dead = np.hstack([rows, np.ones((300, 1))])
    assert codes(consensus(dead, dead + 1)) == {"UP013"}
    assert len(consensus(dead, dead + 1).components) == 4
    assert "UP014" in codes(consensus(rows, rows))
    assert consensus(rows, rows).runs[0].explained.value == pytest.approx(1)
    twice = np.vstack([rows, rows])
    assert "UP007" in codes(consensus(twice, twice + 1))
    few = consensus(rng.normal(size=(60, 80)), rng.normal(size=(60, 80)), up_to="ica")
    assert {"UP001", "UP002"} <= codes(few)
    assert "NaN" not in few.to_json()
    far = consensus(rows + 1e6, rows @ rotation(rng, 4))
    assert far.runs[0].explained.value == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"up_to": "affine"}, "up_to is 'affine': choose one of rigid, simil"),
        ({"n_components": 3}, "n_components is 3, but a consensus up to rigid keeps every"),
        ({"up_to": "ica", "n_components": -1}, "n_components is -1: give at least 1"),
        ({"held_out": 1.5}, r"held_out is 1\.5, but it must be a fraction"),
        ({"permutations": 3}, "permutations is 3, but a 5 % level needs at least 19"),
        ({"output": "out.xyz"}, r"out\.xyz ends in \.xyz, which upto does not write"),
        ({"output": "nowhere/out.npy"}, "does not exist: make it first"),
    ],
)
def test_what_cannot_be_done_is_refused(rng, options, message):
    rows = rng.normal(size=(50, 3))
    with pytest.raises(InputError, match=message):
        consensus(rows, rows, **options)


def test_one_run_is_refused(rng):
    with pytest.raises(InputError, match=r"a consensus needs two or more runs, not 1\."):
        consensus(rng.normal(size=(50, 3)))


def test_fewer_components_can_be_asked_for(rng, tmp_path):
    _, runs = turned(rng, noise=0.05)
    result, rows = written(tmp_path, *runs, up_to="ica", n_components=3)
    assert rows.shape == (2000, 3)
    assert [run.n_components for run in result.runs] == [3] * 4


def test_a_search_cut_short_is_a_finding(rng, monkeypatch):
    monkeypatch.setattr(spaces, "ICA_ITERATIONS", 1)
    monkeypatch.setattr(spaces, "ICA_TOLERANCE", 1e-14)
    result = consensus(*turned(rng, n_rows=500)[1], up_to="ica")
    assert "UP004" in codes(result)
    assert not all(run.converged for run in result.runs)


class Passing:
    """Rows that give no more than a block at a time."""

    def __init__(self, rows, longest):
        self.rows, self.longest = rows, longest
        self.shape, self.dtype = rows.shape, rows.dtype

    def __getitem__(self, key):
        wanted = range(len(self.rows))[key]
        assert len(wanted) <= self.longest
        return self.rows[key]


@pytest.mark.parametrize("up_to", ["rigid", "ica"])
def test_rows_are_only_passed_over(rng, tmp_path, up_to):
    _, runs = turned(rng, n_rows=3000)
    engine = ThreadsEngine(n_threads=1, block_rows=256)
    whole, expected = written(tmp_path, *runs, up_to=up_to, engine=engine)
    passing = [Passing(run, 256) for run in runs]
    result, rows = written(tmp_path, *passing, up_to=up_to, engine=engine)
    np.testing.assert_array_equal(rows, expected)
    assert result.runs == whole.runs
    assert result.components == whole.components


@pytest.mark.parametrize("up_to", ["rigid", "ica"])
def test_every_pass_is_one_of_the_array_standard(rng, tmp_path, up_to):
    _, runs = turned(rng, n_rows=600)
    strict = ThreadsEngine(n_threads=1, namespace=array_api_strict)
    _, expected = written(tmp_path, *runs, up_to=up_to)
    _, rows = written(tmp_path, *runs, up_to=up_to, engine=strict)
    np.testing.assert_allclose(rows, expected, atol=1e-6)


def test_the_rows_that_are_judged_on_are_bounded(rng, monkeypatch):
    _, runs = turned(rng, n_rows=2000)
    monkeypatch.setattr(reproducing, "JUDGED_ROWS", 50)
    result = consensus(*runs)
    assert (result.n_held_out, result.n_judged) == (600, 50)


def test_the_tables_say_what_the_result_says(rng):
    _, runs = mixed_runs(rng, n_runs=3)
    result = consensus(*runs, up_to="ica")
    of_runs, shared, components = result.tables()
    assert [row[0] for row in of_runs.rows] == ["first", "second", "third"]
    assert of_runs.records()[0]["explained"] == result.runs[0].explained.value
    assert [row[:2] for row in shared.rows] == [
        ("every run", 5), ("some runs", 0), ("no run", 3),
    ]  # fmt: skip
    assert shared.rows[0][-1] == "0–4"
    assert len(components.rows) == 8
    assert components.records()[2]["third"] == result.components[2].correlations[2]
    data = result.data_table()
    assert len(data.rows) == 24
    assert data.records()[5]["correlation"] == result.components[1].correlations[2]
    many = replace(
        result,
        runs=result.runs * 5,
        components=tuple(
            replace(component, correlations=component.correlations * 5)
            for component in result.components
        ),
    )
    assert len(many.tables()[2].columns) == 4
    assert len(many.data_table().rows) == 15 * 8


def test_a_result_survives_json_and_knows_how_it_was_made(rng):
    _, runs = turned(rng, n_rows=400)
    result = upto.consensus(*runs, seed=3)
    assert ConsensusResult.from_json(result.to_json()) == result
    assert json.loads(result.to_json())["kind"] == "consensus"
    assert "up_to='rigid'" in result.provenance.call
    assert result.provenance.seed == 3
    assert result.plot().axes


def test_intervals_of_an_explained_share_cover_it():
    rng = np.random.default_rng(0)
    truth, n_covered = 1 - 0.5**2 / (1 + 0.5**2), 0
    for _ in range(400):
        signal = rng.laplace(size=(200, 3)) / np.sqrt(2)
        found = explained_share(signal + 0.5 * rng.normal(size=signal.shape), signal)
        n_covered += found.low <= truth <= found.high
    assert 0.92 <= n_covered / 400 <= 0.98


def test_intervals_of_a_mean_correlation_cover_it():
    rng = np.random.default_rng(0)
    truth, n_covered = 1 / np.sqrt(1 + 0.5**2), 0
    for _ in range(400):
        common = rng.laplace(size=(300, 1)) / np.sqrt(2)
        pairs, found = [], []
        for _ in range(3):
            own = reproducing.standardised(common + 0.5 * rng.normal(size=common.shape))
            pairs.append((own, reproducing.standardised(common)))
            found.append(np.mean(own * pairs[-1][1], axis=0))
        _, low, high = mean_correlations(pairs, np.stack(found), np.ones((3, 1), dtype=bool))
        n_covered += low[0] <= truth <= high[0]
    assert 0.92 <= n_covered / 400 <= 0.98


def test_intervals_of_a_mean_correlation_near_zero_cover_it():
    rng = np.random.default_rng(0)
    n_covered = 0
    for _ in range(400):
        first, second = (reproducing.standardised(rng.laplace(size=(300, 1))) for _ in range(2))
        found = np.mean(first * second, axis=0)
        mean, low, high = mean_correlations([(first, second)], found[None], np.ones((1, 1), bool))
        assert mean == pytest.approx(found)
        n_covered += low[0] <= 0 <= high[0]
    assert 0.92 <= n_covered / 400 <= 0.98


def test_a_component_that_turns_round_on_other_rows_does_not_appear(rng):
    """Signs are fitted on other rows, so a correlation of -1 there is no agreement."""
    common = rng.normal(size=(400, 2))
    rows = [common + 0.1 * rng.normal(size=common.shape) for _ in range(4)]
    rows[3][:, 1] *= -1
    space = spaces.Space(
        means=(np.zeros(2),) * 4,
        matrices=(np.eye(2),) * 4,
        parts=(),
        present=np.ones((4, 2), dtype=bool),
        settled=np.ones((4, 2), dtype=bool),
        factor=np.ones(2),
        variance=np.ones(2),
        scales=np.ones(4),
        weights=1 - np.eye(4),
        sources=(),
        predict=lambda _: None,
        consistent=lambda _: None,
    )
    found = reproducing.reproduce(rows, space, seed=0)
    assert found.appears.tolist() == [[True, True]] * 3 + [[True, False]]
    assert found.correlations[3, 1] < -0.9
    assert found.estimate(1).value == pytest.approx(found.correlations[:, 1].mean())


def test_the_chance_limit_is_exceeded_by_one_best_match_in_a_hundred():
    rng = np.random.default_rng(0)

    def draw():
        return reproducing.standardised(rng.laplace(size=(250, 12)))

    known = np.ones((3, 12), dtype=bool)
    limits = [chance_limit([(draw(), draw()) for _ in range(3)], known, seed) for seed in range(5)]
    best = [np.abs(draw().T @ draw() / 250).max(axis=1) for _ in range(400)]
    exceeded = np.mean(np.concatenate(best) > np.mean(limits))
    assert 0.005 < exceeded < 0.02


def test_the_chance_share_is_the_mean_over_all_pairings(rng):
    target, predicted = rng.normal(size=(6, 2)), rng.normal(size=(6, 2)) + 1
    shares = []
    for _ in range(4000):
        order = rng.permutation(6)
        left = np.sum((target[order] - predicted) ** 2)
        shares.append(1 - left / np.sum((target - target.mean(axis=0)) ** 2))
    assert chance_share(target, predicted) == pytest.approx(np.mean(shares), abs=0.05)


SUFFIXES = ("npy", "npz", "csv", "parquet", "h5ad", "h5", "zarr", "safetensors")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("up_to", "prefix"),
    [("rigid", "consensus"), pytest.param("ica", "ica", marks=pytest.mark.slow)],
)
def test_every_format_keeps_rows_ids_and_columns(rng, tmp_path, suffix, up_to, prefix):
    _, runs = turned(rng, n_rows=300)
    ids = np.array([f"s{i}" for i in range(300)])
    order = rng.permutation(300)
    first = Embeddings(rows=runs[0], ids=ids, columns={"label": np.arange(300) % 7}, name="a")
    second = Embeddings(rows=runs[1][order], ids=ids[order], name="b")
    consensus(first, second, up_to=up_to, output=tmp_path / f"out.{suffix}")
    _, expected = written(tmp_path, runs[0], runs[1], up_to=up_to)
    found = read_run(tmp_path / f"out.{suffix}")
    np.testing.assert_allclose(np.asarray(found.rows), expected, atol=1e-6)
    if suffix not in ("npy", "safetensors"):
        assert [str(each) for each in found.ids] == ids.tolist()
        assert found.columns["label"].astype(int).tolist() == (np.arange(300) % 7).tolist()
    if suffix in ("csv", "parquet"):
        columns = read_run(tmp_path / f"out.{suffix}", key=f"{prefix}_")
        assert columns.n_features == 5


def test_single_precision_stays_single(rng, tmp_path):
    _, runs = turned(rng, n_rows=200)
    _, rows = written(tmp_path, *(run.astype(np.float32) for run in runs))
    assert rows.dtype == np.float32
    _, rows = written(tmp_path, runs[0].astype(np.float32), runs[1])
    assert rows.dtype == np.float64


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError("disk"), MemoryError])
def test_a_write_that_fails_leaves_nothing(rng, tmp_path, monkeypatch, error):
    _, runs = turned(rng, n_rows=900)

    def failing(xp, *arrays, count):
        if len(seen) == 2:
            raise error
        seen.append(1)
        return mean_of_runs(xp, *arrays, count=count)

    seen: list[int] = []
    mean_of_runs = spaces._mean_of_runs
    (tmp_path / "out.csv").write_text("what was there before")
    engine = ThreadsEngine(n_threads=1, block_rows=256)
    monkeypatch.setattr(spaces, "upright", lambda *_: np.ones(5))
    monkeypatch.setattr("upto.questions.consensus.question.upright", lambda *_: np.ones(5))
    monkeypatch.setattr(spaces, "_mean_of_runs", failing)
    with pytest.raises((KeyboardInterrupt, OSError, MemoryError, InputError)):
        consensus(*runs, output=tmp_path / "out.csv", engine=engine)
    assert len(seen) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert (tmp_path / "out.csv").read_text() == "what was there before"


def test_an_interrupted_search_is_an_interrupt(rng, tmp_path, monkeypatch):
    found = spaces.find_components

    def interrupted(*args, **options):
        return replace(found(*args, **options), interrupted=True)

    monkeypatch.setattr(spaces, "find_components", interrupted)
    with pytest.raises(KeyboardInterrupt):
        consensus(*turned(rng, n_rows=300)[1], up_to="ica", output=tmp_path / "out.npy")
    assert list(tmp_path.iterdir()) == []


def test_an_annotated_file_takes_the_consensus_beside_its_runs(rng, tmp_path):
    anndata = pytest.importorskip("anndata")
    _, runs = turned(rng, n_rows=200)
    cells = anndata.AnnData(rng.normal(size=(200, 3)))
    cells.obsm["X_a"], cells.obsm["X_ica"] = runs[0], runs[1]
    cells.write_h5ad(tmp_path / "cells.h5ad")
    path = tmp_path / "cells.h5ad"
    consensus(f"{path}::X_a", f"{path}::X_ica", output=path)
    after = anndata.read_h5ad(path)
    assert after.obsm["X_consensus"].shape == (200, 5)
    assert after.uns["consensus"]["consensus_of"] == "X_a, X_ica"
    np.testing.assert_array_equal(after.obsm["X_ica"], runs[1])
    with pytest.raises(InputError, match=r"contains .*X_ica where the consensus would be written"):
        consensus(f"{path}::X_a", f"{path}::X_ica", up_to="ica", output=path)
    np.testing.assert_array_equal(anndata.read_h5ad(path).obsm["X_ica"], runs[1])
