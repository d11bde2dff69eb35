"""Manifests that no one wrote by hand."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto.files import read_manifest


@pytest.mark.parametrize(
    "text",
    [
        "run = " + "[" * 5000,
        "run = " + "{a=" * 5000,
        ".".join(["a"] * 5000) + " = 1",
        '[[run]]\npath = "a\\u0000b.npy"',
        '[[run]]\npath = "run.npy"\nseed = ' + "9" * 5000,
        '[[run]]\npath = "run.npy"\nseed = ' + "9" * 4000,
        '[[run]]\npath = "run.npy"\nseed = 2000-13-45',
        "[[run]]\npath = " + str([["x" * 100] * 20] * 50),
        "[[run]]\npath = '" + "y" * 9000 + "'",
        "[[run]]\n'" + "z" * 9000 + "' = 1",
        "q" * 9000 + " = 1",
        "run = ['" + "w" * 9000 + "']",
        '[[run]]\npath = "~nosuchuser/x.npy"',
        '[[run]]\npath = "run.npy"\nname = "\\ud800"',
    ],
)
def test_a_hostile_manifest_is_one_short_sentence(tmp_path, values, text):
    np.save(tmp_path / "run.npy", values)
    (tmp_path / "runs.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        read_manifest(tmp_path / "runs.toml")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_manifest_of_gigabytes_is_not_read(tmp_path):
    with (tmp_path / "runs.toml").open("wb") as file:
        file.truncate(2**29)
    with pytest.raises(InputError, match=r"runs\.toml has 536870912 bytes, more than the"):
        read_manifest(tmp_path / "runs.toml")
