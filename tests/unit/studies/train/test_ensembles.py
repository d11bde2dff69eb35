"""Trained members as modules and files, and what they refuse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import upto
from upto.core import InputError, read_tensors, write_tensors
from upto_studies.train import Ensemble, Network, Training, train_ensemble
from upto_studies.train.pairs import decoder_stretches

torch = pytest.importorskip("torch")

LEAKS = [0.3, 0.6]
networks = pytest.mark.parametrize(
    "network",
    [
        Network.autoencoder((6, 5, 2), orthogonal=True, bias=False),
        Network.autoencoder((6, 5, 4, 2)),
    ],
    ids=["orthogonal", "free"],
)


@pytest.fixture
def rows(rng):
    return rng.normal(size=(80, 6)) * [3, 2.5, 2, 1, 1, 1]


def trained(network, rows, **given):
    return train_ensemble(
        network, rows, seeds=[0, 1], training=Training(epochs=5, batch_rows=20), **given
    )


@networks
def test_modules_compute_what_members_compute(network, rows):
    ensemble = trained(network, rows, leaks=LEAKS)
    codes, outputs = ensemble.encode(rows), ensemble.outputs(rows)
    for member in range(2):
        encoder, decoder = ensemble.encoder(member), ensemble.decoder(member)
        with torch.no_grad():
            code = encoder(torch.as_tensor(rows))
            assert np.allclose(code, codes[member], atol=1e-12)
            assert np.allclose(decoder(code), outputs[member], atol=1e-12)
        assert {type(each).__name__ for each in decoder} == {"Linear", "LeakyReLU"}
        assert not decoder.training


def test_a_module_is_a_copy_and_draws_no_random_numbers(rows):
    ensemble = trained(Network.autoencoder((6, 2)), rows)
    before, outputs = torch.get_rng_state(), ensemble.outputs(rows)
    with torch.no_grad():
        for values in ensemble.decoder(0).parameters():
            values.zero_()
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(ensemble.outputs(rows), outputs)


def test_the_constant_of_a_decoder_is_measured_and_certified(rows, rng):
    network = Network.autoencoder((6, 5, 2), orthogonal=True, bias=False)
    ensemble = trained(network, rows, leaks=LEAKS)
    codes = ensemble.encode(rows)
    known = decoder_stretches(ensemble, codes, directions=rng.normal(size=(2, 80, 3, 2))).exact
    for member, leak in enumerate(LEAKS):
        found = upto.lipschitz(codes[member], decoder=ensemble.decoder(member))
        assert found.spread("lipschitz").worst == pytest.approx(known[member].max(), rel=1e-9)
        # One rectifier lies between the two orthogonal layers.
        assert found.certified.value == pytest.approx(1 / leak, rel=1e-6)
        assert found.certified.holds


@networks
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_saved_ensemble_is_read_back_whole(network, rows, dtype, tmp_path):
    path = tmp_path / "members.safetensors"
    ensemble = replace(
        trained(network, rows.astype(dtype), leaks=LEAKS),
        seeds=(2**70, 1),
        stopped_by=("patience", "divergence"),
    )
    ensemble.save(path)
    found = Ensemble.load(path)
    assert found.network == network
    assert found.seeds == ensemble.seeds
    assert found.stopped_by == ensemble.stopped_by
    for name in ("leaks", "losses", "epochs", "worst_defect"):
        assert np.array_equal(getattr(found, name), getattr(ensemble, name), equal_nan=True)
    assert list(found.parameters) == list(ensemble.parameters)
    for name, values in ensemble.parameters.items():
        assert torch.equal(found.parameters[name], values)
    assert np.array_equal(found.encode(rows), ensemble.encode(rows))


def test_a_network_whose_widths_are_numbers_of_numpy_is_saved(rows, tmp_path):
    path = tmp_path / "members.safetensors"
    trained(Network.autoencoder(np.array([6, 3])), rows).save(path)
    assert Ensemble.load(path).network == Network.autoencoder((6, 3))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda arrays, words: (arrays, {}), "does not contain an ensemble"),
        (lambda arrays, words: (arrays, words | {"network": "{}"}), "does not contain an ensemble"),
        (lambda arrays, words: (arrays, words | {"seeds": "0 x"}), "does not contain an ensemble"),
        (lambda arrays, words: (arrays, words | {"seeds": "0"}), "not those of 1 members"),
        (lambda arrays, words: (arrays, words | {"stopped by": "[]"}), "not those of 2 members"),
        (lambda arrays, words: ({}, words), "is damaged"),
        (
            lambda arrays, words: (arrays | {"parameters.0.weight": np.ones((1, 6, 2))}, words),
            "is damaged",
        ),
        (
            lambda arrays, words: (
                arrays | {"parameters.0.weight": np.ones((2, 6, 2), dtype=np.int64)},
                words,
            ),
            "is damaged",
        ),
    ],
    ids=["words", "network", "seeds", "fewer", "reasons", "arrays", "shape", "type"],
)
def test_a_file_that_is_no_whole_ensemble_is_refused(rows, tmp_path, damage, words):
    path = tmp_path / "members.safetensors"
    trained(Network.autoencoder((6, 2)), rows).save(path)
    write_tensors(path, *damage(*read_tensors(path)))
    with pytest.raises(InputError, match=words):
        Ensemble.load(path)


def test_a_member_that_is_not_there_is_refused(rows):
    ensemble = trained(Network.autoencoder((6, 2)), rows)
    with pytest.raises(InputError, match="no member 2 of 2"):
        ensemble.decoder(2)


def test_errors_need_a_target_for_each_row(rows, rng):
    targets = rng.normal(size=(80, 3))
    network = Network(widths=(6, 4, 3))
    ensemble = train_ensemble(network, rows, targets, seeds=[0], training=Training(epochs=2))
    expected = ((ensemble.outputs(rows)[0] - targets) ** 2).mean()
    assert ensemble.errors(rows, targets) == pytest.approx([expected])
    for wrong, words in [
        (targets[:, :1], "80 rows have 80 targets of 1 values: .* of 3 values"),
        (targets[:1], "80 rows have 1 targets of 3"),
        (np.concatenate([targets, targets]), "80 rows have 160 targets"),
        (targets[:, 0], "rows × values"),
        (None, "returns 3 values from 6: pass the targets"),
    ]:
        with pytest.raises(InputError, match=words):
            ensemble.errors(rows, wrong)
    with pytest.raises(InputError, match="returns 3 values from 6: pass the targets"):
        train_ensemble(network, rows, seeds=[0], training=Training(epochs=2))


def test_the_smallest_stretch_of_a_nearly_flat_decoder_keeps_its_digits(rng):
    network = Network.autoencoder((40, 8), bias=False)
    left, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    right, _ = np.linalg.qr(rng.normal(size=(40, 8)))
    decoder = left * np.geomspace(1, 1e-9, 8) @ right.T
    ensemble = Ensemble(
        network=network,
        parameters={
            "0.weight": torch.ones(1, 40, 8).double(),
            "1.weight": torch.tensor(decoder)[None],
        },
        leaks=np.ones(1),
        seeds=(0,),
        losses=np.empty((0, 1)),
        epochs=np.zeros(1, dtype=np.int64),
        worst_defect=np.zeros(1),
        stopped_by=("limit",),
    )
    codes, directions = rng.normal(size=(1, 5, 8)), rng.normal(size=(1, 5, 10, 8))
    found = decoder_stretches(ensemble, codes, directions=directions)
    assert found.exact == pytest.approx(np.full((1, 5), 1e9), rel=1e-5)
