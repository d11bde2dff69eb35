"""Estimators take what questions take, and match columns by name."""

from __future__ import annotations

import numpy as np
import pytest
from input_kinds import KINDS, NAMES, rows_of_two_runs

import upto
from upto import corrections
from upto.core import InputError

PLATES = np.repeat(["p", "q", "r", "s"], 20)
CONTROLS = np.arange(80) % 4 == 0
CORRECTIONS = {
    "BatchScaler": corrections.BatchScaler(),
    "ComBat": corrections.ComBat(),
    "ControlSphering": corrections.ControlSphering(),
    "TypicalVariation": corrections.TypicalVariation(),
    "RandomRotation": corrections.RandomRotation(random_state=0),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_every_kind_are_whitened_alike(kind, tmp_path):
    rows, _ = rows_of_two_runs()
    given = KINDS[kind](rows, tmp_path / "run.npy")
    whitener = upto.Whitener().fit(rows)
    white = whitener.transform(rows)
    np.testing.assert_allclose(upto.Whitener().fit_transform(given), white, atol=1e-9)
    back = KINDS[kind](white, tmp_path / "white.npy")
    np.testing.assert_allclose(whitener.inverse_transform(back), rows, atol=1e-9)


@pytest.mark.parametrize("kind", ["path", "Embeddings", "torch tensor", "AnnData", "xarray"])
def test_components_and_maps_take_these_too(kind, tmp_path):
    first, second = rows_of_two_runs()
    one, other = (
        KINDS[kind](rows, tmp_path / name)
        for rows, name in ((first, "one.npy"), (second, "two.npy"))
    )
    ica = upto.ICA(random_state=0)
    sources = ica.fit_transform(first)
    np.testing.assert_allclose(ica.fit(one).transform(one), sources, atol=1e-6)
    np.testing.assert_allclose(ica.inverse_transform(ica.transform(one)), first, atol=1e-6)
    plain = upto.Aligner().fit(first, second)
    aligner = upto.Aligner().fit(one, other)
    np.testing.assert_allclose(aligner.transform(one), plain.transform(first), atol=1e-9)
    np.testing.assert_allclose(
        aligner.inverse_transform(other), plain.inverse_transform(second), atol=1e-9
    )
    assert aligner.score(one, other) == pytest.approx(plain.score(first, second))


@pytest.mark.parametrize("name", CORRECTIONS)
def test_corrections_take_objects_and_values_of_any_kind(name, tmp_path):
    rows, _ = rows_of_two_runs()
    correction = CORRECTIONS[name]
    options = {"groups": PLATES, "controls": CONTROLS}
    expected = correction.fit_transform(rows, **options)
    others = [{"groups": PLATES.tolist(), "controls": CONTROLS.tolist()}]
    pd = pytest.importorskip("pandas")
    others += [
        {
            "groups": pd.Series(PLATES, dtype="category"),
            "controls": pd.Series(CONTROLS, dtype="boolean"),
        }
    ]
    for given in (KINDS["path"](rows, tmp_path / "run.npy"), upto.as_embeddings(rows)):
        for each in others:
            np.testing.assert_allclose(
                correction.fit(given, **each).transform(given, **each), expected, atol=1e-9
            )


@pytest.mark.parametrize("estimator", [upto.Whitener(), upto.ICA(random_state=0)])
def test_columns_of_files_are_matched_by_name(estimator, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rows, _ = rows_of_two_runs()
    frame = pd.DataFrame(rows, columns=NAMES)
    frame.to_parquet(tmp_path / "run.parquet")
    frame[NAMES[::-1]].to_parquet(tmp_path / "turned.parquet")
    frame.rename(columns={"u": "z"}).to_parquet(tmp_path / "other.parquet")
    for given in (frame, tmp_path / "run.parquet"):
        expected = estimator.fit(given).transform(frame)
        assert list(estimator.feature_names_in_) == NAMES
        np.testing.assert_allclose(estimator.transform(tmp_path / "turned.parquet"), expected)
        message = "^other has the columns z, v, w, but the estimator was fitted to u, v, w"
        with pytest.raises(InputError, match=message):
            estimator.transform(tmp_path / "other.parquet")
    assert not hasattr(estimator.fit(rows), "feature_names_in_")


def test_what_an_estimator_cannot_take_is_refused(tmp_path):
    rows, _ = rows_of_two_runs()
    with pytest.raises(InputError, match=r"^X is a generator, which can be read only once"):
        upto.ICA().fit(row for row in rows)
    with pytest.raises(InputError, match=r"nothing\.npy does not exist"):
        upto.Whitener().fit(tmp_path / "nothing.npy")
    with pytest.raises(InputError, match=r"groups have shape \(9,\)"):
        corrections.BatchScaler().fit(rows, groups=PLATES[:9])


def test_transforms_match_the_columns_of_a_frame(tmp_path):
    pd = pytest.importorskip("pandas")
    rows, _ = rows_of_two_runs()
    frame = pd.DataFrame(rows, columns=NAMES)
    whitener = upto.Whitener().fit(frame)
    turned = frame[NAMES[::-1]].assign(kind="a")
    (note,) = upto.apply_transform(whitener, turned, output=tmp_path / "white.npz")
    assert "matched by name" in note
    np.testing.assert_allclose(
        np.asarray(upto.read_run(tmp_path / "white.npz")), whitener.transform(frame), atol=1e-9
    )
    upto.unmix(turned, held_out=0, save=tmp_path / "ica.safetensors")
    fitted = upto.load_transform(tmp_path / "ica.safetensors")
    assert list(fitted.feature_names_in_) == NAMES[::-1]
