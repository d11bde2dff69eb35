"""Traversals: what moves, how far, and through which inverse."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto.ica import ICA
from upto_studies.train.images.traversals import tiled, traversals


class Pixels:
    """Draws latents as the pixels of a row."""

    def decode(self, latents):
        self.seen = np.asarray(latents)
        return self.seen.astype(np.float32).reshape(len(self.seen), 1, -1, 1)


def sources(n_rows: int = 400) -> np.ndarray:
    return np.random.default_rng(0).uniform(-1, 1, size=(n_rows, 3))


def test_one_coordinate_moves_and_the_others_stay():
    latents = sources()
    drawn = traversals(Pixels(), latents, row=5, n_steps=4)[:, :, 0, :, 0]
    for coordinate in range(3):
        others = np.delete(drawn[coordinate], coordinate, axis=1)
        assert np.allclose(others, np.delete(latents[5], coordinate))
        ends = np.quantile(latents[:, coordinate], [0.02, 0.98])
        assert np.allclose(drawn[coordinate, [0, -1], coordinate], ends)


def test_components_are_drawn_through_the_inverse_of_ica():
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    latents = sources(2000) @ turn.T
    ica = ICA(random_state=0).fit(latents)
    drawn = traversals(Pixels(), latents, transform=ica, n_steps=5, coordinates=[1])[0, :, 0, :, 0]
    components = ica.transform(drawn.astype(np.float64))
    assert np.allclose(components[:, [0, 2]], ica.transform(latents[:1])[:, [0, 2]], atol=1e-5)
    assert np.ptp(components[:, 1]) > 2.0
    # Along a component of mixed latents, the latents move along one of the true directions.
    along = drawn[-1] - drawn[0]
    assert np.abs(turn.T @ (along / np.linalg.norm(along))).max() > 0.99


def test_codes_stay_whole_numbers():
    member = Pixels()
    traversals(member, np.arange(30).reshape(10, 3) % 7, n_steps=4)
    assert member.seen.dtype.kind == "i"


def test_a_picture_has_its_tiles_where_they_belong():
    drawn = np.zeros((2, 2, 3, 3, 1), np.float32)
    drawn[1, 0] = 0.5
    page = tiled(drawn, gap=1)[:, :, 0]
    assert page.shape == (7, 7)
    assert (page[4:, :3] == 128).all()
    assert (page[3] == 255).all()
    assert (page[:3, 4:] == 0).all()


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"row": 400}, "row 400"),
        ({"n_steps": 1}, "1 steps"),
        ({"tails": 0.5}, "less than half"),
        ({"coordinates": [3]}, "choose from 0 to 2"),
        ({"coordinates": []}, "choose from 0 to 2"),
    ],
)
def test_what_cannot_be_drawn_is_said(values, words):
    with pytest.raises(InputError, match=words):
        traversals(Pixels(), sources(), **values)
