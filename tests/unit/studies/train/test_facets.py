"""Autoencoders with facets: the bound against oracles, stages, members side by side, resuming."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logsumexp, xlogy
from scipy.stats import norm

from upto.core import InputError
from upto_studies.train import checkpoints
from upto_studies.train.mixtures import facet_training
from upto_studies.train.mixtures.facet_training import FacetRun, train_facets
from upto_studies.train.mixtures.facets import FIRST_VARIANCE, FacetModel
from upto_studies.train.mixtures.fade_in import FacetTraining

torch = pytest.importorskip("torch")

MODEL = FacetModel(
    n_inputs=6, dimensions=(2, 3), n_clusters=(4, 5), encoder=(7, 8), rungs=(9, 10), decoder=(11, 9)
)
TRAINING = FacetTraining(
    epochs=(3, 3), fade_in_steps=8, batch_rows=16, learning_rate=3e-3, start_rows=40
)


@pytest.fixture
def rows(rng):
    return rng.uniform(size=(64, 6)).astype(np.float32)


def start(rows, seeds=(3, 4), leaks=(0.0, 0.1), **given):
    return FacetRun(
        MODEL, rows, seeds=seeds, leaks=leaks, training=replace(TRAINING, **given), device="cpu"
    )


def drawn_parameters(rng, model, n_members):
    """Return parameters at which no term of the bound is trivial."""
    parameters = model.initial(range(n_members))
    for name, values in parameters.items():
        if name.startswith("prior"):
            values += torch.as_tensor(0.2 * rng.normal(size=values.shape)).float()
        if name.endswith("raw"):
            values += 0.5
    return parameters


def naive_terms(model, parameters, member, leak, row, noise, shares):
    """Return the terms of one image as in mfcvae: five of them, with clusters one by one."""
    own = {name: values[member].double().numpy() for name, values in parameters.items()}

    def layer(name, values, *, rectified=True):
        found = values @ own[f"{name}.weight"] + own[f"{name}.bias"][0]
        return np.where(found > 0, found, leak * found) if rectified else found

    codes, divergences, hidden, start = [], [], row, 0
    for facet, width in enumerate(model.dimensions):
        hidden = layer(f"encoder.{facet}", hidden)
        mean, log_variance = np.split(layer(f"posterior.{facet}", hidden, rectified=False), 2)
        deviation = np.exp(log_variance / 2)
        code = mean + noise[start : start + width] * deviation
        start += width
        logits, means = own[f"prior.{facet}.logits"], own[f"prior.{facet}.means"]
        shares_of = np.exp(logits - logsumexp(logits))
        variances = np.log1p(np.exp(10 * own[f"prior.{facet}.raw"])) / 10 + 1e-6
        in_cluster = np.array(
            [norm.logpdf(code, m, np.sqrt(v)).sum() for m, v in zip(means, variances, strict=True)]
        )
        given = shares_of * np.exp(in_cluster)
        given /= given.sum()
        of_codes = norm.logpdf(code, mean, deviation).sum() - (given * in_cluster).sum()
        of_clusters = (xlogy(given, given) - given * np.log(shares_of)).sum()
        divergences.append(of_codes + of_clusters)
        codes.append(code)
    hidden = layer("decoder.1", layer("rung.1", codes[1]))
    hidden = hidden + 0.1 * shares[0] * layer("rung.0", codes[0])
    chances = expit(layer("output", layer("decoder.0", hidden), rectified=False))
    return -(row * np.log(chances) + (1 - row) * np.log1p(-chances)).sum(), divergences


def test_the_bound_is_that_of_five_terms(rng):
    parameters = drawn_parameters(rng, MODEL, 2)
    rows, noise = rng.uniform(size=(2, 5, 6)), rng.normal(size=(2, 5, 5))
    leaks, shares = (0.0, 0.2), (0.7, 1.0)
    tensors = (torch.as_tensor(each, dtype=torch.float32) for each in (leaks, rows, noise))
    errors, divergences = MODEL.terms(parameters, *tensors, shares)
    for member, leak in enumerate(leaks):
        found = [
            naive_terms(MODEL, parameters, member, leak, row, own, shares)
            for row, own in zip(rows[member], noise[member], strict=True)
        ]
        assert float(errors[member]) == pytest.approx(np.mean([e for e, _ in found]), rel=1e-5)
        wanted = np.mean([each for _, each in found], axis=0)
        assert divergences[:, member].numpy() == pytest.approx(wanted, rel=1e-4)


def test_draws_average_to_the_bound_of_one_facet(rng):
    """The exact bound of a scalar code is an integral, and log p(x) is above it."""
    model = FacetModel(
        n_inputs=3, dimensions=(1,), n_clusters=(3,), encoder=(4,), rungs=(5,), decoder=(6,)
    )
    parameters, leaks = drawn_parameters(rng, model, 1), torch.zeros(1)
    row = torch.tensor([[[0.9, 0.2, 0.6]]])
    ((mean, log_variance),) = model.encode(parameters, leaks, row)
    grid = np.linspace(-30, 30, 60_001)
    codes = torch.as_tensor(grid, dtype=torch.float32)[None, :, None]
    with torch.no_grad():
        logits = model.decode(parameters, leaks, [codes], (1.0,))[0].double().numpy()
        weights, means, log_variances = (
            each[0].double().numpy() for each in model.prior(parameters, 0)
        )
    likelihood = (logits * row[0].numpy() - np.logaddexp(0, logits)).sum(axis=1)
    parts = norm.logpdf(grid[:, None], means[:, 0], np.exp(log_variances[:, 0] / 2))
    prior = logsumexp(parts + weights, axis=1)
    posterior = norm.logpdf(grid, float(mean), np.exp(float(log_variance) / 2))
    step = grid[1] - grid[0]
    exact = (np.exp(posterior) * (likelihood + prior - posterior)).sum() * step
    evidence = np.log(np.exp(likelihood + prior).sum() * step)
    n_draws = 100_000
    noise = torch.as_tensor(rng.normal(size=(1, n_draws, 1)), dtype=torch.float32)
    with torch.no_grad():
        errors, divergences = model.terms(
            parameters, leaks, row.expand(1, n_draws, 3), noise, (1.0,)
        )
    assert float(-errors - divergences.sum()) == pytest.approx(exact, rel=0.01)
    assert exact < evidence


def test_the_deepest_facet_is_first_and_the_others_are_faded_in():
    training = FacetTraining(epochs=(2, 3, 2), fade_in_steps=8)
    found = [training.shares(epoch, 0, n_batches=4) for epoch in range(7)]
    assert found[:3] == [(0, 0, 1), (0, 0, 1), (0, 0, 1)]
    assert found[3:5] == [(0, 0.5, 1), (0, 1, 1)]
    assert found[5:] == [(0, 1, 1), (0.5, 1, 1)]


def test_a_facet_that_waits_changes_nothing(rows, rng):
    parameters = MODEL.initial([3])
    noise = torch.as_tensor(rng.normal(size=(1, 64, 5)), dtype=torch.float32)
    shown, leaks = torch.as_tensor(rows)[None], torch.zeros(1)
    before, _ = MODEL.terms(parameters, leaks, shown, noise, (0.0, 1.0))
    noise[..., :2] += 5
    after, _ = MODEL.terms(parameters, leaks, shown, noise, (0.0, 1.0))
    assert float(before) == float(after)
    assert float(MODEL.terms(parameters, leaks, shown, noise, (1.0, 1.0))[0]) != float(after)


def test_components_start_at_a_fit_to_the_codes_and_epoch_0_does_not_train(rows):
    run = start(rows)
    before = {name: values.detach().clone() for name, values in run.parameters.items()}
    codes = run.evaluate(rows)
    for facet, means in enumerate(codes.means):
        centres = before[f"prior.{facet}.means"].numpy()
        assert (centres.min(axis=1) >= means.min(axis=1) - 1e-5).all()
        assert (centres.max(axis=1) <= means.max(axis=1) + 1e-5).all()
        assert centres.std(axis=1).min() > 0
        variances = MODEL.prior(run.parameters, facet)[2].exp()
        assert variances.detach().numpy() == pytest.approx(FIRST_VARIANCE, rel=1e-3)
    run.train_epoch()
    assert all(torch.equal(before[name], values) for name, values in run.parameters.items())
    run.train_epoch()
    moved = {name for name in before if not torch.equal(before[name], run.parameters[name])}
    waiting = {"posterior.0", "rung.0", "prior.0"}
    assert moved == {name for name in before if name.rpartition(".")[0] not in waiting}
    assert run.errors.shape == (2, 2)
    assert run.divergences.shape == (2, 2, 2)


def test_first_codes_are_of_all_kinds_of_sorted_rows(monkeypatch):
    seen, fit = [], facet_training.fit_components

    def keep(codes, *given, **named):
        seen.append(codes)
        return fit(
            codes + 1e-3 * np.random.default_rng(0).normal(size=codes.shape), *given, **named
        )

    monkeypatch.setattr(facet_training, "fit_components", keep)
    start(np.repeat(np.eye(2, 6, dtype=np.float32), 50, axis=0), start_rows=20)
    for codes in seen:
        assert codes.shape[:2] == (2, 20)
        _, counts = np.unique(codes[0].round(5), axis=0, return_counts=True)
        assert len(counts) == 2
        assert counts.min() >= 4


def test_training_raises_the_bound_and_tells_both_choices(rng):
    # Two independent choices of two patterns each, and no more to learn.
    chosen = np.repeat(rng.integers(2, size=(128, 2)), 100, axis=1)
    rows = np.where(chosen == np.arange(200) % 2, 0.95, 0.05)
    widths = {"encoder": (24, 24), "rungs": (24, 24), "decoder": (24, 24)}
    run = FacetRun(
        replace(MODEL, n_inputs=200, **widths),
        rows,
        seeds=[3, 4],
        leaks=[0.0, 0.1],
        training=replace(TRAINING, epochs=(31, 30), fade_in_steps=100, learning_rate=1e-2),
    )
    train_facets(run, progress=False)
    found = run.evaluate(rows)
    floor = -200 * (0.95 * np.log(0.95) + 0.05 * np.log(0.05))
    assert (found.errors + found.divergences.sum(axis=0) < floor + 12).all()
    assert (found.divergences.sum(axis=0) > 2 * np.log(2) - 0.1).all()
    assert not run.diverged.any()
    assert found.clusters.shape == (2, 2, 128)
    assert found.together.shape == (2, 128, 5)
    assert [each.shape for each in found.variances] == [(2, 2), (2, 3)]


def test_a_member_is_what_it_would_be_alone(rows):
    together, alone = start(rows), start(rows, seeds=[4], leaks=[0.1])
    for run in (together, alone):
        train_facets(run, progress=False)
    ours, theirs = together.evaluate(rows), alone.evaluate(rows)
    assert np.allclose(ours.together[1], theirs.together[0], atol=1e-4)
    assert not np.allclose(ours.together[0], theirs.together[0], atol=1e-2)
    assert np.allclose(together.errors[:, 1], alone.errors[:, 0], atol=1e-4)
    assert np.allclose(together.divergences[..., 1], alone.divergences[..., 0], atol=1e-3)


@pytest.mark.parametrize("n_done", [1, 4])
def test_an_interrupted_training_resumes(rows, tmp_path, monkeypatch, n_done):
    monkeypatch.setattr(checkpoints, "INTERVAL", 0.0)
    whole = start(rows)
    train_facets(whole, progress=False)
    path = tmp_path / "facets.safetensors"
    part = start(rows)
    for _ in range(n_done):
        part.train_epoch()
    checkpoints.TrainingCheckpoint(path, part.words()).write(part.state(), part.epoch)
    again = start(rows)
    train_facets(again, checkpoint=path, resume=True, progress=False)
    assert np.array_equal(whole.errors, again.errors)
    for name, values in whole.parameters.items():
        assert torch.equal(values, again.parameters[name]), name
    with pytest.raises(InputError, match="belongs to another training"):
        train_facets(start(rows, seeds=[8, 9]), checkpoint=path, resume=True, progress=False)


def test_a_member_that_diverges_is_counted_and_spoils_no_other(rows):
    run = start(rows)
    with torch.no_grad():
        run.parameters["output.bias"][0] = torch.nan
    train_facets(run, progress=False)
    assert run.diverged.tolist() == [True, False]
    assert np.isfinite(run.evaluate(rows).together[1]).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda rows: replace(MODEL, rungs=(8, 10)), "give them the same widths"),
        (lambda rows: replace(MODEL, dimensions=(2,)), "one of each per facet"),
        (lambda rows: replace(MODEL, n_clusters=(0, 3)), "below 1"),
        (lambda rows: replace(TRAINING, epochs=(3, 0)), "of the training are below 1"),
        (lambda rows: replace(TRAINING, learning_rate=0.0), "it must be positive"),
        (lambda rows: start(rows, epochs=(3,)), "1 stages for 2 facets"),
        (lambda rows: start(2 * rows), "scale them to values from 0 to 1"),
        (lambda rows: start(rows[:, :5]), "needs rows of 6 values"),
        (lambda rows: start(rows, batch_rows=65), "do not fill a batch"),
        (lambda rows: start(rows, leaks=(0.1,) * 3), "one per member"),
    ],
)
def test_unusable_settings_are_refused(rows, make, message):
    with pytest.raises(InputError, match=message):
        make(rows)
