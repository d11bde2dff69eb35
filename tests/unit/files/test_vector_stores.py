"""Lance tables, FAISS indexes and folders of parquet files are written and read block by block."""

from __future__ import annotations

import struct
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from upto.core import Embeddings, InputError, MissingExtraError
from upto.files import open_writer, read_columns, read_labels, read_run
from upto.files.faiss_file import write_faiss
from upto.files.part_files import PartsRows
from upto.files.plan import Plan

N_ROWS, WIDTH = 300, 7


@pytest.fixture
def rows(rng):
    return rng.normal(size=(N_ROWS, WIDTH)).astype(np.float32)


def like(rows, ids=None, **columns):
    return Embeddings(rows=rows, name="old", ids=ids, columns=columns)


def write(path, run, rows, block=64, **options):
    with open_writer(path, run, rows.shape[1], **options) as writer:
        for start in range(0, len(rows), block):
            writer[start : start + block] = rows[start : start + block]


# FAISS


@pytest.fixture
def faiss():
    return pytest.importorskip("faiss")


@pytest.mark.parametrize("has_ids", [False, True])
@pytest.mark.parametrize("normalised", [False, True])
def test_an_index_is_the_one_that_faiss_writes(tmp_path, rows, faiss, has_ids, normalised):
    if normalised:
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    ids = np.arange(N_ROWS) * 7 - 3 if has_ids else None
    write(tmp_path / "ours.faiss", like(rows, ids), rows)
    kind = faiss.IndexFlatIP if normalised else faiss.IndexFlatL2
    theirs = kind(WIDTH)
    if has_ids:
        theirs = faiss.IndexIDMap2(theirs)
        theirs.add_with_ids(rows, ids)
    else:
        theirs.add(rows)
    faiss.write_index(theirs, str(tmp_path / "theirs.faiss"))
    ours, wanted = (tmp_path / f"{who}.faiss" for who in ("ours", "theirs"))
    assert ours.read_bytes() == wanted.read_bytes()
    index = faiss.read_index(str(ours))
    _, found = index.search(rows[:5], 1)
    np.testing.assert_array_equal(found[:, 0], np.arange(5) if ids is None else ids[:5])


@pytest.mark.parametrize("make", ["IndexFlatIP", "IndexFlatL2", "IndexIDMap", "IndexIDMap2", "L1"])
def test_an_index_of_faiss_is_read_by_block(tmp_path, rows, faiss, make):
    ids = np.arange(N_ROWS)[::-1] + 2**40
    if make == "L1":
        index = faiss.IndexFlat(WIDTH, faiss.METRIC_Lp)
    else:
        index = getattr(faiss, make)(faiss.IndexFlatL2(WIDTH) if "Map" in make else WIDTH)
    if "Map" in make:
        index.add_with_ids(rows, ids)
    else:
        index.add(rows)
    faiss.write_index(index, str(tmp_path / "run.faiss"))
    run = read_run(tmp_path / "run.faiss")
    np.testing.assert_array_equal(run.rows[:], rows)
    np.testing.assert_array_equal(run.rows[100:103], rows[100:103])
    if "Map" not in make:
        assert run.ids is None
        with pytest.raises(InputError, match="holds vectors only"):
            read_labels(tmp_path / "run.faiss")
        return
    np.testing.assert_array_equal(run.ids, ids)
    np.testing.assert_array_equal(read_labels(tmp_path / "run.faiss")[1], ids)
    np.testing.assert_array_equal(read_columns(tmp_path / "run.faiss").columns["run_2"], rows[:, 2])


@pytest.mark.parametrize("description", ["IVF4,Flat", "HNSW8", "PQ7x4", "SQ8", "LSH"])
def test_an_index_that_is_not_flat_is_refused(tmp_path, rows, faiss, description):
    index = faiss.index_factory(WIDTH, description)
    index.train(rows)
    index.add(rows)
    faiss.write_index(index, str(tmp_path / "run.faiss"))
    with pytest.raises(InputError, match="of which upto reads flat ones only") as refused:
        read_run(tmp_path / "run.faiss")
    assert "reconstruct_n" in str(refused.value)


def damaged_header(content, place, value):
    return content[:place] + value + content[place + len(value) :]


DAMAGE = {
    "short": lambda content: content[:-9],
    "no vectors": lambda content: content[:60],
    "many rows": lambda content: damaged_header(content, 8, struct.pack("<q", 2**50)),
    "negative": lambda content: damaged_header(content, 45, struct.pack("<q", -4)),
    "wide": lambda content: damaged_header(content, 41, struct.pack("<i", 2**30)),
    "many numbers": lambda content: damaged_header(content, 74, struct.pack("<Q", 2**60)),
    "many ids": lambda content: damaged_header(
        content, 82 + 4 * N_ROWS * WIDTH, struct.pack("<Q", 2**60)
    ),
    "other ids": lambda content: damaged_header(
        content, 82 + 4 * N_ROWS * WIDTH, struct.pack("<Q", 3)
    ),
    "no inside": lambda content: content[:37],
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_index_allocates_nothing(tmp_path, rows, damage):
    path = tmp_path / "run.faiss"
    write(path, like(rows, np.arange(N_ROWS)), rows)
    path.write_bytes(damage(path.read_bytes()))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"damaged|truncated|flat ones only"):
            read_run(path)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


def test_the_metric_can_be_chosen(tmp_path, rows):
    marks = {}
    for metric in ("inner product", "L2", None):
        path = tmp_path / f"{metric}.faiss"
        plan = Plan(
            path=path, like=like(rows), n_columns=WIDTH, dtype=np.dtype("f4"), prefix="aligned"
        )
        with write_faiss(plan, metric) as put:
            put(rows)
        marks[metric] = path.read_bytes()[:4]
    assert marks == {"inner product": b"IxFI", "L2": b"IxF2", None: b"IxF2"}


def test_integers_as_text_are_integers_and_other_text_is_refused(tmp_path, rows):
    path = tmp_path / "run.faiss"
    write(path, like(rows, np.arange(N_ROWS).astype(str)), rows)
    np.testing.assert_array_equal(read_run(path).ids, np.arange(N_ROWS))
    for odd in ("a7", "1.0", "01", str(2**70)):
        ids = np.arange(N_ROWS).astype(str).astype(object)
        ids[0] = odd
        with pytest.raises(InputError, match="ids that are not integers, such as"):
            write(tmp_path / "odd.faiss", like(rows, ids), rows)
    assert [each.name for each in tmp_path.iterdir()] == ["run.faiss"]


def test_an_index_has_no_other_columns(tmp_path, rows):
    write(tmp_path / "run.faiss", like(rows), rows)
    with pytest.raises(InputError, match="holds vectors and their ids only"):
        read_run(tmp_path / "run.faiss", columns=["kind"])


# Folders of parquet files


def parts(folder, rows, counts=(100, 0, 150, 50), **options):
    folder.mkdir()
    start = 0
    for number, count in enumerate(counts):
        part = rows[start : start + count]
        names = np.arange(start, start + count)
        table = pa.table(
            {"id": names, "kind": pa.array([f"k{name % 3}" for name in names], pa.string())}
            | {f"feature_{column}": part[:, column] for column in range(part.shape[1])}
        )
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=40, **options)
        start += count


@pytest.mark.parametrize("span", [(0, 300), (0, 1), (95, 105), (99, 100), (100, 251), (260, 300)])
def test_a_folder_of_parts_is_one_run(tmp_path, rows, span):
    parts(tmp_path / "run.parquet", rows)
    (tmp_path / "run.parquet" / "_SUCCESS").touch()
    run = read_run(tmp_path / "run.parquet")
    np.testing.assert_array_equal(run.rows[slice(*span)], rows[slice(*span)])
    np.testing.assert_array_equal(run.ids, np.arange(N_ROWS))
    assert run.columns["kind"][4] == "k1"
    assert run.features == tuple(f"feature_{column}" for column in range(WIDTH))
    assert read_labels(tmp_path / "run.parquet::kind")[1][299] == "k2"
    assert len(read_columns(tmp_path / "run.parquet").columns) == 1 + WIDTH
    assert read_run(tmp_path / "run.parquet::feature_3").rows.shape == (N_ROWS, 1)


def test_parts_are_opened_a_few_at_a_time_and_large_groups_page_by_page(
    tmp_path, rows, monkeypatch
):
    parts(tmp_path / "run.parquet", rows, (75, 75, 75, 75))
    monkeypatch.setattr("upto.files.columnar._LARGE_BYTES", 100)
    run = read_run(tmp_path / "run.parquet")
    for start in range(0, N_ROWS, 30):
        np.testing.assert_array_equal(run.rows[start : start + 30], rows[start : start + 30])
        assert len(run.rows._open) <= 2
    import pickle

    again = pickle.loads(pickle.dumps(run.rows))
    assert isinstance(again, PartsRows)
    np.testing.assert_array_equal(again[70:80], rows[70:80])


def test_parts_of_other_tables_are_refused(tmp_path, rows):
    folder = tmp_path / "run.parquet"
    parts(folder, rows)
    pq.write_table(pa.table({"x": [1.0]}), folder / "part-9.parquet")
    with pytest.raises(InputError, match=r"part-9\.parquet has other columns"):
        read_run(folder)
    (folder / "part-9.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=r"part-9\.parquet is damaged or truncated"):
        read_run(folder)
    (folder / "part-9.parquet").unlink()
    (folder / "notes.txt").touch()
    with pytest.raises(InputError, match="is a folder, but not"):
        read_run(folder)


def test_an_output_of_parts_replaces_parts_but_no_other_folder(tmp_path, rows):
    write(f"{tmp_path}/out.parquet/", like(rows, np.arange(N_ROWS)), rows)
    assert sorted(each.name for each in (tmp_path / "out.parquet").iterdir()) == [
        "part-000000.parquet"
    ]
    write(tmp_path / "out.parquet", like(rows), 2 * rows)
    np.testing.assert_array_equal(read_run(tmp_path / "out.parquet").rows[:], 2 * rows)
    (tmp_path / "other.parquet").mkdir()
    (tmp_path / "other.parquet" / "notes.txt").touch()
    with pytest.raises(InputError, match="would be lost"):
        write(f"{tmp_path}/other.parquet/", like(rows), rows)


@pytest.mark.parametrize("name", ["out.parquet", "out.parquet/"])
def test_coordinates_are_neither_compressed_nor_put_in_a_dictionary(tmp_path, rows, name):
    write(f"{tmp_path}/{name}", like(rows, kind=np.array(["a"] * N_ROWS)), rows)
    path = tmp_path / name.rstrip("/")
    path = path if path.is_file() else next(path.iterdir())
    group = pq.ParquetFile(path).metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    assert [each.compression for each in columns] == ["SNAPPY"] + ["UNCOMPRESSED"] * (
        len(columns) - 1
    )
    assert [each.has_dictionary_page for each in columns][:2] == [True, False]


# Lance


@pytest.fixture
def lance():
    return pytest.importorskip("lance")


def test_a_lance_table_is_read_again(tmp_path, rows, lance, monkeypatch):
    monkeypatch.setattr("upto.files.growable_tables._FRAGMENT_BYTES", 4 * WIDTH * 40)
    ids = np.array([f"document {row}" for row in range(N_ROWS)])
    path = tmp_path / "out.lance"
    write(path, like(rows, ids, kind=ids, year=np.arange(N_ROWS)), rows)
    table = lance.dataset(str(path))
    assert (table.count_rows(), len(table.versions())) == (N_ROWS, 1)
    assert len(table.get_fragments()) == 8
    run = read_run(path)
    np.testing.assert_array_equal(run.rows[:], rows)
    np.testing.assert_array_equal(run.rows[33:90], rows[33:90])
    np.testing.assert_array_equal(run.ids, ids)
    np.testing.assert_array_equal(run.columns["year"], np.arange(N_ROWS))
    assert read_labels(f"{path}::kind")[1][7] == "document 7"
    assert {*read_columns(path).columns} == {"kind", "year"}
    import pickle

    np.testing.assert_array_equal(pickle.loads(pickle.dumps(run.rows))[290:], rows[290:])


def test_lancedb_opens_and_searches_the_table(tmp_path, rows, lance):
    lancedb = pytest.importorskip("lancedb")
    write(tmp_path / "docs.lance", like(rows, np.arange(N_ROWS)), rows)
    table = lancedb.connect(str(tmp_path)).open_table("docs")
    assert table.count_rows() == N_ROWS
    for row in (0, 150, 299):
        assert table.search(rows[row]).limit(1).to_list()[0]["id"] == row


def test_a_table_of_lancedb_is_read(tmp_path, rows, lance):
    lancedb = pytest.importorskip("lancedb")
    made = [{"vector": row.tolist(), "text": f"t{number}"} for number, row in enumerate(rows)]
    table = lancedb.connect(str(tmp_path)).create_table("docs", data=made)
    table.delete("text = 't5'")
    run = read_run(tmp_path / "docs.lance")
    np.testing.assert_array_equal(run.rows[:], np.delete(rows, 5, axis=0))
    assert run.columns["text"][5] == "t6"


def test_columns_of_numbers_and_missing_values_in_lance(tmp_path, rows, lance):
    columns = {f"feature_{column}": rows[:, column] for column in range(3)}
    lance.write_dataset(pa.table(columns), str(tmp_path / "plain.lance"))
    np.testing.assert_array_equal(read_run(tmp_path / "plain.lance").rows[:], rows[:, :3])
    lists = pa.array([None, *rows[1:].tolist()], pa.list_(pa.float32(), WIDTH))
    lance.write_dataset(pa.table({"vector": lists}), str(tmp_path / "gaps.lance"))
    with pytest.raises(InputError, match="1 missing values in the feature column 'vector'"):
        read_run(tmp_path / "gaps.lance").rows[:]
    lists = pa.array(rows.tolist(), pa.list_(pa.float32()))
    lance.write_dataset(pa.table({"vector": lists}), str(tmp_path / "ragged.lance"))
    with pytest.raises(InputError, match="write it as a list of fixed size"):
        read_run(tmp_path / "ragged.lance")


def test_a_lance_table_without_its_pieces_is_refused(tmp_path, rows, lance):
    write(tmp_path / "out.lance", like(rows), rows)
    for each in (tmp_path / "out.lance" / "data").iterdir():
        each.unlink()
    with pytest.raises(InputError, match="damaged or truncated"):
        read_run(tmp_path / "out.lance").rows[:]
    for each in (tmp_path / "out.lance" / "_versions").iterdir():
        each.write_bytes(each.read_bytes()[:20])
    with pytest.raises(InputError, match="damaged or truncated"):
        read_run(tmp_path / "out.lance")
    (tmp_path / "file.lance").write_bytes(b"rows")
    with pytest.raises(InputError, match="is a file, but lance is a folder"):
        read_run(tmp_path / "file.lance")


def test_the_extra_is_named_where_lance_is_missing(tmp_path, rows, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "lance", None)
    (tmp_path / "run.lance" / "_versions").mkdir(parents=True)
    with pytest.raises(MissingExtraError, match=r"pip install 'upto\[lance\]'"):
        read_run(tmp_path / "run.lance")
