"""Corrections in sample equal the programs they are named after."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from upto.corrections import BatchScaler, ComBat, ControlSphering, TypicalVariation

ROOT = Path(__file__).resolve().parents[3]
CASES = json.loads((ROOT / "tests" / "golden" / "corrections.json").read_text("utf-8"))["cases"]
EQUAL = 1e-11
STOPPED_EARLY = 1e-4
"""scanpy stops its iteration at a relative change of 1e-4."""
FEW = 4

CORRECTIONS = {
    "robust-mad": BatchScaler(reference="controls", statistic="median"),
    "centre-scale": BatchScaler(reference="controls"),
    "tvn": TypicalVariation(scale_batches=False),
    "tvn-without-coral": TypicalVariation(scale_batches=False, coral=False),
    "spherize-zca": ControlSphering(shrinkage=None),
    "combat": ComBat(),
    "combat-settled": ComBat(),
}


@pytest.fixture(scope="module")
def oracles():
    source = ROOT / "checks" / "oracles_corrections.py"
    spec = importlib.util.spec_from_file_location("oracles_corrections", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", CORRECTIONS)
def test_a_correction_in_sample_equals_the_program_it_is_named_after(name, oracles):
    rows, plates, controls = oracles.screen()
    found = CORRECTIONS[name].fit_transform(rows, groups=plates, controls=controls)
    tolerance = STOPPED_EARLY if name == "combat" else EQUAL
    np.testing.assert_allclose(oracles.shown(found), CASES[name], atol=tolerance)


@pytest.mark.parametrize("name", ["pca", "pca-few", "zca-few"])
def test_sphering_equals_pycytominer_where_signs_and_axes_are_settled(name, oracles):
    rows, _, controls = oracles.screen()
    method, _, few = name.partition("-")
    chosen = controls & (np.arange(len(rows)) < FEW) if few else controls
    sphering = ControlSphering(method=method, shrinkage=None)
    found = np.array(oracles.shown(sphering.fit_transform(rows, controls=chosen)))
    wanted = np.array(CASES[f"spherize-{name}"])
    assert sphering.rank_ == (FEW - 1 if few else rows.shape[1])
    if method == "pca":
        # The axes in which no control varies are equally wide, so that any turn of them is right.
        found, wanted = found[:, : sphering.rank_], wanted[:, : sphering.rank_]
        wanted = wanted * np.sign((found * wanted).sum(axis=0))
    np.testing.assert_allclose(found, wanted, atol=EQUAL)
