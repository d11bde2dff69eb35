"""Sets of images with a grid of factors, from tiny files of the published formats."""

from __future__ import annotations

import itertools

import h5py
import numpy as np
import pytest
from image_files import (
    draw_pixels,
    png,
    shrink,
    tar_folder,
    write_cars,
    write_norb,
    write_numbered,
    zip_folder,
)

from upto.core import InputError
from upto.datasets import read_image_set
from upto.datasets.known import KNOWN_SETS

SHAPES_LEVELS = ((0.0, 0.1), (0.0, 0.1, 0.2), (0.0,), (0.75, 1.25), (0.0, 1.0), (-30.0, 0.0, 30.0))
SPRITES_LEVELS = ((1.0, 2.0), (0.5, 1.0), (0.0, 3.0, 6.0), (0.0, 1.0), (0.0, 0.5, 1.0))
SPRITES = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64"


def rows_of(levels):
    return np.array(list(itertools.product(*levels)))


def write_shapes(path, *, images=None, labels=None, chunks=(5, 4, 4, 3), **options):
    images = draw_pixels(72, 4, 4, 3) if images is None else images
    labels = rows_of(SHAPES_LEVELS) if labels is None else labels
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=images, chunks=chunks, **options)
        file["labels"] = labels
    return images


@pytest.fixture
def shapes(monkeypatch):
    shrink(monkeypatch, "shapes3d", SHAPES_LEVELS, (4, 4, 3))


@pytest.fixture
def sprites(monkeypatch):
    shrink(monkeypatch, "dsprites", SPRITES_LEVELS, (5, 5, 1))


def sprite_arrays():
    images = draw_pixels(72, 5, 5) % 2
    values = np.column_stack([np.ones(72), rows_of(SPRITES_LEVELS)])
    classes = np.column_stack([np.zeros(72, int), rows_of([range(len(e)) for e in SPRITES_LEVELS])])
    return images, values, classes


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("shapes3d", (10, 10, 10, 8, 4, 15)),
        ("mpi3d-toy", (6, 6, 2, 3, 3, 40, 40)),
        ("mpi3d-realistic", (6, 6, 2, 3, 3, 40, 40)),
        ("mpi3d-real", (6, 6, 2, 3, 3, 40, 40)),
        ("mpi3d-complex", (4, 4, 2, 3, 3, 40, 40)),
        ("falcor3d", (5, 6, 6, 6, 6, 6, 6)),
        ("isaac3d", (3, 8, 5, 4, 4, 4, 6, 4, 4)),
        ("dsprites", (3, 6, 40, 32, 32)),
        ("cars3d", (4, 24, 183)),
        ("smallnorb", (5, 10, 9, 18, 6)),
    ],
)
def test_the_grids_are_the_published_ones(name, sizes):
    known = KNOWN_SETS[name]
    assert known.grid.sizes == sizes
    assert len(known.grid) == known.n_images


@pytest.mark.parametrize("chunks", [(5, 4, 4, 3), (1, 4, 4, 3), (72, 2, 4, 3), None])
def test_shapes3d_is_read_row_by_row_in_any_order(tmp_path, shapes, chunks):
    packing = {"compression": "gzip"} if chunks else {}
    images = write_shapes(tmp_path / "3dshapes.h5", chunks=chunks, **packing)
    found = read_image_set("shapes3d", tmp_path, check="none")
    rows = np.array([71, 3, 3, 40, 0, 41])
    assert np.array_equal(found.read(rows), images[rows])
    assert np.array_equal(found.read(), images)
    assert np.array_equal(found.read(slice(10, 20, 3)), images[10:20:3])
    assert np.array_equal(found.read(np.arange(72) % 7 == 0), images[::7])
    assert found.read([]).shape == (0, 4, 4, 3)
    assert np.array_equal(found.factors, rows_of(SHAPES_LEVELS))
    assert np.array_equal(found.grid.factors(rows), found.factors[rows])
    assert found.held_rows.size == 0
    assert len(found.training_rows) == len(found) == 72


def test_values_of_levels_are_the_files_own(tmp_path, shapes):
    labels = rows_of(SHAPES_LEVELS) * 7 + 1
    write_shapes(tmp_path / "3dshapes.h5", labels=labels + 1e-9 * draw_pixels(72, 6))
    found = read_image_set("shapes3d", tmp_path / "3dshapes.h5", check="none")
    assert np.allclose(found.factors, labels, atol=1e-6)
    assert found.grid.sizes == (2, 3, 1, 2, 2, 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"labels": rows_of(SHAPES_LEVELS)[::-1] * (1, 1, 1, 1, 1, 0)},
            "orientation does not have one",
        ),
        ({"labels": np.random.default_rng(0).permutation(rows_of(SHAPES_LEVELS))}, "the order of"),
        (
            {"labels": rows_of(SHAPES_LEVELS)[[36, *range(1, 36), 0, *range(37, 72)]]},
            "floor_hue does not have one value",
        ),
        ({"labels": rows_of(SHAPES_LEVELS)[:, :5]}, r"factors of shape \(72, 5\)"),
        ({"labels": rows_of(SHAPES_LEVELS) * np.nan}, "non-finite"),
        (
            {"images": draw_pixels(70, 4, 4, 3)},
            "70 × 4 × 4 × 3 uint8 .* has 72 images of 4 × 4 × 3",
        ),
        ({"images": draw_pixels(72, 4, 5, 3)}, "72 × 4 × 5 × 3"),
        ({"images": draw_pixels(72, 4, 4, 3) / 255}, "float64 values"),
    ],
    ids=["constant", "shuffled", "swapped", "narrow", "nan", "few", "wide", "floats"],
)
def test_files_of_another_shape_or_order_are_refused(tmp_path, shapes, change, words):
    write_shapes(tmp_path / "3dshapes.h5", **change)
    with pytest.raises(InputError, match=words):
        read_image_set("shapes3d", tmp_path, check="none")


def test_damaged_hdf5_is_refused(tmp_path, shapes):
    path = tmp_path / "3dshapes.h5"
    write_shapes(path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"no HDF5"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="damaged or truncated"):
            read_image_set("shapes3d", tmp_path, check="none")
    with h5py.File(path, "w") as file:
        file["pictures"] = np.zeros(3)
    with pytest.raises(InputError, match="no dataset images: it contains pictures"):
        read_image_set("shapes3d", tmp_path, check="none")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("name", ["mpi3d-toy", "mpi3d-realistic", "mpi3d-real", "mpi3d-complex"])
def test_mpi3d_is_mapped_where_it_is_stored(tmp_path, monkeypatch, name, save):
    known = shrink(monkeypatch, name, ((0.0, 1.0), (0.0, 1.0, 2.0)), (4, 4, 3))
    images = draw_pixels(6, 4, 4, 3)
    save(tmp_path / known.names[-1], images=images)
    found = read_image_set(name, tmp_path, check="none")
    assert isinstance(found.pictures.array, np.memmap) == (save is np.savez)
    assert np.array_equal(found.read([5, 0]), images[[5, 0]])
    assert found.factors.tolist() == [[a, b] for a in (0, 1) for b in (0, 1, 2)]


def test_damaged_archives_and_pickles_are_refused(tmp_path, monkeypatch):
    shrink(monkeypatch, "mpi3d-toy", ((0.0, 1.0), (0.0, 1.0, 2.0)), (4, 4, 3))
    path = tmp_path / "mpi3d_toy.npz"
    np.savez_compressed(path, images=draw_pixels(6, 4, 4, 3))
    whole = path.read_bytes()
    for content in (whole[:-30], whole[:150] + b"\0" * 40 + whole[190:]):
        path.write_bytes(content)
        with pytest.raises(InputError, match="damaged or truncated"):
            read_image_set("mpi3d-toy", tmp_path, check="none")
    np.savez(path, pictures=np.zeros(3))
    with pytest.raises(InputError, match="no array images, but pictures"):
        read_image_set("mpi3d-toy", tmp_path, check="none")
    np.savez(path, images=np.array([{}] * 6, dtype=object))
    with pytest.raises(InputError, match="a pickle"):
        read_image_set("mpi3d-toy", tmp_path, check="none")
    np.savez(path, images=draw_pixels(5, 4, 4, 3))
    with pytest.raises(InputError, match="5 × 4 × 4 × 3 uint8 values"):
        read_image_set("mpi3d-toy", tmp_path, check="none")


class Harmful:
    def __reduce__(self):
        return (pytest.fail, ("something was unpickled",))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_dsprites_is_read_without_its_pickled_metadata(tmp_path, sprites, save):
    images, values, classes = sprite_arrays()
    save(
        tmp_path / f"{SPRITES}.npz",
        imgs=images,
        latents_values=values,
        latents_classes=classes,
        metadata=np.array(Harmful(), dtype=object),
    )
    found = read_image_set("dsprites", tmp_path)
    rows = [70, 2, 2, 31]
    assert np.array_equal(found.read(rows), images[rows][..., None])
    assert found.read_floats(rows).max() == 1.0
    assert np.array_equal(found.factors, rows_of(SPRITES_LEVELS))
    assert found.factor_names == ("shape", "scale", "orientation", "x", "y")
    assert found.pictures.packed.nbytes == 72 * 4


def test_dsprites_is_read_from_hdf5_too(tmp_path, sprites):
    images, values, classes = sprite_arrays()
    with h5py.File(tmp_path / f"{SPRITES}.hdf5", "w") as file:
        file["imgs"], file["latents/values"], file["latents/classes"] = images, values, classes
    found = read_image_set("dsprites", tmp_path, check="none")
    assert np.array_equal(found.read([70, 2]), images[[70, 2]][..., None])
    assert np.array_equal(found.factors, rows_of(SPRITES_LEVELS))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"imgs": sprite_arrays()[0] * 255}, "contains 255, not only zeros and ones"),
        ({"latents_values": sprite_arrays()[1][:, 1:]}, r"latents of shape \(72, 5\)"),
        ({"latents_classes": sprite_arrays()[2][::-1] // 2}, "order of the grid"),
        ({"latents_values": np.array([None] * 72)}, "a pickle"),
    ],
    ids=["bytes", "narrow", "order", "objects"],
)
def test_other_arrays_than_those_of_dsprites_are_refused(tmp_path, sprites, change, words):
    images, values, classes = sprite_arrays()
    arrays = {"imgs": images, "latents_values": values, "latents_classes": classes} | change
    np.savez(tmp_path / f"{SPRITES}.npz", **arrays)
    with pytest.raises(InputError, match=words):
        read_image_set("dsprites", tmp_path)


@pytest.mark.parametrize("layout", ["folder", "inside", "images", "zip"])
@pytest.mark.parametrize(
    ("name", "title", "labels"),
    [("falcor3d", "Falcor3D", "train-rec.labels"), ("isaac3d", "Isaac3D", "labels.npy")],
)
def test_numbered_images_are_read_as_they_are_needed(
    tmp_path, monkeypatch, name, title, labels, layout
):
    levels = ((0.0, 1.0), (0.0, 0.5, 1.0))
    shrink(monkeypatch, name, levels)
    images, folder = draw_pixels(6, 8, 8, 3), tmp_path / f"{title}_down128"
    write_numbered(folder, images, rows_of(levels) * 3, labels)
    zip_folder(folder, tmp_path / "packed.zip")
    if layout == "zip":
        folder.rename(tmp_path / "elsewhere")
        (tmp_path / "packed.zip").rename(tmp_path / f"{title}_down128.zip")
    given = {"folder": folder, "images": folder / "images"}.get(layout, tmp_path)
    found = read_image_set(name, given)
    assert np.array_equal(found.read([4, 0, 4]), images[[4, 0, 4]])
    # The folder of images alone has no labels: then levels are spread over [0, 1].
    scale = 1 if layout == "images" else 3
    assert np.array_equal(found.factors, rows_of(levels) * scale)
    assert found.read(n_pixels=4).shape == (6, 4, 4, 3)


def test_missing_damaged_and_odd_images_are_named(tmp_path, monkeypatch):
    shrink(monkeypatch, "falcor3d", ((0.0, 1.0), (0.0, 0.5, 1.0)))
    write_numbered(tmp_path, draw_pixels(6, 8, 8, 3))
    found, last = read_image_set("falcor3d", tmp_path), tmp_path / "images" / "000005.png"
    whole = last.read_bytes()
    last.write_bytes(whole[:60])
    with pytest.raises(InputError, match=r"000005\.png is damaged"):
        found.read()
    assert found.read([0, 1]).shape == (2, 8, 8, 3)
    last.write_bytes(png(draw_pixels(4, 8, 3)))
    with pytest.raises(InputError, match="is 4 × 8 × 3, but the first image is 8 × 8 × 3"):
        found.read([5])
    last.unlink()
    with pytest.raises(InputError, match=r"000005\.png is damaged.*No such file"):
        found.read([5])
    with pytest.raises(InputError, match=r"5 × 8 × 8 × 3 .* has 6 images"):
        read_image_set("falcor3d", tmp_path)


def test_labels_of_numbered_images_are_never_unpickled(tmp_path, monkeypatch):
    shrink(monkeypatch, "falcor3d", ((0.0, 1.0), (0.0, 0.5, 1.0)))
    write_numbered(tmp_path, draw_pixels(6, 8, 8, 3))
    np.save(tmp_path / "labels.npy", np.array([Harmful()] * 6, dtype=object))
    with pytest.raises(InputError, match=r"labels\.npy \w+ Python objects \(a pickle\)"):
        read_image_set("falcor3d", tmp_path)


@pytest.mark.parametrize("layout", ["archive", "data/cars", "", "npz"])
def test_cars_are_ordered_by_elevation_azimuth_and_list(tmp_path, monkeypatch, layout):
    shrink(monkeypatch, "cars3d", ((0.0, 1.0), (0.0, 1.0, 2.0), (0.0, 1.0, 2.0, 3.0)))
    images = draw_pixels(2, 3, 4, 6, 6, 3)
    if layout == "npz":
        np.savez(tmp_path / "cars3d.npz", images=images.reshape(24, 6, 6, 3))
    elif layout == "archive":
        write_cars(tmp_path / "data" / "cars", images, ["car_b", "car_a", "car_d", "car_c"])
        tar_folder(tmp_path / "data", tmp_path / "nips2015-analogy-data.tar.gz")
        (tmp_path / "data").rename(tmp_path / "unpacked")
    else:
        target = tmp_path / (layout or "any")
        write_cars(target, images, ["car_b", "car_a", "car_d", "car_c"])
    found = read_image_set("cars3d", tmp_path if layout else tmp_path / "any", check="none")
    assert np.array_equal(found.read(), images.reshape(24, 6, 6, 3))
    assert found.factors[13].tolist() == [1.0, 0.0, 1.0]


def test_cars_that_are_missing_or_damaged_are_named(tmp_path, monkeypatch):
    shrink(monkeypatch, "cars3d", ((0.0, 1.0), (0.0, 1.0, 2.0), (0.0, 1.0)))
    write_cars(tmp_path / "cars", draw_pixels(2, 3, 2, 6, 6, 3), ["car_a", "car_b"])
    (tmp_path / "cars" / "list.txt").write_text("car_a\ncar_c\n")
    with pytest.raises(InputError, match=r"2 cars, without car_c\.mat, not 2"):
        read_image_set("cars3d", tmp_path)
    (tmp_path / "cars" / "list.txt").unlink()
    assert len(read_image_set("cars3d", tmp_path)) == 12
    whole = (tmp_path / "cars" / "car_b.mat").read_bytes()
    for content in (whole[:100], whole[:200], b"", b"\x80\x04N."):
        (tmp_path / "cars" / "car_b.mat").write_bytes(content)
        with pytest.raises(InputError, match=r"car_b\.mat"):
            read_image_set("cars3d", tmp_path)
    (tmp_path / "nips2015-analogy-data.tar.gz").write_bytes(b"\x1f\x8b rest")
    with pytest.raises(InputError, match=r"tar\.gz is damaged"):
        read_image_set("cars3d", tmp_path, check="none")


NORB_LEVELS = ((0.0, 1.0), (0.0, 1.0, 2.0), (30.0, 35.0), (0.0, 20.0, 40.0), (0.0, 1.0))


def test_both_parts_of_smallnorb_make_one_grid(tmp_path, monkeypatch):
    known = shrink(monkeypatch, "smallnorb", NORB_LEVELS, (6, 6, 1))
    levels, images = known.grid.levels(), draw_pixels(72, 6, 6)
    write_norb(tmp_path / "small_norb", levels, images, ([0, 2], [1]))
    found = read_image_set("smallnorb", tmp_path)
    assert np.array_equal(found.read(), images[..., None])
    assert np.array_equal(found.factors, rows_of(NORB_LEVELS))
    assert np.array_equal(found.held, levels[:, 1] == 1)
    assert np.array_equal(found.held_rows, np.flatnonzero(levels[:, 1] == 1))


def test_smallnorb_with_a_part_twice_or_missing_is_refused(tmp_path, monkeypatch):
    known = shrink(monkeypatch, "smallnorb", NORB_LEVELS, (6, 6, 1))
    levels, images = known.grid.levels(), draw_pixels(72, 6, 6)
    write_norb(tmp_path, levels, images, ([0, 2], [2]))
    with pytest.raises(InputError, match="48 combinations of factors in 72 images of 6 × 6"):
        read_image_set("smallnorb", tmp_path)
    write_norb(tmp_path, levels + np.eye(1, 5, dtype=int) * 5, images, ([0, 2], [1]))
    with pytest.raises(InputError, match="levels from 5 to 6 of category are outside the grid"):
        read_image_set("smallnorb", tmp_path)
    next(tmp_path.glob("*testing-info.mat")).unlink()
    with pytest.raises(InputError, match=r"no smallnorb-5x01235.*-info\.mat\.gz or"):
        read_image_set("smallnorb", tmp_path)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.full((72, 6), b"red"), r"type \|S3.*72 rows of 6 numbers"),
        (np.zeros((72, 6), [("hue", float)]), "72 rows of 6 numbers"),
        (rows_of(SHAPES_LEVELS) + 1j, "type complex128"),
    ],
)
def test_factors_that_are_no_numbers_are_refused(tmp_path, shapes, labels, words):
    write_shapes(tmp_path / "3dshapes.h5", labels=labels)
    with pytest.raises(InputError, match=words):
        read_image_set("shapes3d", tmp_path, check="none")


@pytest.mark.parametrize(("key", "words"), [("images", "no dataset images"), ("labels", "labels")])
def test_a_group_in_the_place_of_an_array_is_refused(tmp_path, shapes, key, words):
    path = tmp_path / "3dshapes.h5"
    write_shapes(path)
    with h5py.File(path, "a") as file:
        del file[key]
        file.create_group(key)
    with pytest.raises(InputError, match=words):
        read_image_set("shapes3d", tmp_path, check="none")
