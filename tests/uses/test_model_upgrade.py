"""An engineer's embedding model was upgraded; few of the old vectors were embedded again.

Recall in the carried index and the index itself are not part of this: rows are.
"""

import numpy as np
import pytest

import upto

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def vectors(tmp_path, rng):
    """Old vectors of 3,000 documents, and new, wider ones of 800 of them, in another order."""
    old = rng.laplace(size=(3000, 8)).astype(np.float32)
    new = (np.hstack([old, np.tanh(old[:, :4])]) @ rng.normal(size=(12, 12))).astype(np.float32)
    new += 0.1 * rng.normal(size=new.shape).astype(np.float32)
    names = np.array([f"document {number}" for number in range(3000)])
    again = rng.permutation(3000)[:800]
    _write(tmp_path / "old.parquet", names, old)
    _write(tmp_path / "new.parquet", names[again], new[again])
    return names, new, again


def _write(path, names, rows):
    columns = {"document": names, **{f"x{i}": column for i, column in enumerate(rows.T)}}
    pq.write_table(pa.table(columns), path, row_group_size=500)


def test_the_map_is_judged_saved_and_applied_to_every_old_vector(vectors, tmp_path):
    names, new, again = vectors
    old_runs = upto.read_runs([tmp_path / "old.parquet", tmp_path / "new.parquet"], ids="document")
    result = upto.compare(*old_runs, ica=False)
    assert result.affine.held_out.r2 > 0.9

    upto.save_transform(tmp_path / "map.safetensors", result.aligner("affine"))
    upto.apply_transform(
        tmp_path / "map.safetensors",
        upto.as_embeddings(tmp_path / "old.parquet", ids="document"),
        output=tmp_path / "carried.parquet",
    )

    carried = upto.read_run(tmp_path / "carried.parquet", ids="id")
    assert carried.rows.shape == (3000, 12)
    np.testing.assert_array_equal(carried.ids, names)
    unseen = np.setdiff1d(np.arange(3000), again)
    rows = np.asarray(carried)[unseen]
    lost = ((rows - new[unseen]) ** 2).sum() / ((new[unseen] - new[unseen].mean(0)) ** 2).sum()
    assert 1 - lost == pytest.approx(result.affine.held_out.r2, abs=0.03)


def test_the_neighbours_of_new_queries_are_found_among_carried_vectors(vectors, tmp_path):
    _, new, again = vectors
    runs = upto.read_runs([tmp_path / "old.parquet", tmp_path / "new.parquet"], ids="document")
    aligner = upto.compare(*runs, ica=False).aligner("affine")
    carried = aligner.transform(tmp_path / "old.parquet")
    unseen = np.setdiff1d(np.arange(3000), again)

    def nearest(space):
        distances = ((new[unseen[:100], None] - space[None, again]) ** 2).sum(-1)
        return np.argsort(distances, axis=1)[:, :10]

    shared = [
        np.intersect1d(*both).size / 10 for both in zip(nearest(new), nearest(carried), strict=True)
    ]
    assert np.mean(shared) > 0.7


@pytest.mark.parametrize("ask", [upto.compare, upto.similarity, upto.consensus])
def test_ids_are_a_column_or_the_values_of_each_run(vectors, tmp_path, ask):
    names, new, again = vectors
    options = {"ica": False} if ask is upto.compare else {}
    if ask is upto.similarity:
        options = {"measures": "linear-cka", "permutations": 19}
    files = tmp_path / "old.parquet", tmp_path / "new.parquet"
    by_column = ask(*files, ids="document", **options)
    old = np.asarray(upto.read_run(files[0], ids="document"))
    by_value = ask(old, new[again], ids=[names, names[again]], **options)
    assert by_value.verdict.replace("first", "old").replace("second", "new") == by_column.verdict
    with pytest.raises(upto.InputError, match="ids has 3000 entries for 2 runs: pass a list"):
        ask(*files, ids=names, **options)
