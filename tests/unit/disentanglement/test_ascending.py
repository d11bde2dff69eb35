from __future__ import annotations

import numpy as np
import pytest

from upto.disentanglement.sorted_counts import Ascending


def counted(values, centres, radii):
    """The same by every difference."""
    return [
        (int(np.sum(centre - values > radius)), int(np.sum(values - centre <= radius)))
        for centre, radius in zip(centres, radii, strict=True)
    ]


def drawn(kind, rng, n_samples):
    values = rng.normal(size=n_samples)
    return {
        "normal": values,
        "tied": np.round(values, 1),
        "constant": np.full(n_samples, 2.5),
        "single precision": values.astype(np.float32).astype(np.float64),
        "far from zero": 1e9 + 1e-6 * values,
        "tiny": 1e-300 * values,
        "heavy tails": rng.standard_cauchy(size=n_samples) ** 3,
        "one outlier": np.append(values[1:], 1e8),
        "half the same": np.where(rng.random(n_samples) < 0.5, 0.0, values),
        "in clusters": np.round(values) + 1e-6 * rng.normal(size=n_samples),
    }[kind]


@pytest.mark.parametrize("n_samples", [1, 2, 7, 400])
@pytest.mark.parametrize(
    "kind",
    [
        "normal",
        "tied",
        "constant",
        "single precision",
        "far from zero",
        "tiny",
        "heavy tails",
        "one outlier",
        "half the same",
        "in clusters",
    ],
)
def test_values_within_a_radius_are_those_that_differences_say(kind, n_samples):
    rng = np.random.default_rng(n_samples)
    values = np.sort(drawn(kind, rng, n_samples))
    line = Ascending.of(values)
    for radii in (
        # To another value: whether it is within is a matter of the last bit.
        np.abs(values - rng.permutation(values)),
        np.nextafter(np.abs(values - rng.permutation(values)), 0.0),
        np.zeros(n_samples),
        np.full(n_samples, 1e3),
    ):
        first, last = line.within(values, radii)
        assert list(zip(first, last, strict=True)) == counted(values, values, radii)


def test_values_in_the_bulk_are_found_in_few_steps():
    values = np.sort(np.random.default_rng(0).normal(size=4000))
    assert Ascending.of(values).steps <= 4
