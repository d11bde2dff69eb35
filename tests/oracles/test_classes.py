"""Scores of codes against classes, against the numbers of DRVI's own programs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from upto.disentanglement.class_matching import (
    MATCHES,
    latent_matching_score,
    most_similar_averaging_score,
    most_similar_gap_score,
)
from upto.disentanglement.codes_and_classes import SIMILARITIES, class_similarities

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = json.loads((ROOT / "tests" / "golden" / "classes.json").read_text("utf-8"))["values"]
AGREE = 1e-9
SCORES = dict(
    zip(
        MATCHES,
        (latent_matching_score, most_similar_averaging_score, most_similar_gap_score),
        strict=True,
    )
)


@pytest.fixture(scope="module")
def data():
    source = ROOT / "checks" / "oracles_classes.py"
    spec = importlib.util.spec_from_file_location("oracles_classes", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {"kinds": module.kinds_of(0), "processes": module.processes_of(1)}


@pytest.mark.parametrize("name", ["kinds", "processes"])
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_similarities_are_those_of_drvi(data, similarity, name):
    found = class_similarities(*data[name], similarity=similarity).table
    assert found == pytest.approx(np.array(GOLDEN[f"{similarity} of {name}"]), abs=AGREE)


@pytest.mark.parametrize("name", ["kinds", "processes"])
@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("match", MATCHES)
def test_matches_are_those_of_drvi(data, match, similarity, name):
    found = SCORES[match](*data[name], similarity=similarity)
    expected = GOLDEN[f"{match}/{similarity} of {name}"]
    assert found.value == pytest.approx(expected, abs=AGREE)
