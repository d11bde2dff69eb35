"""Extreme singular values against dense decompositions and closed forms."""

import numpy as np
import pytest
from decoders import orthogonal_decoder, smooth_decoder

import upto
from upto.decoders.decoder import Linearisation, find_decoder
from upto.geometry.jacobians import (
    dense_extremes,
    form_jacobians,
    jacobian_method,
    lanczos_extremes,
)

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn


def linear_maps(matrices):
    """Linearise fixed matrices (n×m×d), as a decoder would be."""
    return Linearisation(
        points=np.zeros((len(matrices), matrices.shape[2])),
        outputs=None,
        push=lambda v: np.einsum("nmd,nd->nm", matrices, v),
        pull=lambda u: np.einsum("nmd,nm->nd", matrices, u),
    )


def with_spectrum(rng, values, n_outputs):
    """Draw a matrix with given singular values."""
    values = np.asarray(values, dtype=float)
    left, _ = np.linalg.qr(rng.normal(size=(n_outputs, len(values))))
    right, _ = np.linalg.qr(rng.normal(size=(len(values), len(values))))
    return left * values @ right.T


SPECTRA = {
    "well conditioned": np.linspace(0.5, 2.0, 12),
    "ill conditioned": np.geomspace(1e-7, 1.0, 12),
    "at the edge of the Gram matrix": np.geomspace(1e-3, 1.0, 12),
    "one small": np.r_[np.ones(11), 1e-9],
    "equal": np.full(12, 3.0),
    "huge": np.geomspace(1e160, 1e162, 12),
    "tiny": np.geomspace(1e-170, 1e-168, 12),
}


@pytest.mark.parametrize("values", SPECTRA.values(), ids=SPECTRA)
def test_all_singular_values_are_those_that_were_planted(rng, values):
    matrices = np.stack([with_spectrum(rng, values, 40) for _ in range(5)])
    found = dense_extremes(form_jacobians(linear_maps(matrices)))
    assert found.settled.all()
    np.testing.assert_allclose(found.values[:, 0], values.max(), rtol=1e-10)
    np.testing.assert_allclose(
        found.values[:, -1], values.min(), rtol=1e-6, atol=1e-14 * values.max()
    )
    lengths = values.max() * np.linalg.norm(matrices / values.max(), axis=1)
    np.testing.assert_allclose(found.columns, lengths, rtol=1e-10)


@pytest.mark.parametrize("name", ["well conditioned", "one small", "equal", "ill conditioned"])
def test_lanczos_with_all_steps_is_exact(rng, name):
    values = SPECTRA[name]
    matrices = np.stack([with_spectrum(rng, values, 40) for _ in range(5)])
    found = lanczos_extremes(linear_maps(matrices), steps=12, rng=rng)
    assert found.settled.all()
    np.testing.assert_allclose(found.largest, values.max(), rtol=1e-10)
    np.testing.assert_allclose(found.smallest, values.min(), rtol=1e-6, atol=1e-14 * values.max())


def test_lanczos_stops_early_where_extremes_stand_apart_and_says_where_it_cannot(rng):
    apart = np.r_[4.0, np.linspace(1.0, 1.5, 298), 0.1]
    spread = np.geomspace(1e-4, 1.0, 300)
    matrices = np.stack([with_spectrum(rng, values, 350) for values in (apart, spread)])
    found = lanczos_extremes(linear_maps(matrices), steps=60, rng=rng)
    assert found.settled.tolist() == [True, False]
    np.testing.assert_allclose(found.largest, [4.0, 1.0], rtol=1e-6)
    assert abs(found.smallest[0] - 0.1) < 1e-7
    # What is not settled is still a bound.
    assert found.smallest[1] > 1e-4


def test_what_lanczos_calls_settled_is_within_its_tolerance_of_a_singular_value(rng):
    for _ in range(20):
        values = np.sort(rng.uniform(0.2, 3.0, size=80))
        values[0], values[-1] = 0.1, 4.0
        matrix = with_spectrum(rng, values, 90)[None]
        found = lanczos_extremes(linear_maps(matrix), steps=48, rng=rng)
        if found.settled[0]:
            assert np.abs(values - found.smallest[0]).min() < 1e-6 * found.smallest[0]
            assert np.abs(values - found.largest[0]).min() < 1e-6 * found.largest[0]
        assert found.largest[0] <= 4.0 * (1 + 1e-12)
        assert found.smallest[0] >= 0.1 * (1 - 1e-9)


@pytest.mark.parametrize("steps", [8, 40])
def test_lanczos_finds_a_null_direction_and_goes_on_after_it(rng, steps):
    matrix = with_spectrum(rng, np.r_[np.linspace(1, 2, 7), 0.0], 20)[None]
    found = lanczos_extremes(linear_maps(matrix), steps=steps, rng=rng)
    assert found.smallest[0] < 1e-14
    assert abs(found.largest[0] - 2.0) < 1e-9


def test_an_invariant_start_does_not_hide_other_directions(rng):
    """With equal singular values the first step sees all it can; the others are still found."""
    matrix = with_spectrum(rng, [1.0] * 9 + [5.0], 12)[None]
    found = lanczos_extremes(linear_maps(matrix), steps=10, rng=rng)
    assert abs(found.largest[0] - 5.0) < 1e-9
    assert abs(found.smallest[0] - 1.0) < 1e-9


@pytest.mark.parametrize("method", ["dense", "lanczos"])
@pytest.mark.parametrize("seed", range(3))
def test_extremes_of_networks_match_a_dense_decomposition(rng, method, seed):
    decoder = smooth_decoder(n_latents=9, n_outputs=30, seed=seed)
    points = rng.normal(size=(25, 9))
    found = upto.lipschitz(points, decoder=decoder, method=method)
    double = smooth_decoder(n_latents=9, n_outputs=30, seed=seed).double()
    for point in found.points:
        where = torch.tensor(points[point.row])
        jacobian = torch.autograd.functional.jacobian(double, where).numpy()
        values = np.linalg.svd(jacobian, compute_uv=False)
        assert abs(point.largest / values[0] - 1) < 1e-6
        assert abs(point.smallest / values[-1] - 1) < 1e-6
        assert abs(point.lipschitz / max(values[0], 1 / values[-1]) - 1) < 1e-6


def test_a_convolutional_decoder_of_images_matches_autograd(rng):
    torch.manual_seed(0)
    decoder = nn.Sequential(
        nn.Linear(6, 32),
        nn.GELU(),
        nn.Unflatten(1, (8, 2, 2)),
        nn.ConvTranspose2d(8, 3, 4, stride=2),
        nn.Sigmoid(),
    ).eval()
    points = rng.normal(size=(7, 6))
    found = upto.lipschitz(points, decoder=decoder)
    assert found.n_outputs == 3 * 6 * 6
    for point in found.points:
        where = torch.tensor(points[point.row])[None]
        jacobian = torch.autograd.functional.jacobian(decoder.double(), where)
        values = np.linalg.svd(jacobian.numpy().reshape(108, 6), compute_uv=False)
        assert abs(point.smallest / values[-1] - 1) < 1e-6


def test_attention_is_differentiated_too(rng):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    decoder = nn.Sequential(nn.Unflatten(1, (3, 8)), layer, nn.Flatten()).eval()
    points = rng.normal(size=(4, 24))
    found = upto.lipschitz(points, decoder=decoder)
    double = decoder.double()
    for point in found.points:
        where = torch.tensor(points[point.row])[None]
        jacobian = torch.autograd.functional.jacobian(double, where).numpy().reshape(24, 24)
        assert abs(point.largest / np.linalg.norm(jacobian, 2) - 1) < 1e-6


REPORTED = {0.2: (4.03, 2.23), 0.4: (2.81, 1.94), 0.6: (1.93, 1.59), 0.8: (1.36, 1.26), 1.0: (1, 1)}
"""Mean constants of random orthogonal decoders: exact, and by ten directions."""


@pytest.mark.parametrize(("leak", "expected"), REPORTED.items())
def test_ten_directions_underestimate_orthogonal_decoders_as_reported(rng, leak, expected):
    points = rng.normal(size=(200, 16))
    found = upto.lipschitz(points, decoder=orthogonal_decoder(leak))
    exact, tried = (found.spread(name).mean.value for name in ("lipschitz", "directions"))
    # Networks are drawn at random: their means vary by a few per cent.
    assert (exact - 1, tried - 1) == pytest.approx(
        (expected[0] - 1, expected[1] - 1), rel=0.12, abs=1e-6
    )
    assert found.spread("lipschitz").worst <= found.certified.value <= leak**-2 * (1 + 1e-5)
    assert float(found.certified) == pytest.approx(leak**-2, rel=1e-5)


def test_the_polar_map_is_known_in_closed_form(rng):
    """(r, t) → (r cos t, r sin t) has singular values 1 and r."""
    points = np.stack([rng.uniform(0.2, 3.0, 300), rng.uniform(0, 6, 300)], axis=1)

    def polar(z):
        return torch.stack([z[:, 0] * torch.cos(z[:, 1]), z[:, 0] * torch.sin(z[:, 1])], dim=1)

    found = upto.lipschitz(points, decoder=polar)
    for point in found.points:
        radius = points[point.row, 0]
        assert point.largest == pytest.approx(max(radius, 1), rel=1e-12)
        assert point.smallest == pytest.approx(min(radius, 1), rel=1e-12)
        assert point.lipschitz == pytest.approx(max(radius, 1 / radius), rel=1e-12)
        assert point.scaled == pytest.approx(max(radius, 1 / radius) ** 0.5, rel=1e-12)


def test_the_method_follows_the_size():
    assert jacobian_method(64, 784) == "dense"
    assert jacobian_method(4096, 12288) == "lanczos"
    assert jacobian_method(4096, 12288, can_pull=False) == "dense"


def test_torchscript_gives_the_same_at_every_call(rng, tmp_path):
    """Its optimised code drops forward-mode derivatives from the second call on."""
    decoder = smooth_decoder()
    points = rng.normal(size=(40, 5))
    with pytest.warns():
        torch.jit.script(decoder).save(tmp_path / "decoder.pt")
    direct = upto.lipschitz(points, decoder=decoder)
    for _ in range(4):
        again = upto.lipschitz(points, decoder=tmp_path / "decoder.pt")
        np.testing.assert_allclose(
            [p.smallest for p in again.points], [p.smallest for p in direct.points], rtol=1e-6
        )


def test_products_are_adjoint_to_each_other(rng):
    linear = find_decoder(smooth_decoder()).linearise(rng.normal(size=(6, 5)))
    v, u = torch.randn(6, 5, dtype=torch.float64), torch.randn(6, 12, dtype=torch.float64)
    assert torch.allclose((linear.push(v) * u).sum(1), (linear.pull(u) * v).sum(1), rtol=1e-12)
