"""Which model is meant: published values, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from upto.core import InputError
from upto_studies.train.images.models import DEFAULTS, PUBLISHED, ImageModel, published_model


@pytest.mark.parametrize("kind", DEFAULTS)
def test_what_is_not_given_is_the_published_start(kind):
    model = ImageModel(kind=kind, n_latents=4)
    assert (model.strength, model.weight_decay) == DEFAULTS[kind]
    assert replace(model, n_latents=5) == ImageModel(kind=kind, n_latents=5)


def test_what_is_given_stays_even_if_it_is_zero():
    model = ImageModel(kind="bio-ae", n_latents=4, strength=0.0, weight_decay=0.0)
    assert (model.strength, model.weight_decay) == (0.0, 0.0)


def test_published_values_are_those_of_the_data_set():
    found = {
        data_set: published_model("beta-vae", data_set=data_set, n_latents=12).strength
        for data_set in (*PUBLISHED, "anything else")
    }
    assert found == {
        "shapes3d": 3.0,
        "mpi3d": 0.1,
        "falcor3d": 10.0,
        "isaac3d": 0.3,
        "anything else": 1.0,
    }
    assert published_model("qlae", data_set="mpi3d", n_latents=14).weight_decay == 1e-3


def test_discrete_models_count_their_codes():
    found = {kind: ImageModel(kind=kind, n_latents=2).n_codes for kind in DEFAULTS}
    assert {kind: count for kind, count in found.items() if count} == {"vq-vae": 512, "qlae": 10}


def test_the_title_says_all_that_was_chosen():
    annealed = ImageModel(kind="annealed-vae", n_latents=1, capacity=5)
    assert annealed.title == "annealed β-VAE, 1 latent, γ = 1000, 5 nats, weight decay 0"
    plain = ImageModel(kind="ae", n_latents=12)
    assert plain.title == "autoencoder, 12 latents, weight decay 0.001"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"kind": "gan"}, "there is no model 'gan': choose ae,"),
        ({"kind": ["ae"]}, r"there is no model \['ae'\]"),
        ({"n_latents": 0}, "0 latents: a model needs at least 1"),
        ({"n_latents": 2.5}, "n_latents is 2.5: give an integer"),
        ({"strength": -1.0}, "the strength is -1: it must be a non-negative number"),
        ({"strength": float("nan")}, "the strength is nan"),
        ({"weight_decay": float("inf")}, "the weight decay is inf"),
        ({"capacity": -2.0}, "the capacity is -2"),
        ({"annealed_share": 0.0}, r"share is 0: choose a fraction in \(0, 1\]"),
        ({"n_codes": 10}, "10 codes for the model 'beta-vae'"),
        ({"kind": "qlae", "n_codes": 1}, "1 codes for the model 'qlae'"),
        ({"kind": "ae", "strength": 2.0}, "a plain autoencoder has none"),
    ],
)
def test_what_cannot_be_is_refused(given, says):
    with pytest.raises(InputError, match=says):
        ImageModel(**({"kind": "beta-vae", "n_latents": 3} | given))


def test_equal_models_are_written_alike():
    whole = ImageModel(kind="beta-vae", n_latents=3, strength=3, weight_decay=0)
    assert repr(whole) == repr(ImageModel(kind="beta-vae", n_latents=3, strength=3.0))
