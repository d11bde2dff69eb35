"""Checks of injectivity on networks with (leaky) ReLUs."""

import numpy as np
import pytest

from upto.core import InputError
from upto.theory import PiecewiseNetwork, certify_injective, check_decoder, find_preimages
from upto.theory.piecewise import always_active_span
from upto.theory.segments import scalar_preimages, segments
from upto_studies.trials.heads import STORED


def holds(network, **options):
    found = {each.name: each.holds for each in check_decoder(network, **options)}
    assert found["F1"]
    assert found["continuous"]
    return found["F2"], found["F3"], found["F4"]


def network(*weights, **options):
    return PiecewiseNetwork(weights=weights, **options)


PLUS_MINUS = [[1.0], [-1.0]]


@pytest.mark.parametrize(
    ("decoder", "expected"),
    [
        # Example 3.4 of the paper, and Remark 3.12.
        (network([[1.0]], activated_output=True), (True, True, False)),
        (network([[1.0]], [[-1.0]], activated_output=True), (False, False, False)),
        (network(PLUS_MINUS, [[1.0, 1.0]]), (False, False, False)),
        (network(PLUS_MINUS, [[1.0, -1.0]]), (True, True, True)),
        # Both sides reach every height, at different speed.
        (network(PLUS_MINUS, [[2.0, 1.0]]), (False, False, False)),
        (network(PLUS_MINUS, np.eye(2)), (True, True, True)),
    ],
)
def test_a_scalar_latent_is_decided(decoder, expected):
    assert holds(decoder) == expected


def test_a_fold_that_leaves_a_stretch_is_weakly_injective():
    """Up, down and up again: only the middle heights are reached three times."""
    zigzag = network([[1.0], [1.0], [-1.0]], [[-2.0, 3.0, -1.0]], biases=[[0.0, -1.0, 0.0], [0.0]])
    points = np.array([[-1.0], [0.0], [1.0], [2.0]])
    np.testing.assert_allclose(zigzag(points).ravel(), [-1.0, 0.0, -2.0, -1.0])
    assert holds(zigzag) == (True, False, False)
    found = scalar_preimages(zigzag)
    assert (found.n_overlapping, found.n_single) == (3, 2)


def test_a_curve_that_crosses_itself_is_observably_injective():
    """Right, up-left and down: the last piece meets the first in a point inside both."""
    loop = PiecewiseNetwork(
        weights=[[[1.0], [-1.0], [1.0], [1.0]], [[1.0, -1.0, -2.0, 0.0], [0.0, 0.0, 1.0, -2.0]]],
        biases=[[0.0, 0.0, -1.0, -2.0], [0.0, 0.0]],
    )
    found = scalar_preimages(loop)
    assert (found.n_flat, found.n_overlapping, found.n_crossing) == (0, 0, 1)
    assert holds(loop) == (True, True, False)


def test_the_pieces_of_a_scalar_network_are_the_network(rng):
    for _ in range(20):
        leak = float(rng.choice([0.0, 0.2]))
        decoder = network(
            rng.normal(size=(5, 1)), rng.normal(size=(6, 5)), rng.normal(size=(2, 6)),
            biases=[rng.normal(size=5), rng.normal(size=6), rng.normal(size=2)], leak=leak,
        )  # fmt: skip
        pieces = segments(decoder)
        points = rng.normal(size=200) * 4
        for point in points:
            (inside,) = (each for each in pieces if each.low < point <= each.high)
            image = inside.slope * point + inside.offset
            np.testing.assert_allclose(decoder([[point]])[0], image, atol=1e-10)


def test_scalar_decisions_agree_with_a_fine_grid(rng):
    """Onto the line, a height has as many preimages as it is crossed."""
    seen = set()
    for _ in range(60):
        decoder = network(
            rng.normal(size=(4, 1)), rng.normal(size=(1, 4)),
            biases=[rng.normal(size=4), rng.normal(size=1)],
        )  # fmt: skip
        pieces = segments(decoder)
        ends = np.array([each.high for each in pieces[:-1]])
        heights = decoder(np.concatenate([[ends[0] - 1e6], ends, [ends[-1] + 1e6]])[:, None])[:, 0]
        levels = np.linspace(-40, 40, 4001)
        levels = levels[np.abs(levels[:, None] - heights).min(axis=1) > 1e-6]
        counts = np.sum(np.diff(np.sign(heights[None] - levels[:, None]), axis=1) != 0, axis=1)
        weak, observable, full = holds(decoder)
        assert weak == (1 in counts)
        assert observable == (counts.max() == 1)
        assert full == (observable and scalar_preimages(decoder).n_flat == 0)
        seen.add((weak, observable, full))
    assert len(seen) >= 3


def test_leaky_layers_of_full_rank_are_injective(rng):
    decoder = network(rng.normal(size=(5, 2)), rng.normal(size=(9, 5)), leak=0.1)
    assert certify_injective(decoder)[0] is True
    assert holds(decoder) == (True, True, True)
    # The same weights with a ReLU prove nothing.
    assert certify_injective(network(*decoder.weights))[0] is None


@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_a_narrow_layer_cannot_be_injective(rng, leak):
    decoder = network(rng.normal(size=(2, 3)), rng.normal(size=(9, 2)), leak=leak)
    assert holds(decoder) == (False, False, False)
    outputs = network(rng.normal(size=(5, 3)), rng.normal(size=(2, 5)), leak=leak)
    assert holds(outputs) == (False, False, False)


def test_a_first_layer_that_forgets_a_direction_cannot_be_injective(rng):
    matrix = rng.normal(size=(6, 3))
    matrix[:, 2] = matrix[:, 0]
    assert holds(network(matrix, rng.normal(size=(9, 6)), leak=0.5)) == (False, False, False)


def test_a_later_layer_that_loses_rank_does_not_decide(rng):
    decoder = network(rng.normal(size=(8, 2)), rng.normal(size=(4, 8)), leak=0.5)
    answer, reason = certify_injective(decoder)
    assert answer is None
    assert "layer 2 has rank 4 for 8 inputs" in reason


def test_rows_and_their_opposites_make_a_relu_layer_injective(rng):
    basis = rng.normal(size=(3, 3))
    matrix = np.vstack([basis, -2 * basis, rng.normal(size=(2, 3))])
    decoder = network(matrix, rng.normal(size=(9, 8)))
    assert certify_injective(decoder)[0] is True
    missing = network(np.delete(matrix, 3, axis=0), rng.normal(size=(9, 7)))
    assert certify_injective(missing)[0] is None


@pytest.mark.parametrize("tilt", [4e-5, 1e-9, 1e-300])
def test_rows_that_are_nearly_opposite_prove_nothing(tilt):
    """Far out both are inactive, and latents that differ across them have one image."""
    matrix = np.array([[1.0, 0.0], [-1.0, tilt], [0.0, 1.0], [0.0, -1.0]])
    decoder = network(matrix, np.random.default_rng(0).normal(size=(6, 4)))
    assert certify_injective(decoder)[0] is None
    assert always_active_span(matrix, np.zeros(4)) == 1
    first, second = np.array([-1.0, -4.0 / tilt]), np.array([-3.0, -4.0 / tilt])
    np.testing.assert_array_equal(decoder([first]), decoder([second]))


@pytest.mark.parametrize("scale", [-1.0, -0.25, -2.0])
def test_opposite_rows_are_seen_at_every_point(rng, scale):
    basis = rng.normal(size=(7, 7))
    assert always_active_span(np.vstack([basis, scale * basis]), np.zeros(14)) == 7
    assert always_active_span(np.vstack([basis, -scale * basis]), np.zeros(14)) == 0


def test_rows_that_are_opposite_up_to_rounding_prove_nothing(rng):
    basis = rng.normal(size=(7, 7))
    decoder = network(np.vstack([basis, -0.3 * basis]), rng.normal(size=(20, 14)))
    answer, reason = certify_injective(decoder)
    assert answer is None
    assert "pairs of rows are opposite up to rounding" in reason
    eps = np.finfo(float).eps
    matrix = [[1.0, 1.0], [-1.0, -1.0 - 2 * eps], [1.0, -1.0], [-1.0, 1.0]]
    assert certify_injective(network(matrix, activated_output=True))[0] is None
    matrix[1][1] = -1.0
    assert certify_injective(network(matrix, activated_output=True))[0] is True


def test_gaps_between_opposite_rows_are_found_exactly():
    """One third is stored a little too small, and the next number is too large."""
    matrix = np.array([[1.0], [-3.0]])
    assert always_active_span(matrix, np.array([-1 / 3, 1.0])) == 1
    assert always_active_span(matrix, np.array([-np.nextafter(1 / 3, 1), 1.0])) == 0


@pytest.mark.parametrize(
    ("biases", "span"), [((1.0, -0.5), 1), ((0.5, -1.0), 1), ((0.49, -1.0), 0), ((-0.1, 0.0), 0)]
)
def test_opposite_rows_cover_each_other_where_their_biases_allow(biases, span):
    """ReLU(z + b) and ReLU(-2 z + c) are never both zero if and only if b + c / 2 ≥ 0."""
    matrix = np.array([[1.0], [-2.0]])
    assert always_active_span(matrix, np.array(biases)) == span
    layer = network(matrix, biases=[biases], activated_output=True)
    # The exact answer for one input is the same.
    assert (scalar_preimages(layer).n_flat == 0) is (span == 1)


def test_injective_layers_have_no_two_latents_with_one_image(rng):
    basis = rng.normal(size=(2, 2))
    decoder = network(
        np.vstack([basis, -basis]), rng.normal(size=(7, 4)), biases=[rng.random(4), np.zeros(7)]
    )
    assert certify_injective(decoder)[0] is True
    assert find_preimages(decoder, 3 * rng.normal(size=(400, 2))).example is None


def test_a_fold_of_the_plane_is_found_with_two_latents(rng):
    fold = network(np.vstack([np.eye(2), -np.eye(2)]), np.hstack([np.eye(2), np.eye(2)]))
    found = find_preimages(fold, rng.normal(size=(50, 2)))
    assert (found.n_pieces, found.n_shared, found.n_deficient) == (4, 50, 0)
    first, second = found.example
    np.testing.assert_allclose(fold([first]), fold([second]), atol=1e-12)
    np.testing.assert_allclose(first, -second)
    assert holds(fold) == (None, False, False)
    evidence = {each.name: each.evidence for each in check_decoder(fold)}
    assert evidence["F2"].startswith("evidence only: 0 of 256")
    assert "have one image" in evidence["F4"]


def test_directions_forgotten_in_some_pieces_refute_injectivity_only(rng):
    corner = network(np.eye(2), np.eye(2))
    found = find_preimages(corner, rng.normal(size=(80, 2)))
    assert 0 < found.n_deficient < 80
    assert found.n_shared == 0
    first, second = found.example
    assert np.linalg.norm(first - second) > 1e-3
    np.testing.assert_array_equal(corner([first]), corner([second]))
    assert holds(corner) == (None, None, False)


def test_second_preimages_that_are_found_are_real(rng):
    n_found = 0
    for _ in range(20):
        decoder = network(
            rng.normal(size=(6, 2)), rng.normal(size=(3, 6)), rng.normal(size=(2, 3)),
            biases=[rng.normal(size=6), rng.normal(size=3), rng.normal(size=2)], leak=0.1,
        )  # fmt: skip
        found = find_preimages(decoder, 2 * rng.normal(size=(60, 2)))
        if found.example is not None:
            n_found += 1
            images = decoder(np.stack(found.example))
            np.testing.assert_allclose(images[0], images[1], atol=1e-8)
    assert n_found > 5


def test_nothing_found_is_called_evidence(rng):
    # The ReLU sees both coordinates wherever these latents are.
    decoder = network(np.vstack([np.eye(2), rng.normal(size=(3, 2))]), rng.normal(size=(9, 5)))
    latents = 1 + rng.random((40, 2))
    assert holds(decoder, latents=latents) == (None, None, None)
    for each in check_decoder(decoder, latents):
        if each.holds is None:
            assert each.evidence.startswith("evidence only")


def test_the_draw_follows_the_seed(rng):
    decoder = network(rng.normal(size=(6, 2)), rng.normal(size=(3, 6)))
    assert check_decoder(decoder, seed=3) == check_decoder(decoder, seed=3)


def test_pieces_are_the_network_where_they_are_active(rng):
    decoder = network(
        rng.normal(size=(6, 3)), rng.normal(size=(5, 6)), biases=[rng.normal(size=6), np.ones(5)],
        leak=0.2, activated_output=True,
    )  # fmt: skip
    latents = rng.normal(size=(30, 3))
    for latent, pattern in zip(latents, decoder.pattern(latents), strict=True):
        linear, offset = decoder.piece(pattern)
        np.testing.assert_allclose(decoder([latent])[0], linear @ latent + offset, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": ()}, "do not match"),
        ({"weights": (np.ones(3),)}, "do not match"),
        ({"weights": (np.ones((3, 2)), np.ones((3, 2)))}, "do not match"),
        ({"weights": (np.ones((3, 2)),), "biases": (np.ones(2),)}, "do not match"),
        ({"weights": (np.full((3, 2), np.nan),)}, "not finite"),
        ({"weights": (np.ones((3, 2)),), "leak": -0.1}, "between zero and one"),
    ],
)
def test_what_is_no_network_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        PiecewiseNetwork(**options)


def test_latents_of_another_width_are_refused(rng):
    decoder = network(rng.normal(size=(6, 2)), rng.normal(size=(3, 6)))
    with pytest.raises(InputError, match="give n×2"):
        check_decoder(decoder, np.ones((5, 3)))
    with pytest.raises(InputError, match="it must have one input"):
        segments(decoder)


@pytest.mark.parametrize("offset", [1e8, 1e10, 1e12])
def test_rounding_does_not_make_a_fold_injective(offset):
    """|z - c| after a large number was added and taken away: the sides differ a little."""
    decoder = network(
        [[1.0], [-1.0]],
        [[1.0, 1.0]],
        [[0.3], [0.77]],
        biases=[[-0.73, 0.73], [offset], [-0.3 * offset, -0.77 * offset]],
    )
    assert holds(decoder) == (None, None, None)
    assert "rounding may change" in check_decoder(decoder)[1].evidence


def test_a_rank_that_rounding_made_proves_nothing(rng):
    """Weights of rank 2 by design, stored with 11 bits, have rank 3."""
    flat = (rng.normal(size=(8, 2)) @ rng.normal(size=(2, 3))).astype(np.float16).astype(float)
    decoder = network(flat, rng.normal(size=(10, 8)), leak=0.1)
    assert holds(decoder) == (None, None, None)
    assert "rounding to float16 can cause" in certify_injective(decoder)[1]
    rectified = network(np.vstack([flat, -flat]), rng.normal(size=(20, 16)))
    assert certify_injective(rectified)[0] is None
    # Few bits do not matter where the rank has a margin.
    assert certify_injective(network(rng.normal(size=(8, 3)).astype(np.float16), leak=0.1))[0]


def test_a_rank_that_noise_may_have_made_proves_nothing(rng):
    axes = np.linalg.qr(rng.normal(size=(8, 3)))[0]
    decoder = network(axes * [1.0, 1.0, 1e-13], leak=0.1)
    assert certify_injective(decoder)[0] is None
    assert "condition number of 1e+13" in certify_injective(decoder)[1]


def stored(name, rng):
    flat = rng.normal(size=(64, 12)) @ rng.normal(size=(12, 16))
    if name == "bfloat16, turned":
        return STORED["bfloat16"](flat).astype(float) @ np.linalg.qr(rng.normal(size=(16, 16)))[0]
    return STORED[name](flat)


@pytest.mark.parametrize(
    "name",
    ["three decimals", "int8 scaled", "int8", "int4, rows scaled", "float8 e4m3", "bfloat16",
     "bfloat16, turned"],
)  # fmt: skip
def test_weights_are_asked_as_heads_are(name):
    """Of rank 12 before they were stored, of 16 afterwards."""
    rng = np.random.default_rng(1)
    decoder = network(stored(name, rng), rng.normal(size=(80, 64)), leak=0.2)
    assert certify_injective(decoder)[0] is None
    assert holds(decoder, n_points=16)[2] is None
    full = network(rng.normal(size=(64, 16)), rng.normal(size=(80, 64)), leak=0.2)
    assert holds(full) == (True, True, True)


def test_a_rank_that_is_full_but_for_rounding_is_not_called_low():
    small = network(np.diag([1.0, 1e-17]), leak=0.1)
    assert holds(small) == (None, None, None)
    assert "rank 2, but 1 up to rounding" in certify_injective(small)[1]
    behind = network(np.eye(2), np.diag([1.0, 1e-17]), leak=0.1)
    assert holds(behind) == (None, None, None)
    assert holds(network(np.diag([1.0, 0.0]), leak=0.1)) == (False, False, False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": ([[1.0, 2.0], [3.0]],)}, "not an array of real numbers"),
        ({"weights": ([["a", "b"]],)}, "not an array of real numbers"),
        ({"weights": (np.eye(2) * 1j,)}, "not an array of real numbers"),
        ({"weights": (np.eye(2),), "biases": (["a", "b"],)}, "biases of a layer are not an"),
        ({"weights": (np.eye(2),), "leak": "a"}, "not between zero and one"),
        ({"weights": (np.eye(2),), "leak": float("nan")}, "not between zero and one"),
    ],
)
def test_what_are_no_numbers_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        PiecewiseNetwork(**options)


def test_other_decoders_and_latents_that_are_no_numbers_are_refused(rng):
    with pytest.raises(InputError, match="a function is not a PiecewiseNetwork: give its weights"):
        check_decoder(lambda z: z)
    for decoder in (network(np.eye(2), leak=0.1), network(np.eye(2), np.eye(2))):
        with pytest.raises(InputError, match="not all finite"):
            check_decoder(decoder, [[np.nan, 0.0]])
        with pytest.raises(InputError, match="give n×2"):
            check_decoder(decoder, [["a", "b"]])
        with pytest.raises(InputError, match="give n×2"):
            check_decoder(decoder, [[1.0, 2.0], [3.0]])
