"""Training of variational autoencoders side by side: alone, resumed, saved, refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.train import checkpoints
from upto_studies.train.mixtures import (
    MixtureMembers,
    MixtureModel,
    MixtureTraining,
    train_mixtures,
    variational_steps,
)
from upto_studies.train.mixtures.mixture_members import PlacedRows, encoded
from upto_studies.train.mixtures.variational_steps import _BoundSteps

torch = pytest.importorskip("torch")

SHORT = MixtureTraining(
    epochs=3, pretraining_epochs=2, corruption=0.2, batch_rows=20, learning_rate=1e-2
)
KINDS = ("vade", "gmvae", "ivae", "vae")


def clusters_of(rng, n_rows=60):
    labels = rng.permutation(np.arange(n_rows) % 3)
    centres = 6 * np.eye(3, 4)
    return (centres[labels] + rng.normal(size=(n_rows, 4))).astype(np.float32), labels


def model_of(kind, **given):
    return MixtureModel(
        **{"kind": kind, "widths": (4, 8, 2), "n_components": 1 if kind == "vae" else 3} | given
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_member_beside_others_is_as_if_alone(rng, kind):
    rows, labels = clusters_of(rng)
    together = train_mixtures(model_of(kind), rows, labels, seeds=[4, 9], training=SHORT)
    alone = train_mixtures(model_of(kind), rows, labels, seeds=[9], training=SHORT)
    assert np.allclose(together.codes(rows, labels)[1], alone.codes(rows, labels)[0], atol=1e-3)
    assert np.allclose(together.losses[:, 1], alone.losses[:, 0], rtol=1e-3)
    assert np.allclose(together.pretraining_losses[:, 1], alone.pretraining_losses[:, 0], rtol=1e-3)
    assert not np.allclose(together.codes(rows, labels)[0], alone.codes(rows, labels)[0], atol=0.1)
    assert not together.diverged.any()


def test_vade_finds_clusters_and_keeps_its_components(rng):
    rows, labels = clusters_of(rng, 300)
    training = MixtureTraining(
        epochs=20, pretraining_epochs=20, batch_rows=50, learning_rate=1e-2, decay_epochs=4
    )
    members = train_mixtures(model_of("vade"), rows, seeds=[0, 1, 2], training=training)
    assert members.living(rows).tolist() == [3, 3, 3]
    for own in members.clusters(rows):
        counts = np.zeros((3, 3))
        np.add.at(counts, (own, labels), 1)
        assert counts.max(axis=0).sum() > 285
    assert (members.losses[-1] < members.losses[0]).all()
    assert (members.pretraining_losses[-1] < members.pretraining_losses[0]).all()
    assert members.negative_bounds(rows) == pytest.approx(members.losses[-1], rel=0.15)
    mixture = members.mixture(1)
    assert mixture.weights.sum() == pytest.approx(1)
    assert mixture.covariances.shape == (3, 2, 2)
    codes = members.codes(rows)
    made = members.decoder(1)(torch.tensor(codes[1], dtype=torch.float32)).detach()
    assert np.allclose(members.decode(codes)[1], made, atol=1e-4)


def test_sorted_rows_are_clustered_as_well_as_shuffled_ones(rng, monkeypatch):
    """The prior is fitted to some of the rows, and the first would be those of one cluster."""
    monkeypatch.setattr(variational_steps, "_FITTED_ROWS", 90)
    rows, labels = clusters_of(rng, 300)
    order = np.argsort(labels, kind="stable")
    rows, labels = rows[order], labels[order]
    training = MixtureTraining(epochs=0, pretraining_epochs=20, batch_rows=50, learning_rate=1e-2)
    members = train_mixtures(model_of("vade"), rows, seeds=[0, 1, 2], training=training)
    for own in members.clusters(rows):
        counts = np.zeros((3, 3))
        np.add.at(counts, (own, labels), 1)
        assert counts.max(axis=0).sum() > 285
    labelled = train_mixtures(model_of("ivae"), rows, labels, seeds=[0], training=training)
    codes = labelled.codes(rows, labels)[0]
    for label, found in enumerate(labelled.parameters["prior.means"][0].numpy()):
        own = codes[labels == label]
        assert found == pytest.approx(own.mean(axis=0), abs=own.std())


@pytest.mark.parametrize("n_labels", [3, 200])
def test_a_prior_is_fitted_to_rows_of_every_label(rng, monkeypatch, n_labels):
    monkeypatch.setattr(variational_steps, "_FITTED_ROWS", 90)
    known = np.sort(np.r_[np.arange(n_labels), np.zeros(800, dtype=int)])
    drawn = variational_steps._fitted_rows(len(known), known)
    assert len(np.unique(drawn)) == len(drawn) == max(90, n_labels)
    assert set(known[drawn]) == set(range(n_labels))
    assert variational_steps._fitted_rows(80, known[:80]).tolist() == list(range(80))
    half = variational_steps._fitted_rows(1000, None) < 500
    assert len(half) == 90
    assert 20 < half.sum() < 70


@pytest.mark.parametrize("kind", KINDS)
def test_samples_have_the_moments_of_their_posteriors(rng, kind):
    rows, labels = clusters_of(rng, 3)
    rows, labels = np.tile(rows, (4000, 1)), np.tile(labels, 4000)
    model = model_of(kind)
    members = MixtureMembers(
        model=model,
        parameters=model.initial([5]),
        seeds=(5,),
        losses=np.empty((0, 1)),
        pretraining_losses=np.empty((0, 1)),
    )
    samples = members.samples(rows, labels)[0].reshape(4000, 3, 2)
    codes = members.codes(rows[:3], labels[:3])[0]
    error = samples.std(axis=0) / np.sqrt(4000)
    assert (np.abs(samples.mean(axis=0) - codes) < 5 * error).all()
    assert (samples.std(axis=0) > 0.01).all()
    np.testing.assert_array_equal(samples[:, :1], members.samples(rows, labels)[0][::3][:, None])
    if kind == "gmvae":
        shares = members.responsibilities(rows[:3])[0]
        parts = model.prior._parts(
            encoded(model, members.parameters, torch.tensor(rows[:3])[None], None)
        )
        own, spread = (each[0].numpy() for each in (parts[1], parts[2].exp()))
        wanted = (shares[..., None] * (own**2 + spread)).sum(axis=1) - codes**2
        assert samples.var(axis=0) == pytest.approx(wanted, rel=0.15)


def test_first_posteriors_are_narrower_than_the_codes(rng):
    rows, _ = clusters_of(rng)
    training = MixtureTraining(epochs=0, pretraining_epochs=5, batch_rows=20)
    for kind in ("vade", "gmvae"):
        members = train_mixtures(model_of(kind), rows, seeds=[0], training=training)
        last = members.model.encoder.n_layers - 1
        outputs = members.model.prior.width_outputs
        assert not members.parameters[f"encoder.{last}.weight"][:, :, outputs].any()
        wide = members.parameters[f"encoder.{last}.bias"][0, 0, outputs].exp().numpy()
        known = 0.01 * members.codes(rows)[0].var(axis=0)
        assert wide.reshape(-1, 2) == pytest.approx(np.tile(known, (len(wide) // 2, 1)), rel=1e-3)


def test_a_bernoulli_bound_is_that_of_torch(rng):
    rows = rng.uniform(size=(20, 4)).astype(np.float32)
    model = model_of("vae", likelihood="bernoulli", leak=0.1)
    untrained = MixtureTraining(epochs=0, batch_rows=20)
    members = train_mixtures(model, rows, seeds=[0], training=untrained)
    made = torch.tensor(members.decode(members.codes(rows)))
    from upto_studies.train.mixtures.mixture_members import negative_log_likelihood

    found = negative_log_likelihood(model, torch.logit(made), torch.tensor(rows))
    known = torch.nn.functional.binary_cross_entropy(
        made, torch.tensor(rows).double()[None], reduction="none"
    )
    assert torch.allclose(found, known.sum(-1))


@pytest.mark.parametrize("stop_after", [1, 4])
def test_an_interrupted_training_resumes(rng, tmp_path, monkeypatch, stop_after):
    monkeypatch.setattr(checkpoints, "INTERVAL", 0.0)
    rows, _ = clusters_of(rng)
    path = tmp_path / "state.safetensors"
    whole = train_mixtures(model_of("vade"), rows, seeds=[0, 1], training=SHORT)
    monkeypatch.setattr("upto_studies.train.texts.member_steps._LEG_STEPS", 2)
    seen = []

    class Stopping:
        def task(self, label, total):
            return self

        def __enter__(self):
            return self.advance

        def __exit__(self, *_):
            return False

        def advance(self, count):
            seen.append(count)
            if len(seen) > stop_after + 1:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_mixtures(
            model_of("vade"),
            rows,
            seeds=[0, 1],
            training=SHORT,
            checkpoint=path,
            progress=Stopping(),
        )
    again = train_mixtures(
        model_of("vade"), rows, seeds=[0, 1], training=SHORT, checkpoint=path, resume=True
    )
    assert np.allclose(again.losses, whole.losses, rtol=1e-5)
    assert np.allclose(again.codes(rows), whole.codes(rows), atol=1e-5)
    with pytest.raises(InputError, match="belongs to another training"):
        train_mixtures(
            model_of("vade"), rows, seeds=[0, 2], training=SHORT, checkpoint=path, resume=True
        )


def test_a_longer_training_starts_from_the_same_pretraining(rng, tmp_path):
    rows, _ = clusters_of(rng)
    path = tmp_path / "state.safetensors"
    given = {"seeds": [0], "checkpoint": path}
    none = train_mixtures(model_of("vade"), rows, training=replace(SHORT, epochs=0), **given)
    assert [each.name for each in tmp_path.iterdir()] == ["state-pretraining.safetensors"]
    some = train_mixtures(model_of("vade"), rows, training=SHORT, resume=True, **given)
    assert np.array_equal(some.pretraining_losses, none.pretraining_losses)
    other = replace(SHORT, corruption=0.1)
    with pytest.raises(InputError, match="belongs to another training"):
        train_mixtures(model_of("vade"), rows, training=other, resume=True, **given)


def test_members_are_saved_and_loaded(rng, tmp_path):
    rows, labels = clusters_of(rng)
    members = train_mixtures(model_of("ivae"), rows, labels, seeds=[0, 1], training=SHORT)
    path = tmp_path / "members.safetensors"
    members.save(path)
    again = MixtureMembers.load(path)
    assert np.array_equal(again.codes(rows, labels), members.codes(rows, labels))
    assert again.model == members.model
    assert np.array_equal(again.losses, members.losses)
    with pytest.raises(InputError, match="an iVAE needs the label of every row"):
        again.codes(rows)
    other = tmp_path / "other.safetensors"
    from upto.core import write_tensors

    write_tensors(other, {"a": np.zeros(2)}, {})
    with pytest.raises(InputError, match="does not contain these models"):
        MixtureMembers.load(other)


def test_one_member_that_overflows_does_not_stop_the_others(rng):
    rows, _ = clusters_of(rng)
    model = model_of("vade")
    parameters = model.initial([0, 1])
    parameters["decoder.0.weight"][0] = np.nan
    placed = PlacedRows(model, rows, None, "cpu")
    run = _BoundSteps(model, parameters, placed, (0, 1), SHORT, 2, torch.device("cpu"))
    run.train()
    members = MixtureMembers(
        model=model,
        parameters={k: v.detach() for k, v in run.parameters.items()},
        seeds=(0, 1),
        losses=run.by_epoch(),
        pretraining_losses=np.empty((0, 2)),
    )
    assert members.diverged.tolist() == [True, False]
    with pytest.raises(InputError, match="2 of 2 models"):
        run._refuse_divergence(np.array([np.nan, np.nan]))


def test_a_loss_that_overflows_is_marked_where_its_gradient_does_not(rng):
    rows, _ = clusters_of(rng)
    members = train_mixtures(model_of("vae"), rows, seeds=[0, 1], training=SHORT)
    for name in ("losses", "pretraining_losses"):
        curves = getattr(members, name).copy()
        curves[0, 1] = np.inf
        assert replace(members, **{name: curves}).diverged.tolist() == [False, True]


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_that_overflows_in_pre_training_ends_no_other(rng, kind, monkeypatch):
    rows, labels = clusters_of(rng)
    alone = train_mixtures(model_of(kind), rows, labels, seeds=[9], training=SHORT)
    draw = MixtureModel.initial

    def overflowed(model, seeds):
        drawn = draw(model, seeds)
        drawn["encoder.0.weight"][0] = torch.inf
        return drawn

    monkeypatch.setattr(MixtureModel, "initial", overflowed)
    together = train_mixtures(model_of(kind), rows, labels, seeds=[4, 9], training=SHORT)
    assert together.diverged.tolist() == [True, False]
    assert np.isnan(together.pretraining_losses[:, 0]).all()
    assert np.allclose(together.codes(rows, labels)[1], alone.codes(rows, labels)[0], atol=1e-3)
    with pytest.raises(InputError, match="1 of 1 models"):
        train_mixtures(model_of(kind), rows, labels, seeds=[4], training=SHORT)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seeds": [1, 1]}, "two members with one seed"),
        ({"resume": True}, "no checkpoint to resume from"),
        ({"labels": None}, "needs the label of every row"),
        ({"labels": np.zeros(60, int)}, "some of 3 labels have no rows"),
        ({"labels": np.arange(60)}, "give numbers from 0 to 2"),
        ({"rows": np.full((60, 4), 7.0)}, "a Bernoulli likelihood needs values from 0 to 1"),
        ({"rows": np.zeros((60, 3))}, "needs rows of 4 values"),
    ],
)
def test_what_cannot_be_trained_is_refused(change, says):
    given = {"rows": np.zeros((60, 4), np.float32), "labels": np.arange(60) % 3, "seeds": [0]}
    with pytest.raises(InputError, match=says):
        train_mixtures(model_of("ivae", likelihood="bernoulli"), **given | change, training=SHORT)


@pytest.mark.parametrize(
    "given",
    [
        {"epochs": -1},
        {"epochs": 1, "decay": 0.0},
        {"epochs": 1, "corruption": 1.0},
        {"epochs": 1, "n_starts": 0},
    ],
)
def test_settings_that_make_no_sense_are_refused(given):
    with pytest.raises(InputError):
        MixtureTraining(**given)
