"""Estimators match rows by ids and coordinates by name, and say what they cannot take."""

from __future__ import annotations

from types import SimpleNamespace

import anndata
import numpy as np
import pandas as pd
import polars as pl
import pytest

import upto
from upto.core import InputError

FIRST, SECOND = list("abcd"), list("wxyz")
N = 200


@pytest.fixture
def runs(rng):
    """Two runs up to a rotation, with ids, and an order in which rows could come instead."""
    rows = rng.laplace(size=(N, 4))
    other = rows @ np.linalg.qr(rng.normal(size=(4, 4)))[0] + 0.05 * rng.normal(size=rows.shape)
    ids = [f"c{number}" for number in range(N)]
    return SimpleNamespace(
        rows=rows,
        other=other,
        source=pd.DataFrame(rows, columns=FIRST, index=ids),
        target=pd.DataFrame(other, columns=SECOND, index=ids),
        order=rng.permutation(N),
    )


def _id_column(frame, path):
    return frame.reset_index(names="id")


def _annotated(frame, path):
    return anndata.AnnData(
        frame.to_numpy(), obs=pd.DataFrame(index=frame.index), var=pd.DataFrame(index=frame.columns)
    )


def _file(frame, path):
    _id_column(frame, path).to_csv(path, index=False)
    return path


KINDS = {
    "Embeddings": lambda frame, path: upto.as_embeddings(frame),
    "frame": lambda frame, path: frame,
    "id column": _id_column,
    "polars": lambda frame, path: pl.from_pandas(_id_column(frame, path)),
    "AnnData": _annotated,
    "file": _file,
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_matched_by_ids(kind, runs, tmp_path):
    source = KINDS[kind](runs.source, tmp_path / "source.csv")
    turned = KINDS[kind](runs.target.iloc[runs.order], tmp_path / "target.csv")
    plain = upto.Aligner().fit(runs.rows, runs.other)
    aligner = upto.Aligner().fit(source, turned)
    np.testing.assert_allclose(aligner.linear_, plain.linear_, atol=1e-9)
    wanted = plain.score(runs.rows, runs.other)
    assert wanted > 0.98
    assert aligner.score(source, turned) == pytest.approx(wanted)
    assert upto.compare(source, turned).aligner("rigid").score(source, turned) > 0.98


def test_rows_without_ids_on_one_side_are_matched_by_position(runs):
    for target in (runs.other, runs.target.reset_index(drop=True)):
        assert upto.Aligner().fit(runs.source, target).score(runs.source, target) > 0.98


def test_ids_that_differ_or_repeat_are_refused(runs):
    source, target = runs.source, runs.target
    aligner = upto.Aligner().fit(source, target)
    for call in (upto.Aligner().fit, aligner.score):
        with pytest.raises(InputError, match=r"^190 ids .* 10 of 200 in X.*: pass the same sampl"):
            call(source, target.iloc[10:])
        with pytest.raises(InputError, match="share no ids"):
            call(source.iloc[:50], target.iloc[50:100])
        repeated = upto.as_embeddings(target, ids=["c0", *target.index[:-1]])
        with pytest.raises(InputError, match="y has 1 ids that occur more than once, such as 'c0'"):
            call(source, repeated)


def test_numbers_of_rows_and_coordinates_that_differ_are_refused(runs):
    rows, other = runs.rows, runs.other
    with pytest.raises(InputError, match=r"^X has 200 rows but y has 3: "):
        upto.Aligner().fit(rows, other[:3])
    aligner = upto.Aligner().fit(rows, other)
    with pytest.raises(InputError, match=r"^X has 200 rows but y has 5: "):
        aligner.score(rows, other[:5].tolist())
    with pytest.raises(InputError, match=r"^y has 2 coordinates but the target has 4: "):
        aligner.score(rows, other[:, :2])


ESTIMATORS = [upto.Whitener(), upto.ICA(random_state=0)]
NAMED = [type(each).__name__ for each in ESTIMATORS]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMED)
def test_values_that_are_no_numbers_are_refused(estimator, runs):
    masked = np.ma.masked_array(runs.rows.copy(), mask=False)
    white = estimator.fit(masked).transform(masked)
    np.testing.assert_allclose(white, estimator.fit(runs.rows).transform(runs.rows))
    masked[0] = np.ma.masked
    refused = {
        "X has 4 masked values": masked,
        "X contains datetime64": runs.rows.astype("datetime64[s]"),
        "X contains timedelta64": runs.rows.astype("timedelta64[s]"),
        "X contains <U": runs.rows.astype(str),
        r"X contains <U.* values": runs.rows.astype(str).tolist(),
        r"X contains \|S": runs.rows.astype("S"),
    }
    for message, given in refused.items():
        for call in (estimator.fit, estimator.transform, estimator.inverse_transform):
            with pytest.raises(InputError, match=f"^{message}"):
                call(given)
    with pytest.raises(InputError, match=r"^y has 4 masked values"):
        upto.Aligner().fit(runs.rows, masked)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=NAMED)
def test_frames_and_files_have_the_same_coordinates(estimator, library, runs, tmp_path):
    convert = {
        "pandas": lambda frame: frame,
        "polars": pl.from_pandas,
        "pyarrow": pytest.importorskip("pyarrow").Table.from_pandas,
    }[library]
    table = runs.source.reset_index(drop=True).assign(id=range(N), plate=3, kind="T")
    path = tmp_path / "run.csv"
    table.to_csv(path, index=False)
    wanted = estimator.fit(runs.source).transform(runs.source)
    frame = convert(table)
    turned = convert(table[["kind", *FIRST[::-1], "id", "plate"]].assign(more=1.0))
    for given in (frame, path):
        estimator.fit(given)
        assert list(estimator.feature_names_in_) == FIRST
        for other in (frame, turned, path, runs.source[FIRST[::-1]]):
            np.testing.assert_allclose(estimator.transform(other), wanted, atol=1e-9)
        with pytest.raises(InputError, match=r"^X has no column b, but the estimator was fitt"):
            estimator.transform(convert(table.drop(columns="b")))
        with pytest.raises(InputError, match=r"^X has no numbers in the column 'b'"):
            estimator.transform(convert(table.assign(b="u")))


def test_a_frame_of_coordinates_is_left_to_scikit_learn(runs):
    whitener = upto.Whitener().set_output(transform="pandas").fit(runs.source)
    found = whitener.transform(runs.source.assign(kind="T"))
    assert list(found.index) == list(runs.source.index)
    with pytest.raises(InputError, match="column"):
        whitener.fit(pd.concat([runs.source, runs.source], axis=1))
    numbered = pd.DataFrame(runs.rows)
    assert not hasattr(upto.Whitener().fit(numbered), "feature_names_in_")
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        whitener.transform(numbered)


def _fitted(runs):
    return upto.Aligner().fit(runs.source, runs.target)


def _compared(runs):
    return upto.compare(runs.source, runs.target).aligner("rigid")


@pytest.mark.parametrize("make", [_fitted, _compared])
def test_an_aligner_knows_the_names_of_its_target(make, runs, tmp_path):
    aligner = make(runs)
    upto.save_transform(tmp_path / "map.safetensors", aligner)
    turned = runs.target[SECOND[::-1]]
    for each in (aligner, upto.load_transform(tmp_path / "map.safetensors")):
        assert each.target_names_ == tuple(SECOND)
        wanted = each.inverse_transform(runs.other)
        upto.apply_transform(each, runs.source, output=tmp_path / "on.csv")
        carried = pd.read_csv(tmp_path / "on.csv", index_col="id")
        assert list(carried) == SECOND
        np.testing.assert_allclose(carried, each.transform(runs.source), atol=1e-9)
        (note,) = upto.apply_transform(each, turned, output=tmp_path / "back.csv", inverse=True)
        assert "matched by name" in note
        back = pd.read_csv(tmp_path / "back.csv", index_col="id")
        np.testing.assert_allclose(back[FIRST], wanted, atol=1e-9)
        np.testing.assert_allclose(each.inverse_transform(turned), wanted)
        np.testing.assert_allclose(each.inverse_transform(upto.as_embeddings(turned)), wanted)
        assert each.score(runs.source, turned) == pytest.approx(each.score(runs.source, runs.other))
        assert list(each.set_output(transform="pandas").transform(runs.source)) == SECOND
        for call in (
            each.inverse_transform,
            lambda run, it=each: upto.apply_transform(
                it, run, output=tmp_path / "no.csv", inverse=True
            ),
        ):
            with pytest.raises(InputError, match="fitted to w, x, y, z"):
                call(runs.target.rename(columns={"w": "v"}))


def test_an_aligner_without_names_takes_any(runs, tmp_path):
    aligner = upto.Aligner().fit(runs.rows, runs.other)
    upto.save_transform(tmp_path / "map.safetensors", aligner)
    assert upto.load_transform(tmp_path / "map.safetensors").target_names_ is None
    wanted = aligner.inverse_transform(runs.other)
    np.testing.assert_allclose(aligner.inverse_transform(runs.target), wanted)


def test_a_file_of_another_format_is_no_transform(runs, tmp_path):
    path = tmp_path / "F.parquet"
    runs.source.to_parquet(path)
    with pytest.raises(InputError, match=r"F\.parquet is not a saved transform: .* \.safetensors"):
        upto.load_transform(path)
