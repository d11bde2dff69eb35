"""Sets of images as a whole: found, checked, read by rows and at another size."""

from __future__ import annotations

import dataclasses
import hashlib
import sys

import numpy as np
import pytest
from image_files import draw_pixels, shrink, write_idx_set, write_numbered
from PIL import Image

from upto.core import InputError, MissingExtraError
from upto.datasets import IMAGE_SETS, ImageSet, read_image_set
from upto.datasets import find as finding
from upto.datasets.described import KnownFile
from upto.datasets.known import KNOWN_SETS
from upto.datasets.resize import resize_images
from upto.datasets.storage import ArrayPictures


def small_set(n_images=5, size=16, **fields):
    return ImageSet(
        name="any",
        pictures=ArrayPictures(draw_pixels(n_images, size, size, 3)),
        factors=np.arange(float(n_images))[:, None],
        factor_names=("number",),
        **fields,
    )


@pytest.mark.parametrize("name", [*KNOWN_SETS])
def test_without_files_one_sentence_says_where_they_come_from(tmp_path, monkeypatch, name):
    monkeypatch.delenv("UPTO_DATA", raising=False)
    known = KNOWN_SETS[name]
    with pytest.raises(InputError) as without_folder:
        read_image_set(name)
    with pytest.raises(InputError) as empty_folder:
        read_image_set(name, tmp_path)
    with pytest.raises(InputError, match="nowhere is not a folder"):
        read_image_set(name, tmp_path / "nowhere")
    for error in (without_folder, empty_folder):
        for words in (known.title, known.source, known.licence, known.size, known.layout):
            assert words in str(error.value)
    assert "--data" in str(without_folder.value)
    assert str(tmp_path) in str(empty_folder.value)


def test_names_and_checks_that_are_none_are_refused(tmp_path):
    assert len(IMAGE_SETS) == 14
    with pytest.raises(InputError, match="no image set 'cars': choose one of shapes3d, mpi3d"):
        read_image_set("cars", tmp_path)
    with pytest.raises(InputError, match="check='fast' does not exist"):
        read_image_set("mnist", tmp_path, check="fast")


def test_the_folder_may_be_named_by_the_environment(tmp_path, monkeypatch):
    write_idx_set(tmp_path)
    monkeypatch.setenv("UPTO_DATA", str(tmp_path))
    assert len(read_image_set("mnist", check="none")) == 6


def test_another_file_than_the_published_one_is_refused(tmp_path):
    write_idx_set(tmp_path)
    with pytest.raises(InputError, match=r"not the published file of MNIST.*MD5 of its content"):
        read_image_set("mnist", tmp_path)


@pytest.mark.parametrize("is_large", [False, True])
def test_files_are_checked_as_far_as_something_was_published(tmp_path, monkeypatch, is_large):
    path, content = tmp_path / "3dshapes.h5", draw_pixels(200_001).tobytes()
    path.write_bytes(content)
    length, middle = 16_384, (200_001 - 16_384) // 2
    seen = content[:length] + content[middle : middle + length] + content[-length:]
    pieces = hashlib.md5((200_001).to_bytes(8, "big") + seen).hexdigest()
    right = {
        "size": 200_001,
        "md5": hashlib.md5(content).hexdigest(),
        "sha256": hashlib.sha256(content).hexdigest(),
        "pieces": pieces,
    }
    monkeypatch.setattr(finding, "_QUICK_BYTES", 1000 if is_large else 10**6)

    def refused(check, **facts):
        files = {path.name: KnownFile(**facts)}
        known = dataclasses.replace(KNOWN_SETS["shapes3d"], files=files)
        try:
            finding.check_file(known, path, check)
        except InputError as error:
            return str(error)
        return None

    assert refused("full", **right) is None
    assert "it has 200,001 bytes, not 7" in refused("quick", **right | {"size": 7})
    assert "MD5 of three of its pieces" in refused("quick", **right | {"pieces": "0"})
    assert "SHA-256" in refused("full", **right | {"sha256": "0"})
    assert f"the MD5 is {right['md5']}, not 0" in refused("full", md5="0")
    assert (refused("quick", **right | {"sha256": "0"}) is None) == is_large
    assert refused("none", **right | {"size": 7, "pieces": "0"}) is None


def test_every_published_checksum_has_the_length_of_its_kind():
    lengths = {"md5": 32, "sha256": 64, "pieces": 32, "unpacked": 32}
    found = [
        len(value) == lengths[kind]
        for known in KNOWN_SETS.values()
        for file in known.files.values()
        for kind, value in dataclasses.asdict(file).items()
        if kind != "size" and value is not None
    ]
    assert len(found) == 25
    assert all(found)


@pytest.mark.parametrize(("old", "new"), [(128, 64), (96, 64), (64, 64), (7, 3), (5, 11), (9, 1)])
def test_resizing_is_that_of_pillow_without_its_rounding(old, new):
    images = draw_pixels(3, old, old + 2, 2)
    found = resize_images(images, new)
    for image, ours in zip(images, found, strict=True):
        for channel in range(2):
            drawn = Image.fromarray(image[..., channel].astype(np.float32))
            expected = np.asarray(drawn.resize((new, new), Image.Resampling.BICUBIC))
            # Both round in single precision: at most 5e-5 apart was measured.
            assert np.abs(ours[..., channel] - expected).max() < 2e-4


def test_images_are_resized_rounded_and_clipped():
    images = small_set(brightest=255)
    exact = resize_images(images.read(), 8)
    assert np.array_equal(images.read(n_pixels=8), np.rint(np.clip(exact, 0, 255)))
    assert images.read(n_pixels=8).dtype == np.uint8
    floats = images.read_floats([3, 1], n_pixels=8)
    assert np.allclose(floats, np.clip(exact, 0, 255)[[3, 1]] / 255, atol=1e-6)
    assert np.array_equal(images.read(n_pixels=16), images.read())


def test_an_edge_overshoots_and_is_clipped():
    step = np.zeros((1, 16, 16, 1), dtype=np.uint8)
    step[:, :, 8:] = 255
    images = ImageSet(
        name="step", pictures=ArrayPictures(step), factors=np.zeros((1, 0)), factor_names=()
    )
    assert resize_images(step, 24).max() > 256
    assert images.read_floats(n_pixels=24).max() == 1.0
    assert images.read_floats(n_pixels=24).min() == 0.0
    assert images.read(n_pixels=24).max() == 255


def test_images_with_few_shades_are_resized_to_floats_only():
    digits = read_image_set("digits")
    with pytest.raises(InputError, match=r"17 shades .* read_floats"):
        digits.read(n_pixels=4)
    assert digits.read_floats([0], n_pixels=4).max() <= 1.0


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([5], "index 5 is out of bounds.*integers from 0 to 4"),
        ([0.5], "there are no such images"),
        ([True, False], "boolean index"),
        ([[0, 1]], "one axis"),
        (3, "one axis"),
    ],
)
def test_rows_that_are_none_are_refused(rows, words):
    with pytest.raises(InputError, match=words):
        small_set().read(rows)


def test_sizes_and_factors_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="cannot be resized to 0 pixels"):
        small_set().read(n_pixels=0)
    with pytest.raises(InputError, match=r"cannot be resized to 2.5 pixels: give an integer"):
        small_set().read_floats(n_pixels=2.5)
    with pytest.raises(InputError, match=r"factors of shape \(5, 1\) do not match 5 images and 2"):
        dataclasses.replace(small_set(), factor_names=("a", "b"))


@pytest.mark.parametrize(("module", "name"), [("h5py", "shapes3d"), ("PIL", "falcor3d")])
def test_a_missing_package_is_named(tmp_path, monkeypatch, module, name):
    shrink(monkeypatch, "falcor3d", ((0.0, 1.0),))
    write_numbered(tmp_path, draw_pixels(2, 4, 4, 3))
    (tmp_path / "3dshapes.h5").write_bytes(b"any")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"upto\[images\]"):
        read_image_set(name, tmp_path, check="none")
