"""White directions: by a triangular factor where that is accurate, else along principal axes."""

from __future__ import annotations

import numpy as np
import pytest

import upto
from upto.questions.compare import side


def pair_of(kind, rng):
    x = rng.laplace(size=(400, 12))
    y = x @ np.linalg.qr(rng.normal(size=(12, 12)))[0] + 0.3 * rng.normal(size=x.shape)
    if kind == "an image":
        y = y[:, :7]
    if kind == "rank-deficient":
        x[:, -1] = x[:, :3].sum(axis=1)
    if kind == "wide spectra":
        x, y = x * np.logspace(0, -5, 12), y * np.logspace(0, -5, 12)
    return x, y


@pytest.mark.parametrize("kind", ["regular", "an image", "rank-deficient", "wide spectra"])
def test_a_factor_and_principal_axes_give_the_same_answer(kind, rng, monkeypatch):
    runs = pair_of(kind, rng)
    asked, by_factor = [], side.whitening_by_factor

    def ask(covariance):
        asked.append(by_factor(covariance))
        return asked[-1]

    with monkeypatch.context() as patch:
        patch.setattr(side, "whitening_by_factor", ask)
        found = upto.compare(*runs)
    # Of a run without all its directions nothing is asked, and of wide spectra in vain.
    used = {"regular": 2, "an image": 2, "rank-deficient": 1, "wide spectra": 0}[kind]
    assert sum(each is not None for each in asked) == used
    monkeypatch.setattr(side, "whitening_by_factor", lambda _: None)
    wanted = upto.compare(*runs)
    assert found.verdict == wanted.verdict
    assert (found.shared.n_shared, found.shared.n_closely) == (
        wanted.shared.n_shared,
        wanted.shared.n_closely,
    )
    for share in ("variance_first", "variance_second"):
        assert getattr(found.shared, share) == pytest.approx(getattr(wanted.shared, share))
    assert found.r2_per_direction == pytest.approx(wanted.r2_per_direction, rel=1e-9)
    for own, other in zip(found.fits, wanted.fits, strict=True):
        assert own.held_out.mean.value == pytest.approx(other.held_out.mean.value, rel=1e-9)


@pytest.mark.parametrize("kind", ["regular", "rank-deficient"])
def test_white_directions_explain_the_variance_of_the_rows_along_them(kind, rng, monkeypatch):
    made, along = [], side.Side._white_along

    def keep(self, *given, **named):
        made.append((self.run.fitted, along(self, *given, **named)))
        return made[-1][1]

    monkeypatch.setattr(side.Side, "_white_along", keep)
    upto.compare(*pair_of(kind, rng))
    assert len(made) >= 2
    for part, white in made:
        covariance = part.scatter / part.weight
        wanted = np.linalg.norm(covariance @ white.directions) ** 2
        assert white.explained == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("kind", ["regular", "an image", "rank-deficient", "wide spectra"])
def test_shares_of_the_variance_are_those_along_the_principal_directions(kind, rng):
    runs = pair_of(kind, rng)
    result = upto.compare(*runs)
    assert [each.name for each in result.along] == ["first", "second"]
    for rows, along in zip(runs, result.along, strict=True):
        wanted = np.linalg.eigvalsh(np.cov(rows.T))[::-1][: len(along.variance)]
        np.testing.assert_allclose(along.variance, wanted / wanted.sum(), rtol=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_long_runs_with_thin_directions_share_no_less_than_nothing(seed):
    """White directions of a sample explain the variance of all rows only about."""
    rng = np.random.default_rng(seed)
    widths = np.r_[np.ones(4), np.full(5, 1e-3), 1e-7]
    x, y = rng.normal(size=(2, 9000, 10))
    y[:, 4:] = x[:, 4:]
    runs = [(rows * widths) @ np.linalg.qr(rng.normal(size=(10, 10)))[0] for rows in (x, y)]
    result = upto.compare(*runs, ica=False, refits=0)
    assert result.shared.n_shared == 6
    for share in (result.shared.variance_first, result.shared.variance_second):
        assert 0 <= share < 0.002


def test_long_runs_that_agree_along_thin_directions_too_share_all_variance(rng):
    widths = np.r_[3, 2, 1.5, np.full(8, 0.5), 1e-7]
    x = (rng.laplace(size=(12_000, 12)) * widths) @ np.linalg.qr(rng.normal(size=(12, 12)))[0]
    runs = x, x @ rng.normal(size=(12, 12))
    result = upto.compare(*runs, ica=False, refits=0)
    assert result.shared.n_shared == 12
    for rows, along in zip(runs, result.along, strict=True):
        wanted = np.linalg.eigvalsh(np.cov(rows.T))[::-1]
        np.testing.assert_allclose(along.variance[:3], (wanted / wanted.sum())[:3], rtol=0.002)
    assert result.shared.variance_first == pytest.approx(1, abs=1e-9)
    assert result.shared.variance_second == pytest.approx(1, abs=1e-9)
