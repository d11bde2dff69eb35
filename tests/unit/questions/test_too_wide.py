"""Runs whose matrices of all columns exceed the memory are refused before anything is computed."""

from __future__ import annotations

import numpy as np
import pytest

import upto
from upto.core import InputError
from upto.files import declared

WIDTH = 40
ROWS = np.random.default_rng(0).normal(size=(6, 30, WIDTH))


def remember(monkeypatch, n_matrices):
    """Pretend to have memory for some matrices of all columns by all columns."""
    size = n_matrices * 8 * WIDTH**2
    monkeypatch.setattr("upto.files.survey.memory_size", lambda: size)


@pytest.mark.parametrize(
    ("ask", "n_matrices", "what"),
    [
        (lambda: upto.unmix(ROWS[0]), 10, "unmixing 40 columns"),
        (lambda: upto.compare(*ROWS[:2]), 20, "comparing 40 columns"),
        (lambda: upto.consensus(*ROWS[:2]), 10, "a consensus of 2 runs of 40 columns"),
        (lambda: upto.align(*ROWS[:2]), 20, "aligning 40 columns"),
        (lambda: upto.align(*ROWS[:2], up_to="rigid"), 8, "aligning 40 columns"),
    ],
)
def test_wide_runs_that_do_not_fit_are_refused_with_a_remedy(monkeypatch, ask, n_matrices, what):
    remember(monkeypatch, n_matrices)
    remedy = "reduce each run to its leading principal directions first"
    message = f"{what} takes 0 GB for matrices of 40 by 40 numbers, but .* of memory: {remedy}"
    with pytest.raises(InputError, match=message):
        ask()


def test_similarity_refuses_only_measures_that_match_coordinates(monkeypatch):
    remember(monkeypatch, 6)
    with pytest.raises(InputError, match=r"matching 40 columns takes .* choose other measures, or"):
        upto.similarity(*ROWS[:2])
    found = upto.similarity(*ROWS[:2], measures=["linear-cka", "mean-cca"], permutations=19)
    assert len(found.rows) == 2
    narrow = upto.similarity(ROWS[0], ROWS[1][:, :4], measures="mcc", permutations=19)
    assert len(narrow.rows) == 1


def test_aligning_by_fewer_maps_takes_less(monkeypatch):
    remember(monkeypatch, 12)
    rows = np.random.default_rng(1).normal(size=(200, WIDTH))
    assert upto.align(rows, rows[:, ::-1], up_to="rigid").chosen == "rigid"
    with pytest.raises(InputError, match="aligning 40 columns"):
        upto.align(rows, rows[:, ::-1])


def test_every_further_run_takes_memory(monkeypatch):
    remember(monkeypatch, 55)
    upto.compare(*ROWS[:2], ica=False, refits=0, permutations=19)
    upto.consensus(*ROWS[:2])
    with pytest.raises(InputError, match=r"comparing 6 runs .* compare fewer at a time, or"):
        upto.compare(*ROWS)
    with pytest.raises(InputError, match="a consensus of 6 runs of 40 columns"):
        upto.consensus(*ROWS)


def test_narrow_further_runs_take_little(monkeypatch):
    remember(monkeypatch, 40)
    narrow = [rows[:, :4] for rows in ROWS[2:]]
    result = upto.compare(*ROWS[:2], *narrow, ica=False, up_to="affine", permutations=19)
    assert [run.n_features for run in result.runs] == [40, 40, 4, 4, 4, 4]


def test_a_limit_of_the_process_counts_as_the_memory(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    there = declared.memory_size()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (there // 3, resource.RLIM_INFINITY))
    assert declared.memory_size() == there // 3
    monkeypatch.setattr(resource, "getrlimit", lambda _: (3 * there, resource.RLIM_INFINITY))
    assert declared.memory_size() == there
