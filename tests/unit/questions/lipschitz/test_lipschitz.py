"""How bi-Lipschitz a decoder is: closed forms, laws, bad input."""

import math
from dataclasses import astuple

import numpy as np
import pytest
from decoders import orthogonal_decoder, smooth_decoder

import upto
from upto import InputError, LipschitzResult
from upto.report.panels import panel_views

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn


@pytest.fixture
def latents(rng):
    return rng.normal(size=(150, 5))


def rotation(rng, size):
    return np.linalg.qr(rng.normal(size=(size, size)))[0]


def linear(matrix):
    weights = torch.tensor(np.asarray(matrix, dtype=float))
    return lambda z: z @ weights.to(z.dtype)


def codes(found):
    return [finding.code for finding in found.findings]


def numbers(found, name="lipschitz"):
    return np.array([getattr(point, name) for point in found.points])


def test_an_orthogonal_map_into_more_dimensions_is_an_isometry(rng, latents):
    matrix = np.linalg.qr(rng.normal(size=(12, 5)))[0].T
    found = upto.lipschitz(latents, decoder=linear(matrix))
    np.testing.assert_allclose(numbers(found), 1.0, rtol=1e-12)
    assert found.scaled == pytest.approx(1.0)
    assert found.share_near == 1.0
    assert found.deviation < 1e-12
    assert "is an isometry at all 150 points" in found.verdict
    assert found.verdict.startswith("The decoder ")
    assert float(found.promises[0]) < 1e-4
    assert (found.secants.largest, found.secants.smallest) == pytest.approx((1.0, 1.0))
    assert found.missed_by_directions is None


def test_a_diagonal_map_is_as_far_from_an_isometry_as_its_most_extreme_entry(latents):
    found = upto.lipschitz(latents, decoder=linear(np.diag([0.25, 1.0, 1.0, 1.0, 2.0])))
    np.testing.assert_allclose(numbers(found), 4.0)
    np.testing.assert_allclose(numbers(found, "scaled"), math.sqrt(8.0))
    assert (found.scale, found.scaled) == pytest.approx((math.sqrt(2), math.sqrt(8)))
    assert found.share_near == pytest.approx(0.6)
    assert found.deviation == pytest.approx(1.0)
    assert found.coordinates == pytest.approx((0.25, 1, 1, 1, 2))
    assert (found.worst.side, found.worst.factor) == ("shrink", pytest.approx(0.25))
    assert found.worst.direction == pytest.approx((1, 0, 0, 0, 0))


def test_the_direction_that_is_stretched_most_is_named(rng, latents):
    turned = rotation(rng, 5)
    found = upto.lipschitz(latents, decoder=linear(turned @ np.diag([5.0, 1, 1, 1, 1])))
    assert found.worst.side == "stretch"
    assert abs(np.dot(found.worst.direction, turned[:, 0])) == pytest.approx(1.0)


def test_ten_directions_never_see_more_than_there_is(latents):
    for seed in range(3):
        found = upto.lipschitz(latents, decoder=smooth_decoder(seed=seed))
        assert (numbers(found, "by_directions") <= numbers(found) * (1 + 1e-12)).all()
        assert 0.0 < found.missed_by_directions < 1.0
        more = upto.lipschitz(latents, decoder=smooth_decoder(seed=seed), directions=300)
        assert more.missed_by_directions < found.missed_by_directions


def test_turning_latents_and_outputs_changes_nothing(rng, latents):
    decoder = smooth_decoder().double()
    before, after = torch.tensor(rotation(rng, 5)), torch.tensor(rotation(rng, 12))
    plain = upto.lipschitz(latents, decoder=decoder)
    turned = upto.lipschitz(
        latents @ before.numpy().T, decoder=lambda z: decoder(z @ before) @ after + 3.0
    )
    # Rows are chosen by their content, so they come in another order.
    order = [np.argsort([point.row for point in found.points]) for found in (plain, turned)]
    np.testing.assert_allclose(numbers(plain)[order[0]], numbers(turned)[order[1]], rtol=1e-9)
    assert plain.scaled == pytest.approx(turned.scaled)
    assert plain.secants.largest == pytest.approx(turned.secants.largest)


@pytest.mark.parametrize("factor", [1e-6, 0.5, 7.0, 1e9])
def test_a_scale_of_the_outputs_moves_the_constant_and_not_the_scaled_one(latents, factor):
    decoder = smooth_decoder().double()
    plain = upto.lipschitz(latents, decoder=decoder)
    scaled = upto.lipschitz(latents, decoder=lambda z: factor * decoder(z))
    np.testing.assert_allclose(numbers(scaled, "largest"), factor * numbers(plain, "largest"))
    np.testing.assert_allclose(numbers(scaled, "scaled"), numbers(plain, "scaled"))
    assert scaled.scaled == pytest.approx(plain.scaled)
    assert scaled.scale == pytest.approx(plain.scale / factor)


def test_constants_of_composed_maps_multiply_at_most(latents):
    first, second = smooth_decoder(5, 12).double(), smooth_decoder(12, 30, seed=1).double()
    one = upto.lipschitz(latents, decoder=first)
    with torch.no_grad():
        middle = first(torch.tensor(latents)).numpy()
    two = {p.row: p for p in upto.lipschitz(middle, decoder=second).points}
    both = upto.lipschitz(latents, decoder=lambda z: second(first(z)))
    for point, inner in zip(both.points, one.points, strict=True):
        assert point.row == inner.row
        assert point.lipschitz <= inner.lipschitz * two[point.row].lipschitz * (1 + 1e-9)


def test_the_order_of_rows_and_the_seed_of_others_change_nothing(rng, latents):
    order = rng.permutation(len(latents))
    plain = upto.lipschitz(latents, decoder=smooth_decoder(), n_points=40)
    moved = upto.lipschitz(latents[order], decoder=smooth_decoder(), n_points=40)
    assert [order[point.row] for point in moved.points] == [point.row for point in plain.points]
    np.testing.assert_allclose(numbers(plain), numbers(moved), rtol=1e-12)
    assert "UP024" in codes(plain)
    other = upto.lipschitz(latents, decoder=smooth_decoder(), n_points=40, seed=1)
    assert {p.row for p in other.points} != {p.row for p in plain.points}


def test_lanczos_with_few_steps_bounds_the_constant_from_below_and_says_so(rng):
    points = rng.normal(size=(20, 40))
    decoder = smooth_decoder(40, 90, hidden=60)
    exact = upto.lipschitz(points, decoder=decoder)
    few = upto.lipschitz(points, decoder=decoder, method="lanczos", steps=12)
    assert (numbers(few) <= numbers(exact) * (1 + 1e-9)).all()
    assert (numbers(few, "by_directions") <= numbers(few) * (1 + 1e-9)).all()
    assert "UP052" in codes(few)
    assert "UP052" not in codes(exact)
    assert "at least a factor" in few.verdict
    assert (few.is_exact, exact.is_exact) == (False, True)
    assert few.promises == ()
    assert "promise" not in " ".join(table.title for table in few.tables())
    assert (few.share_near, few.coordinates, few.worst.direction) == (None, (), ())


def test_fewer_outputs_than_latents_are_a_result_with_a_finding(latents):
    for method in ("dense", "lanczos"):
        found = upto.lipschitz(latents, decoder=linear(np.ones((5, 3))), method=method)
        assert numbers(found, "smallest").tolist() == [0.0] * 150
        assert found.spread("lipschitz").worst is None
        assert found.spread("lipschitz").mean is None
        assert found.scaled is None
        assert "3 outputs cannot distinguish 5 latents" in str(found.findings)
        assert {"UP012", "UP050"} <= set(codes(found))
        assert "not injective" in found.verdict
        assert LipschitzResult.from_json(found.to_json()) == found
        assert "inf" in str(found)
        assert found.panels()


def test_latents_the_decoder_ignores_are_named(latents):
    matrix = np.eye(5)
    matrix[[1, 3]] = 0.0
    found = upto.lipschitz(latents, decoder=linear(matrix @ np.ones((5, 9)) + matrix.sum()))
    assert "UP050" in codes(found)
    matrix = np.diag([1.0, 0, 1, 0, 1])
    found = upto.lipschitz(latents, decoder=linear(matrix))
    assert "2 (1, 3) of 5 latents are ignored" in str(found.findings)


def test_latents_the_decoder_hardly_uses_are_named(latents):
    found = upto.lipschitz(latents, decoder=linear(np.diag([1.0, 0.01, 1, 1, 0.04])))
    message = "100 at the median of 150 points; 2 (1, 4) of 5 latents hardly move"
    assert message in str(found.findings)


def test_rank_deficiency_within_rounding_is_called_zero(rng, latents):
    matrix = rng.normal(size=(5, 20))
    matrix[4] = matrix[0] + matrix[1]
    for method in ("dense", "lanczos"):
        found = upto.lipschitz(latents, decoder=linear(matrix), method=method)
        assert found.spread("lipschitz").median is None


def test_a_small_but_real_direction_is_not(latents):
    matrix = np.diag([1e-9, 1, 1, 1, 1])
    found = upto.lipschitz(latents, decoder=linear(matrix))
    assert found.spread("lipschitz").worst == pytest.approx(1e9, rel=1e-6)


@pytest.mark.slow
def test_the_mean_has_an_interval_that_covers_it(rng):
    """The mean over all points of a warp along one axis is known."""
    points = rng.uniform(0, 1, size=(4000, 1))
    found = upto.lipschitz(points, decoder=lambda z: z + z**2 / 2, n_points=500)
    mean = found.spread("lipschitz").mean
    assert mean.low < 1.5 < mean.high
    assert mean.value == pytest.approx(1.5, abs=0.05)
    assert found.spread("lipschitz").worst <= 2.0
    assert found.spread("lipschitz").worst == max(numbers(found))


def test_outputs_alone_bound_the_constant_from_below(latents):
    decoder = smooth_decoder().double()
    with torch.no_grad():
        outputs = decoder(torch.tensor(latents)).numpy()
    exact = upto.lipschitz(latents, decoder=decoder)
    found = upto.lipschitz(latents, outputs)
    assert found.method == "neighbours"
    # Rows are not decoded to the same bits in blocks of another length.
    for mine, theirs in zip(astuple(found.secants), astuple(exact.secants), strict=True):
        assert mine == pytest.approx(theirs, rel=1e-10)
    assert max(numbers(found, "largest")) <= max(numbers(exact, "largest")) * 1.001
    assert found.spread("lipschitz").worst > 1.0
    assert "at least a factor" in found.verdict
    with pytest.raises(KeyError, match="only lipschitz, scaled"):
        found.spread("directions")


def test_outputs_of_a_scaled_rotation_give_it_exactly(rng, latents):
    found = upto.lipschitz(latents, 3.0 * latents @ rotation(rng, 5))
    np.testing.assert_allclose(numbers(found), 3.0)
    assert found.scaled == pytest.approx(1.0)
    assert (found.secants.lipschitz, found.secants.scaled) == pytest.approx((3.0, 1.0))
    assert "UP054" in codes(found)


def test_near_neighbours_approach_the_local_constant(rng):
    points = rng.uniform(-1, 1, size=(20_000, 2))
    matrix = np.array([[1.0, 1.0], [0.0, 1.0]])
    values = np.linalg.svd(matrix, compute_uv=False)
    found = upto.lipschitz(points, points @ matrix, n_points=200, directions=30)
    assert np.median(numbers(found, "largest")) == pytest.approx(values[0], rel=0.02)
    assert (numbers(found) <= values[0] * (1 + 1e-9)).all()


def test_neighbours_of_a_grid_do_not_make_it_an_isometry():
    """Nearest rows lie along one axis only; the map stretches the other."""
    across, up = np.meshgrid(np.arange(60.0), 100.0 * np.arange(20))
    points = np.c_[across.ravel(), up.ravel()]
    found = upto.lipschitz(points, points * [1.0, 3.0])
    assert found.spread("lipschitz").worst == pytest.approx(1.0)
    assert not found.is_exact
    assert found.promises == ()
    assert "UP012" not in codes(found)
    assert "isometry" not in found.verdict
    assert "by at least a factor of 3 at the worst" in found.verdict
    same = upto.lipschitz(points, points)
    assert "preserves all lengths measured" in same.verdict
    assert same.verdict.startswith("The map from ")
    assert LipschitzResult.from_json(same.to_json()) == same
    assert str(same)


def test_pairs_count_in_what_is_promised(rng):
    """A half circle is an isometry near every point, and its ends are far nearer than that."""
    angles = rng.uniform(0, 3, size=(200, 1))
    found = upto.lipschitz(angles, decoder=lambda z: torch.cat([torch.cos(z), torch.sin(z)], dim=1))
    assert found.spread("lipschitz").worst == pytest.approx(1.0)
    pairs = found.secants.lipschitz
    assert pairs > 1.4
    assert "is an isometry" not in found.verdict
    assert f"distances between them by up to {pairs:.3g}" in found.verdict
    worst, _, median, _, rescaled, _ = found.promises
    assert f"Λ = {pairs:.4g}" in worst.condition
    assert "Λ = 1)" in median.condition
    assert float(worst) > float(median)
    assert f"Λ = {math.sqrt(found.secants.largest / found.secants.smallest):.4g}" in (
        rescaled.condition
    )


def test_the_promise_after_a_scale_is_up_to_that_scale_too(latents):
    found = upto.lipschitz(latents, decoder=linear(2.0 * np.eye(5)))
    for promise in found.promises:
        is_rescaled = promise.statement.endswith("rescaled")
        assert ("rigid motion and one scale" in promise.claim) is is_rescaled
        assert "igid motion" in promise.claim


def test_rows_are_matched_by_ids(rng, latents):
    order = rng.permutation(150)
    first = upto.Embeddings(rows=latents, name="z", ids=np.arange(150))
    second = upto.Embeddings(rows=2 * latents[order], name="x", ids=np.arange(150)[order])
    np.testing.assert_allclose(numbers(upto.lipschitz(first, second)), 2.0)


def test_equal_latents_with_other_outputs_are_remarked_on(latents):
    twice = np.concatenate([latents, latents[:20]])
    outputs = twice.copy()
    outputs[-20:] += 1.0
    found = upto.lipschitz(twice, outputs)
    assert "20 rows have the latents of another row but different outputs" in str(found.findings)
    assert "UP055" not in codes(upto.lipschitz(twice, 2 * twice))


def test_what_theory_promises_follows_from_the_constant(rng, latents):
    found = upto.lipschitz(latents, decoder=linear(1.0001 * np.eye(5)))
    from upto.theory import rigid_promise

    excess = found.spread("lipschitz").worst - 1
    expected = rigid_promise(excess, n_dimensions=5, diameter=found.diameter.upper)
    assert float(found.promises[0]) == pytest.approx(float(expected))
    assert not found.promises[0].is_vacuous
    assert "UP012" not in codes(found)
    assert "two such runs agree up to a rigid motion" in found.verdict


def test_the_findings_say_what_to_know(latents):
    found = upto.lipschitz(latents[:30], decoder=linear(3.0 * np.eye(5)))
    assert codes(found) == ["UP012", "UP051", "UP053", "UP054"]
    assert "up to 0.095 of all latents may be worse" in str(found.findings)
    dead = latents.copy()
    dead[:, 2] = 1.0
    assert "UP013" in codes(upto.lipschitz(dead, decoder=linear(np.eye(5))))


def test_one_latent_and_one_coordinate_are_enough():
    found = upto.lipschitz([[0.5]], decoder=lambda z: z**3)
    assert found.spread("lipschitz").worst == pytest.approx(1 / 0.75)
    assert (found.n_points, found.secants) == (1, None)
    assert LipschitzResult.from_json(found.to_json()) == found


def test_no_directions_may_be_tried(latents):
    found = upto.lipschitz(latents, decoder=smooth_decoder(), directions=0)
    assert [spread.name for spread in found.spreads] == ["lipschitz", "scaled"]
    assert all(point.by_directions is None for point in found.points)
    assert len(found.panels()[0].marks) == 1


def test_the_result_survives_json_and_renders(latents):
    found = upto.lipschitz(latents, decoder=orthogonal_decoder(0.5, (5, 8, 12)))
    assert LipschitzResult.from_json(found.to_json()) == found
    assert len(found.data_table().rows) == 150
    assert [table.title for table in found.tables()][:2] == [
        "Sequential: 5 latents, 12 outputs",
        "The whole map",
    ]
    assert "Certified network" in str(found)
    for panel in found.panels():
        for marks in panel.marks:
            assert len(marks.x) == len(marks.y) > 0
            assert np.isfinite([*marks.x, *marks.y]).all()


def test_the_plot_of_coordinates_starts_at_zero(latents):
    """Else coordinates that are all used alike would seem to be ignored."""
    found = upto.lipschitz(latents, decoder=linear(np.diag([0.9, 1.0, 1.0, 1.0, 1.1])))
    *_, view = panel_views(found.panels())
    assert view.title == "Effect of each latent coordinate on the outputs"
    assert ">0<" in str(view.plot.planes[0].numbers)


ROWS = {
    "half precision": lambda z: z.astype(np.float16),
    "whole numbers": lambda z: np.rint(10 * z).astype(int),
    "Fortran order": np.asfortranarray,
    "not contiguous": lambda z: z[::2, ::-1],
    "a list": lambda z: z.tolist(),
    "a tensor": torch.tensor,
    "one column": lambda z: z[:, :1],
    "repeated rows": lambda z: np.repeat(z[:10], 5, axis=0),
    "far from the origin": lambda z: z + 1e3,
    "large": lambda z: 1e9 * z,
    "small": lambda z: 1e-9 * z,
}


@pytest.mark.parametrize("change", ROWS.values(), ids=ROWS)
def test_latents_of_any_kind_are_measured(latents, change):
    given = change(latents)
    found = upto.lipschitz(given, decoder=lambda z: torch.cat([z, torch.sin(z)], dim=1))
    rows = np.asarray(given, dtype=float)[[point.row for point in found.points]]
    np.testing.assert_allclose(
        numbers(found), np.sqrt(1 + np.cos(rows) ** 2).max(axis=1), rtol=1e-6
    )
    np.testing.assert_allclose(
        numbers(upto.lipschitz(given, 2 * np.asarray(given))), 2.0, rtol=1e-6
    )


@pytest.mark.parametrize("factor", [1e-300, 1e-200, 1e-150, 1e150, 1e200, 1e300])
def test_outputs_of_any_size_are_measured(latents, factor):
    matrix = np.diag([2.0, 1, 1, 1, 1])
    expected = max(2.0 * factor, 1.0 / factor)
    for method in ("dense", "lanczos"):
        found = upto.lipschitz(latents, decoder=lambda z: linear(matrix)(z) * factor, method=method)
        np.testing.assert_allclose(numbers(found), expected, rtol=1e-9)
        assert found.scaled == pytest.approx(math.sqrt(2))
        assert found.spread("lipschitz").mean.value == pytest.approx(expected)
        assert LipschitzResult.from_json(found.to_json()) == found
    usual, scaled = upto.lipschitz(latents, latents), upto.lipschitz(latents, factor * latents)
    np.testing.assert_allclose(numbers(scaled, "largest"), factor * numbers(usual, "largest"))
    assert scaled.secants.smallest == pytest.approx(factor * usual.secants.smallest)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_latents_whose_squares_leave_the_range_of_numbers_are_refused(latents, factor):
    for given in ({"decoder": linear(np.eye(5))}, {"outputs": latents}):
        with pytest.raises(InputError, match="overflow or underflow: rescale the latents"):
            upto.lipschitz(factor * latents, **given)


def test_chance_is_noticed_wherever_it_is(latents):
    """Only far latents are noisy, and not those that are looked at first."""
    first = [point.row for point in upto.lipschitz(latents, decoder=linear(np.eye(5))).points][:8]
    limit = float(np.abs(latents[first]).max())

    def decoder(z):
        far = (z.abs().amax(dim=1, keepdim=True) > limit).to(z.dtype)
        return z + far * torch.randn_like(z)

    assert (np.abs(latents) > limit).any()
    with pytest.raises(InputError, match=r"is not deterministic \(outputs for the same latents"):
        upto.lipschitz(latents, decoder=decoder)


def test_files_of_arrays_with_more_axes_are_read_as_they_are(rng, latents, tmp_path):
    images = rng.normal(size=(40, 2, 3, 3))
    torch.manual_seed(0)
    decoder = nn.Conv2d(2, 3, 3, padding=1).eval()
    np.save(tmp_path / "images.npy", images)
    np.savez(tmp_path / "images.npz", first=images, second=images[:, 0])
    np.savez(tmp_path / "one.npz", images)
    expected = numbers(upto.lipschitz(images, decoder=decoder))
    for name in ("images.npy", "images.npz::first", "one.npz"):
        found = upto.lipschitz(f"{tmp_path}/{name}", decoder=decoder)
        np.testing.assert_allclose(numbers(found), expected)
    np.save(tmp_path / "z.npy", images.reshape(40, 18))
    found = upto.lipschitz(tmp_path / "z.npy", tmp_path / "images.npy")
    np.testing.assert_allclose(numbers(found), 1.0)


class Straight(torch.autograd.Function):
    """A rounding whose gradient pretends that it is none."""

    @staticmethod
    def forward(ctx, z):
        return torch.round(z)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


BAD = {
    "dropout": (
        nn.Sequential(nn.Linear(5, 6), nn.Dropout(), nn.Dropout(), nn.BatchNorm1d(6)),
        "Sequential is in train mode, in which 3 of its layers depend on chance or on other rows "
        r"\(1 BatchNorm1d, 2 Dropout\): call its eval\(\) first",
    ),
    "noise": (
        lambda z: z + torch.randn_like(z),
        r"is not deterministic \(outputs for the same latents differ",
    ),
    "mixing": (lambda z: z - z.mean(0), "depend on the other rows of its batch"),
    "argmax": (
        lambda z: z.argmax(1, keepdim=True),
        "are int64, not real floating-point numbers",
    ),
    "one-hot": (
        lambda z: nn.functional.one_hot(z.argmax(1)).double(),
        "has no derivative with respect to its latents",
    ),
    "detached": (lambda z: z.detach() * 2, "has no derivative with respect to its latents"),
    "straight": (Straight.apply, r"are not those of its outputs \(they differ from finite"),
    "complex": (lambda z: torch.fft.fft(z), "are complex128, not real floating-point numbers"),
    "NaN": (lambda z: torch.log(z), "NaN or infinite at"),
    "NaN derivative": (
        lambda z: torch.sqrt(torch.relu(z) + 0 * z),
        "the derivatives of <lambda> are NaN or infinite at",
    ),
    "width": (
        nn.Linear(7, 6),
        "the latents have 5 coordinates, but the first layer of Linear takes 7",
    ),
    "function of another width": (
        lambda z: z @ torch.ones(7, 2, dtype=z.dtype),
        r"cannot take a batch of latents of shape \(5,\)",
    ),
    "no weights": (nn.Linear(5, 6, device="meta"), "Linear has no weights, only their shapes"),
    "rows": (lambda z: z[:-1], "have the shape"),
    "NumPy": (lambda z: np.zeros((len(z), 2)), "returns ndarray, not a tensor"),
    "no decoder": (3, "int is not a decoder"),
}


@pytest.mark.parametrize(("decoder", "words"), BAD.values(), ids=BAD)
def test_a_decoder_that_cannot_be_used_is_refused_in_one_sentence(latents, decoder, words):
    with pytest.raises(InputError, match=words) as refused:
        upto.lipschitz(latents, decoder=decoder)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_counted(latents, bad):
    def decoder(z):
        return torch.where(z[:, :1] > 1.5, torch.full_like(z, bad), z)

    count = int((latents[:, 0] > 1.5).sum())
    with pytest.raises(InputError, match=r"NaN or infinite at \d+ of"):
        upto.lipschitz(latents, decoder=decoder)
    assert count > 0
    with pytest.raises(InputError, match="latents has 1 values that are NaN or infinite"):
        upto.lipschitz(np.where(np.arange(750).reshape(150, 5) == 7, bad, latents), 2 * latents)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "neither a decoder nor its outputs were given"),
        ({"decoder": len, "outputs": np.ones((150, 2))}, "both were given"),
        ({"outputs": np.ones((149, 2))}, "149"),
        ({"outputs": np.ones((150, 2)), "directions": 0}, "at least one nearest row is needed"),
        ({"outputs": np.ones((150, 2), dtype=complex)}, "complex128 values, not real numbers"),
        (
            {"decoder": len, "n_points": 0},
            "n_points is 0, but it must be a whole number",
        ),
        ({"decoder": len, "directions": -1}, "directions is -1"),
        ({"decoder": len, "steps": 0}, "steps is 0"),
        ({"decoder": len, "n_points": 1.5}, "n_points is 1.5"),
        ({"decoder": len, "method": "magic"}, "there is no method 'magic'"),
    ],
)
def test_what_cannot_be_measured_is_refused(latents, options, words):
    with pytest.raises(InputError, match=words):
        upto.lipschitz(latents, **options)


def test_equal_latents_have_no_ratios():
    with pytest.raises(InputError, match="all 9 latents are equal"):
        upto.lipschitz(np.ones((9, 2)), np.ones((9, 2)))


def test_outputs_that_are_all_equal_lose_everything(latents):
    found = upto.lipschitz(latents, np.ones((150, 3)))
    assert found.spread("lipschitz").worst is None
    assert "UP050" in codes(found)
