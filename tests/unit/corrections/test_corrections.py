"""What corrections do to plates of training and to plates never seen."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from pandas import NA
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from upto.core import InputError, MissingExtraError
from upto.corrections import (
    BatchScaler,
    ComBat,
    ControlSphering,
    Harmony,
    RandomRotation,
    TypicalVariation,
)

WHITE = 1e-6
CLOSE = 1e-9
CORRECTIONS = [
    BatchScaler(),
    BatchScaler(reference="controls", statistic="median"),
    ControlSphering(),
    TypicalVariation(),
    ComBat(),
    RandomRotation(random_state=0),
]
named = pytest.mark.parametrize("correction", CORRECTIONS, ids=str)


def screen(rng, plates=4, wells=30, width=3):
    """Rows of plates that differ in shift and scale, their plates, and which are controls."""
    groups = np.repeat([f"p{number}" for number in range(plates)], wells)
    rows = rng.normal(size=(plates * wells, width)) @ rng.normal(size=(width, width))
    scale = rng.uniform(0.5, 2, size=(plates, width)).repeat(wells, axis=0)
    shift = 4 * rng.normal(size=(plates, width)).repeat(wells, axis=0)
    controls = np.tile(np.arange(wells) < wells // 2, plates)
    return rows * scale + shift, groups, controls


def test_a_scaled_batch_has_mean_zero_and_deviation_one_on_its_reference(rng):
    rows, groups, controls = screen(rng)
    for reference, mask in (("all", np.ones(len(rows), bool)), ("controls", controls)):
        scaled = BatchScaler(reference=reference).fit_transform(
            rows, groups=groups, controls=controls
        )
        own = scaled[(groups == "p1") & mask]
        np.testing.assert_allclose(own.mean(axis=0), 0, atol=CLOSE)
        np.testing.assert_allclose(own.std(axis=0), 1, atol=CLOSE)


def test_a_column_that_does_not_vary_in_a_batch_is_only_centred_there(rng):
    rows, groups, _ = screen(rng)
    rows[groups == "p2", 1] = 0.1
    for statistic in ("mean", "median"):
        scaler = BatchScaler(statistic=statistic)
        scaled = scaler.fit_transform(rows, groups=groups)
        np.testing.assert_allclose(scaled[groups == "p2", 1], 0, atol=CLOSE)
        assert scaler.unscaled_ == 1
        assert np.abs(scaled).max() < 100


def test_a_plate_has_one_name_however_its_number_is_written(rng):
    rows, groups, _ = screen(rng)
    numbers = np.array([int(name[1:]) for name in groups])
    scaler = BatchScaler().fit(rows, groups=numbers)
    part = slice(3, 9)  # corrected by themselves, rows of no whole plate would come out otherwise
    expected = scaler.transform(rows[part], groups=numbers[part])
    for written in (numbers.astype(float), numbers.astype(str), numbers.astype(bytes)):
        found = scaler.transform(rows[part], groups=written[part])
        np.testing.assert_array_equal(found, expected)


@named
def test_a_plate_never_seen_is_corrected_without_other_plates(correction, rng):
    rows, groups, controls = screen(rng)
    known = groups < "p2"
    fitted = clone(correction).fit(rows[known], groups=groups[known], controls=controls[known])
    together = fitted.transform(rows, groups=groups, controls=controls)
    for name in np.unique(groups):
        own = groups == name
        alone = fitted.transform(rows[own], groups=groups[own], controls=controls[own])
        np.testing.assert_allclose(alone, together[own], atol=CLOSE)


@named
def test_statistics_keep_their_precision_far_from_the_origin_and_types_stay(correction, rng):
    rows, groups, controls = screen(rng)
    options = {"groups": groups, "controls": controls}
    far = np.float32(rows) + np.float32(4096)
    single = clone(correction).fit_transform(far, **options)
    double = clone(correction).fit_transform(far.astype(np.float64), **options)
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    # A rotation of numbers near 4096 is as coarse as they are.
    tolerance = 4096 * 1e-6 if isinstance(correction, RandomRotation | ComBat) else 1e-4
    np.testing.assert_allclose(single, double, atol=tolerance)


@pytest.mark.parametrize(
    ("correction", "names"),
    [(BatchScaler(), ["x0", "x1", "x2"]), (ComBat(), ["x0", "x1", "x2"])]
    + [
        (each, [f"{type(each).__name__.lower()}{place}" for place in range(3)])
        for each in (ControlSphering(), TypicalVariation(), RandomRotation())
    ],
    ids=lambda each: type(each).__name__,
)
def test_columns_are_named_and_frames_are_returned(correction, names, rng):
    rows, groups, controls = screen(rng)
    framed = clone(correction).set_output(transform="pandas")
    found = framed.fit_transform(rows, groups=groups, controls=controls)
    assert list(found.columns) == list(framed.get_feature_names_out()) == names
    assert framed.n_features_in_ == 3


@pytest.mark.parametrize(
    "correction",
    [
        BatchScaler(reference="controls"),
        BatchScaler(statistic="median"),
        ComBat(),
        ControlSphering(),
        ControlSphering(method="pca"),
        RandomRotation(random_state=1),
    ],
    ids=str,
)
def test_corrected_rows_can_be_brought_back(correction, rng):
    rows, groups, controls = screen(rng)
    corrected = correction.fit_transform(rows, groups=groups, controls=controls)
    by_batch = isinstance(correction, BatchScaler | ComBat)
    back = correction.inverse_transform(corrected, **({"groups": groups} if by_batch else {}))
    np.testing.assert_allclose(back, rows, atol=CLOSE)


@pytest.mark.parametrize("method", ["zca", "pca"])
def test_sphered_controls_are_white_whatever_the_scales_of_columns(method, rng):
    rows = rng.normal(size=(400, 5)) @ rng.normal(size=(5, 5)) * [1e-4, 1, 1, 10, 1e4] + 1e3
    controls = np.arange(400) < 300
    sphering = ControlSphering(method=method).fit(rows, controls=controls)
    white = sphering.transform(rows)
    assert np.abs(np.cov(white[controls], rowvar=False) - np.eye(5)).max() < WHITE
    assert sphering.deviation_ < WHITE
    assert (sphering.rank_, sphering.n_controls_, sphering.shrinkage_) == (5, 300, 0)
    assert np.abs(np.cov(white[~controls], rowvar=False) - np.eye(5)).max() > WHITE


def test_dependent_columns_lower_the_rank_and_stay_finite(rng):
    rows = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 6))
    sphering = ControlSphering(shrinkage=None).fit(rows)
    white = sphering.transform(rows)
    assert sphering.rank_ == 4
    values = np.linalg.eigvalsh(np.cov(white, rowvar=False))
    np.testing.assert_allclose(values, [0, 0, 1, 1, 1, 1], atol=WHITE)


def test_few_controls_are_shrunk_by_the_amount_of_ledoit_and_wolf(rng):
    from sklearn.covariance import ledoit_wolf

    rows = rng.normal(size=(12, 6)) * [1, 2, 3, 4, 5, 6]
    sphering = ControlSphering().fit(rows)
    covariance, amount = ledoit_wolf(rows)
    np.testing.assert_allclose(sphering.shrinkage_, amount)
    wanted = np.linalg.inv(covariance * 12 / 11)
    np.testing.assert_allclose(sphering.whitening_.T @ sphering.whitening_, wanted)
    assert sphering.deviation_ > WHITE


def test_a_direction_only_treated_rows_have_survives_sphering(rng):
    rows = rng.normal(size=(50, 3)) * [1, 1, 0]
    treated = np.array([[0.0, 0.0, 5.0]])
    sphering = ControlSphering(shrinkage=None).fit(rows)
    assert sphering.rank_ == 2
    narrowest = np.sqrt(np.linalg.eigvalsh(np.cov(rows[:, :2], rowvar=False))[0])
    np.testing.assert_allclose(sphering.transform(treated)[0, 2], 5 / narrowest)


def test_typical_variation_of_a_new_plate_is_that_of_its_own_controls(rng):
    rows, groups, controls = screen(rng)
    known = groups != "p3"
    fitted = TypicalVariation().fit(rows[known], groups=groups[known], controls=controls[known])
    new = fitted.transform(rows[~known], groups=groups[~known], controls=controls[~known])
    own = controls[~known]
    np.testing.assert_allclose(new[own].mean(axis=0), 0, atol=CLOSE)
    white = (rows[~known] - fitted.mean_) @ fitted.whitening_.T
    white = (white - white[own].mean(axis=0)) / white[own].std(axis=0)
    covariance = np.cov(white[own], rowvar=False) + 0.5 * np.eye(3)
    values, vectors = np.linalg.eigh(covariance)
    np.testing.assert_allclose(new, white @ (vectors / np.sqrt(values)) @ vectors.T, atol=CLOSE)


def test_fewer_controls_than_columns_give_the_same_root_as_the_whole_matrix(rng):
    rows, _, _ = screen(rng, plates=2, wells=60, width=20)
    groups = np.repeat(["many", "few"], [112, 8])
    fitted = TypicalVariation(scale_batches=False).fit(rows, groups=groups)
    white = (rows - fitted.mean_) @ fitted.whitening_.T
    covariance = np.cov(white[112:], rowvar=False) + 0.5 * np.eye(20)
    values, vectors = np.linalg.eigh(covariance)
    wanted = white[112:] @ (vectors / np.sqrt(values)) @ vectors.T
    found = fitted.transform(rows[112:], groups=groups[112:])
    np.testing.assert_allclose(found, wanted, atol=CLOSE)


@pytest.mark.parametrize("size", [3, 400])
def test_combat_pulls_a_new_batch_to_the_priors_of_training(size, rng):
    groups = np.repeat(np.arange(6), 200)
    fitted = ComBat().fit(rng.normal(size=(1200, 40)), groups=groups)
    new = rng.normal(size=(size, 40)) + 1.0
    corrected = fitted.transform(new, groups=["new"] * size)
    deviation = new.std(axis=0) / corrected.std(axis=0)
    shift = (new - corrected * deviation - fitted.mean_ * (1 - deviation)).mean(axis=0)
    # The two conditional means of Johnson et al., at the shift and variance that were taken off.
    shift, level = shift / fitted.deviation_, deviation**2
    standard = (new - fitted.mean_) / fitted.deviation_
    prior = fitted.priors_
    weight = size * prior.shift_variance[0, 0]
    wanted = (weight * standard.mean(axis=0) + level * prior.shift[0, 0]) / (weight + level)
    np.testing.assert_allclose(shift, wanted, atol=CLOSE)
    mean, variance = prior.level[0, 0], prior.level_variance[0, 0]
    shape, rate = 2 + mean**2 / variance, mean + mean**3 / variance
    squares = ((standard - shift) ** 2).sum(axis=0)
    np.testing.assert_allclose(level, (squares / 2 + rate) / (size / 2 + shape - 1), atol=CLOSE)
    left = np.abs(corrected.mean(axis=0) - fitted.mean_).mean()
    assert left > 0.8 if size == 3 else left < 0.5


def test_combat_passes_on_a_column_that_does_not_vary(rng):
    rows, groups, _ = screen(rng)
    rows[:, 1] = 3.0
    corrected = ComBat().fit_transform(rows, groups=groups)
    np.testing.assert_array_equal(corrected[:, 1], 3.0)
    alone = ComBat().fit_transform(rows[:, [0, 2]], groups=groups)
    np.testing.assert_allclose(corrected[:, [0, 2]], alone, atol=CLOSE)


def test_rotations_are_orthogonal_seeded_and_uniform():
    rows = np.eye(3)
    turned = RandomRotation(random_state=0).fit_transform(rows)
    np.testing.assert_allclose(turned @ turned.T, np.eye(3), atol=CLOSE)
    np.testing.assert_array_equal(turned, RandomRotation(random_state=0).fit_transform(rows))
    drawn = np.array([RandomRotation(random_state=s).fit_transform(rows) for s in range(300)])
    # Entries of a uniform rotation have mean 0 and mean square 1/d; both signs of det are drawn.
    assert np.abs(drawn.mean(axis=0)).max() < 0.15
    assert np.abs((drawn**2).mean(axis=0) - 1 / 3).max() < 0.1
    assert 0.35 < (np.linalg.det(drawn) > 0).mean() < 0.65


@named
def test_what_was_not_fitted_says_so(correction):
    with pytest.raises(NotFittedError):
        clone(correction).transform(np.ones((3, 2)))


def plain(rng):
    return screen(rng, plates=3, wells=6)


REFUSALS = {
    "no controls": (
        lambda x, g, c: BatchScaler(reference="controls").fit(x, groups=g, controls=c & (g > "p1")),
        "2 of 3 batches have no controls (p0, p1): leave these batches out, or use reference='all'",
    ),
    "one control": (
        lambda x, g, c: TypicalVariation().fit(
            x, groups=g, controls=c & ((g < "p2") | (np.arange(len(g)) == 12))
        ),
        "1 of 3 batches have fewer than 2 controls (p2): leave these batches out",
    ),
    "none at all": (
        lambda x, g, c: ControlSphering().fit(x, controls=c & False),
        "0 of 18 rows are controls: check the name of the control",
    ),
    "mask": (
        lambda x, g, c: ControlSphering().fit(x, controls=np.where(c)[0]),
        "controls have type int64 and shape (9,), but there are 18 rows",
    ),
    "length": (
        lambda x, g, c: BatchScaler().fit(x, groups=g[:5]),
        "groups have shape (5,), but there are 18 rows",
    ),
    "missing name": (
        lambda x, g, c: BatchScaler().fit(x, groups=[None, float("nan"), NA, *g[3:]]),
        "3 of 18 rows have no batch name",
    ),
    "no names": (
        lambda x, g, c: BatchScaler().fit(x, groups=g).transform(x),
        "fitted to 3 named batches, but these rows have no batch names: pass groups",
    ),
    "unmarked": (
        lambda x, g, c: (
            BatchScaler(reference="controls")
            .fit(x, groups=g, controls=c)
            .transform(x, groups=["new"] * len(x))
        ),
        "1 of 1 batches were not in the training rows and have no marked controls: pass controls",
    ),
    "one row": (
        lambda x, g, c: BatchScaler().fit(x[:7], groups=g[:7]),
        "1 of 2 batches have one row and so no spread",
    ),
    "one row of combat": (
        lambda x, g, c: ComBat().fit(x[:7], groups=g[:7]),
        "1 of 2 batches have one row and so no variance",
    ),
    "one batch": (
        lambda x, g, c: ComBat().fit(x[:6], groups=g[:6]).transform(x, groups=g),
        "ComBat was fitted to 1 batch, but differences between batches need at least two",
    ),
    "nothing varies": (
        lambda x, g, c: ComBat().fit(np.ones((6, 2)), groups=g[:6]),
        "2 of 2 columns do not vary within any of 1 batches",
    ),
    "nothing varies for tvn": (
        lambda x, g, c: TypicalVariation().fit(np.ones((6, 2))),
        "2 of 2 columns do not vary among controls",
    ),
    "inverse": (
        lambda x, g, c: (
            BatchScaler().fit(x, groups=g).inverse_transform(x, groups=["new"] * len(x))
        ),
        "1 of 1 batches are not training batches (new), so their correction cannot be undone",
    ),
    "width": (
        lambda x, g, c: ControlSphering().fit(x).inverse_transform(x[:, :2]),
        "X has 2 columns, but the training rows had 3",
    ),
    "reference": (lambda x, g, c: BatchScaler(reference="x").fit(x), "'all' or 'controls', not"),
    "statistic": (lambda x, g, c: BatchScaler(statistic="x").fit(x), "'mean' or 'median', not"),
    "method": (lambda x, g, c: ControlSphering(method="x").fit(x), "'zca' or 'pca', not 'x'"),
    "ridge": (lambda x, g, c: TypicalVariation(ridge=0).fit(x), "ridge is 0: it must be above 0"),
    "harmony of one": (lambda x, g, c: Harmony().fit(x), "there is 1 batch, but Harmony mixes two"),
}


@pytest.mark.parametrize(("call", "message"), REFUSALS.values(), ids=REFUSALS)
def test_what_cannot_be_done_is_refused_in_words(call, message, rng):
    with pytest.raises(InputError) as caught:
        call(*plain(rng))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("python", "advice"),
    [
        ((3, 11, 9), r"run `pip install harmonypy`, because .* and this is Python 3\.11\.$"),
        ((3, 12, 0), r"run `pip install 'upto\[harmony\]'`\.$"),
    ],
)
def test_harmony_without_its_package_says_what_can_be_installed(python, advice, rng, monkeypatch):
    monkeypatch.setattr("upto.corrections.harmony.find_spec", lambda name: None)
    monkeypatch.setattr("upto.core.errors.sys", SimpleNamespace(version_info=python))
    rows, groups, _ = plain(rng)
    with pytest.raises(MissingExtraError, match=advice):
        Harmony().fit_transform(rows, groups=groups)


class FakeScanpy:
    """Stands for a scanpy with a Harmony of its own: it takes the mean of each batch off."""

    class pp:
        @staticmethod
        def harmony_integrate(table, key, *, basis, adjusted_basis, **options):
            rows, batch = table.obsm[basis].copy(), table.obs[key].to_numpy()
            for name in set(batch):
                rows[batch == name] -= rows[batch == name].mean(axis=0)
            table.obsm[adjusted_basis] = rows
            FakeScanpy.options = options


@pytest.mark.slow
def test_harmony_hands_rows_to_scanpy_and_corrects_no_others(rng, monkeypatch):
    from importlib import import_module

    monkeypatch.setattr("upto.corrections.harmony.find_spec", lambda name: name == "scanpy")
    monkeypatch.setattr(
        "upto.corrections.harmony.import_module",
        lambda name: FakeScanpy if name == "scanpy" else import_module(name),
    )
    rows, groups, _ = plain(rng)
    harmony = Harmony(n_clusters=2, random_state=5)
    found = harmony.fit_transform(rows, groups=groups)
    centred = BatchScaler(scale=False).fit_transform(rows, groups=groups)
    np.testing.assert_allclose(found, centred, atol=CLOSE)
    assert FakeScanpy.options == {"n_clusters": 2, "max_iter_harmony": 10, "rng": 5}
    with pytest.raises(InputError, match="these 3 rows are not the 18 that Harmony was fitted to"):
        harmony.transform(rows[:3], groups=groups[:3])


@pytest.mark.slow
def test_importing_the_corrections_is_light():
    code = "import upto.corrections, sys; print('sklearn' in sys.modules, 'scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
