"""Pairs of which a row is bad: refused with their ids, or left out."""

import numpy as np
import pytest

import upto
from upto.core import Embeddings, InputError

RNG = np.random.default_rng(0)
OLD = RNG.laplace(size=(300, 5))
NEW = OLD @ RNG.normal(size=(5, 6))


def flawed(rows, **bad):
    rows = rows.copy()
    for value, places in bad.items():
        rows[places] = float(value)
    return rows


@pytest.mark.parametrize("policy", ["drop", "keep"])
def test_bad_pairs_are_left_out_and_counted(policy):
    old, new = flawed(OLD, nan=[3], inf=[7]), NEW.copy()
    new[[9, 3]] = 0
    result = upto.align(old, new, up_to="affine", bad_rows=policy, at=(1, 10))
    assert result.n_pairs == 297
    (finding,) = (each for each in result.findings if each.code == "UP110")
    assert finding.message == (
        "3 of 300 pairs, because old has 2 rows with NaN or infinite values or of length zero: "
        "row 3, row 7; new has 2 rows with NaN or infinite values or of length zero: row 3, row 9."
    )


def test_bad_pairs_are_refused_with_their_ids():
    ids = np.arange(300) + 1000
    old = Embeddings(rows=OLD, name="old", ids=ids)
    new = Embeddings(rows=flawed(NEW, nan=list(range(8)))[::-1], name="new", ids=ids[::-1])
    with pytest.raises(InputError, match=r"id 1000, id 1001, .* and 3 more") as caught:
        upto.align(old, new, up_to="affine")
    assert str(caught.value).endswith("pass bad_rows='drop' to leave out these 8 pairs.")


def test_rows_without_length_count_under_the_distance():
    new = NEW.copy()
    new[3] = 0
    result = upto.align(OLD, new, up_to="affine", metric="euclidean", at=(1, 10))
    assert result.n_pairs == 300


def test_ids_are_those_of_the_index_too(tmp_path):
    pd = pytest.importorskip("pandas")
    ids = np.arange(300) * 7
    for name, rows in (("old", OLD), ("new", NEW)):
        columns = [f"{name}{number}" for number in range(rows.shape[1])]
        frame = pd.DataFrame(rows, columns=columns).assign(doc=ids)
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    old, new, out = (tmp_path / name for name in ("old.csv", "new.csv", "out.csv"))
    upto.align(old, new, ids="doc", up_to="affine", at=(1, 10), apply=old, output=out)
    assert list(pd.read_csv(out).columns) == ["doc", *(f"new{number}" for number in range(6))]


def test_outputs_are_refused_before_anything_is_fitted(tmp_path, monkeypatch):
    parts = [tmp_path / "a.npy", tmp_path / "b.npy"]
    for part in parts:
        np.save(part, OLD)
    monkeypatch.setattr("upto.questions.align.question.find_pairs", None)
    with pytest.raises(InputError, match="one file for 2 runs"):
        upto.align(OLD, NEW, apply=parts, output=tmp_path / "x.npy")
    with pytest.raises(InputError, match="two runs would be written to"):
        upto.align(OLD, NEW, apply=parts[:1] * 2, output=tmp_path / "new")
