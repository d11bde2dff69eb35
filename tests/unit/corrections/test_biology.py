"""Components that carry plates are found on training plates and removed from others."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn_checks import each_check

from upto import ICA
from upto.core import InputError
from upto.corrections.biology import BiologyComponents
from upto.corrections.cost_of_dropping import MOST_ROWS, draw_batches

N_PLATES = 24


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:ICA stopped after")
@each_check(
    [
        BiologyComponents(),
        BiologyComponents(unmixer=ICA(1, random_state=0), space="components"),
    ]
)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    asked = repr(estimator)
    check(estimator)
    assert repr(estimator) == asked


class Screen:
    """A screen of five sources: one carries plates, one perturbations, one both, two neither."""

    def __init__(self, seed=2):
        rng = np.random.default_rng(seed)
        self.plate = np.repeat(np.arange(N_PLATES), 300)
        self.gene = np.tile(np.arange(5), 60 * N_PLATES)
        n = len(self.plate)
        plates = rng.choice([-2.0, 2.0], size=(2, N_PLATES)) + 0.3 * rng.normal(size=(2, N_PLATES))
        genes = np.array([[0.0, 3.0, 3.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0, 3.0]])
        self.sources = rng.laplace(size=(n, 5)) / 2
        self.sources[:, 0] += plates[0, self.plate]
        self.sources[:, 1] += genes[0, self.gene]
        self.sources[:, 2] += 0.5 * plates[1, self.plate] + genes[1, self.gene]
        self.mixing = rng.normal(size=(5, 7))
        self.rows = self.sources @ self.mixing + rng.normal(size=7)
        self.controls = self.gene == 0
        self.seen = self.plate < 16

    def fitted(self, **settings):
        seen = self.seen
        return BiologyComponents(**settings).fit(
            self.rows[seen], self.gene[seen], groups=self.plate[seen], controls=self.controls[seen]
        )


@pytest.fixture(scope="module")
def screen():
    return Screen()


@pytest.fixture(scope="module")
def found(screen):
    return screen.fitted()


class Hidden:
    """Labels in a component that plates move, and no mean of it that they move."""

    def __init__(self, n_plates=40, n_wells=40):
        self.rng = np.random.default_rng(0)
        self.plate = np.repeat(np.arange(n_plates), n_wells)
        self.label = np.tile([0, 1], len(self.plate) // 2)
        self.rows = self.rng.laplace(size=(len(self.plate), 6)) / np.sqrt(2)
        self.n_plates, self.side = n_plates, 2 * self.label - 1

    def move_plates(self, size=0.8, columns=1):
        offsets = size * self.rng.normal(size=(self.n_plates, columns))
        self.rows[:, :columns] += offsets[self.plate]

    def variance(self):
        self.rows[:, 0] *= np.where(self.label == 1, 3.0, 1.0)
        self.move_plates()

    def sign_flips(self):
        turned = self.rng.permutation(np.tile([-1, 1], self.n_plates // 2))
        self.rows[:, 0] += 3.0 * turned[self.plate] * self.label
        self.move_plates()

    def xor(self):
        signs = self.rng.choice([-1, 1], size=len(self.plate))
        self.rows[:, 0] = 2 * signs + 0.5 * self.rows[:, 0]
        self.rows[:, 1] = 2 * signs * self.side + 0.5 * self.rows[:, 1]
        self.move_plates(0.6, columns=2)

    def many_small_shifts(self):
        more = self.rng.laplace(size=(len(self.plate), 10)) / np.sqrt(2)
        self.rows = np.hstack([self.rows, more])
        self.rows[:, :14] += 0.11 * self.label[:, None]
        self.move_plates(1.0, columns=14)


@pytest.mark.parametrize("kind", ["variance", "sign_flips", "xor", "many_small_shifts"])
def test_labels_that_move_no_mean_of_a_plate_component_far_keep_it(kind):
    # The limit on shifts is loose, so that batches held out have to decide: small screens are fast.
    hidden = Hidden()
    getattr(hidden, kind)()
    asked = {"groups": hidden.plate, "controls": hidden.label == 0}
    kept = BiologyComponents(shift=0.5).fit(hidden.rows, hidden.label, **asked)
    assert len(kept.dropped_) == 0
    assert kept.cost_.most > 0.01
    assert np.array_equal(kept.transform(hidden.rows), hidden.rows)
    again = BiologyComponents(shift=0.5).fit(hidden.rows, hidden.label, **asked)
    assert again.cost_ == kept.cost_


def test_without_lightgbm_nothing_can_be_shown_and_nothing_is_dropped(monkeypatch):
    hidden = Hidden(n_plates=24, n_wells=20)
    hidden.rows[:, 1] += 8.0 * hidden.label
    hidden.move_plates(3.0)
    asked = {"groups": hidden.plate, "controls": hidden.label == 0}
    assert len(BiologyComponents(shift=1.0).fit(hidden.rows, hidden.label, **asked).dropped_) == 1
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    kept = BiologyComponents(shift=1.0).fit(hidden.rows, hidden.label, **asked)
    assert len(kept.dropped_) == 0
    assert "the cost of dropping 1 component is unknown" in kept.cost_.says
    assert "lightgbm, which is not installed" in kept.cost_.says


def test_batches_to_judge_by_are_whole_and_as_many_as_fit():
    sizes = np.array([700, 50, 900, 6000, 8000, 3000, 10, 400, 5000, 7000])
    plate = np.repeat([f"p{number}" for number in range(10)], sizes)
    drawn = draw_batches(plate, 0)
    assert 0 < drawn.sum() <= MOST_ROWS
    assert all(len(set(drawn[plate == name])) == 1 for name in np.unique(plate))
    assert np.array_equal(drawn, draw_batches(plate, 0))
    few = draw_batches(np.repeat(["a", "b"], 30_000), 0)
    assert few.sum() == MOST_ROWS
    assert few[:30_000].any()
    assert few[30_000:].any()


def test_the_planted_plate_component_is_dropped_from_plates_never_seen(screen, found):
    kept = found
    alike = np.corrcoef(kept.ica_.transform(screen.rows).T, screen.sources.T)[:5, 5:]
    component_of = np.abs(alike).argmax(axis=0)
    # ICA turns the axis of labels slightly towards plates; that it carries labels is what counts.
    carries = [kept.effects_[component].carries for component in component_of]
    assert (carries[0], *carries[3:]) == ("batch", "neither", "neither")
    assert (carries[1] in ("label", "both"), carries[2]) == (True, "both")
    assert kept.dropped_.tolist() == [component_of[0]]
    assert sorted([*kept.kept_, *kept.dropped_]) == [0, 1, 2, 3, 4]
    new = ~screen.seen
    without = kept.transform(screen.rows[new])
    assert without.shape == screen.rows[new].shape
    sources = (without - without.mean(axis=0)) @ np.linalg.pinv(screen.mixing)
    truth = screen.sources[new]
    correlations = [abs(np.corrcoef(sources[:, 1 + k], truth[:, 1 + k])[0, 1]) for k in range(4)]
    assert min(correlations) > 0.98
    assert sources[:, 0].std() < 0.15 * truth[:, 0].std()
    assert kept.cost_.most < 0.005


def test_the_kept_components_are_those_of_the_fit(screen):
    kept = screen.fitted(space="components")
    sources = kept.ica_.transform(screen.rows)
    np.testing.assert_allclose(kept.transform(screen.rows), sources[:, kept.kept_], atol=1e-10)
    names = [f"ica{number}" for number in kept.kept_]
    assert list(kept.get_feature_names_out()) == names
    frame = kept.set_output(transform="pandas").transform(screen.rows)
    assert list(frame.columns) == names


def test_what_no_component_describes_stays(screen):
    kept = screen.fitted(unmixer=ICA(3, random_state=0))
    taken = screen.rows - kept.transform(screen.rows)
    assert np.linalg.matrix_rank(taken, tol=1e-8) == len(kept.dropped_)
    assert list(kept.get_feature_names_out()) == [f"x{number}" for number in range(7)]


def test_without_batches_nothing_is_dropped(screen):
    kept = BiologyComponents().fit(screen.rows, screen.gene)
    assert (kept.effects_, len(kept.dropped_), len(kept.kept_)) == ((), 0, 5)
    np.testing.assert_allclose(kept.transform(screen.rows), screen.rows, atol=1e-10)


def test_pipelines_pass_batches_and_controls_on(screen):
    some = np.arange(len(screen.rows)) % 300 < 150
    rows, labels = screen.rows[some], screen.gene[some]
    asked = {"groups": screen.plate[some], "controls": screen.controls[some]}
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), BiologyComponents())
        pipeline.fit(rows, labels, **asked)
        assert len(pipeline[-1].dropped_) == 1
        assert pipeline.transform(rows).shape == rows.shape
    copy = clone(pipeline[-1])
    assert copy.get_params() == pipeline[-1].get_params()
    alone = BiologyComponents()
    np.testing.assert_array_equal(alone.fit_transform(rows, labels, **asked), alone.transform(rows))


def test_a_fit_that_would_drop_everything_is_refused():
    rng = np.random.default_rng(1)
    plate, gene = np.repeat(np.arange(12), 400), np.tile([0, 1], 2400)
    rows = rng.laplace(size=(4800, 2)) + 3.0 * rng.normal(size=(12, 2))[plate]
    with pytest.raises(InputError) as caught:
        BiologyComponents().fit(rows, gene, groups=plate)
    assert "all 2 components carry batches and no label is found" in str(caught.value)
    assert "none would be left: correct batch offsets first" in str(caught.value)


def test_what_is_not_shown_to_be_free_of_labels_is_kept(screen):
    few = (screen.plate < 10) & (np.arange(len(screen.plate)) % 300 < 60)
    asked = {"groups": screen.plate[few], "controls": screen.controls[few]}
    kept = BiologyComponents().fit(screen.rows[few], screen.gene[few], **asked)
    carried = [effect for effect in kept.effects_ if effect.carries == "batch"]
    # No label is found in them, but plates and wells are too few to rule one out.
    assert carried
    assert min(effect.label_shift for effect in carried) > kept.shift
    assert len(kept.dropped_) == 0
    assert np.array_equal(kept.transform(screen.rows), screen.rows)
    loose = BiologyComponents(shift=10.0).fit(screen.rows[few], screen.gene[few], **asked)
    # A looser limit leaves it to batches held out, which are too few as well.
    assert (kept.cost_, len(loose.dropped_)) == (None, 0)
    assert loose.cost_.most > 0.005


def test_without_labels_or_with_labels_of_one_plate_nothing_is_dropped(screen):
    alone = np.where(screen.plate == 0, "only here", screen.gene.astype(str))
    for labels in (None, alone, screen.plate % 2):
        kept = BiologyComponents().fit(screen.rows, labels, groups=screen.plate)
        assert len(kept.dropped_) == 0


def test_one_label_of_many_that_moves_few_wells_of_a_plate_component_keeps_it():
    rng = np.random.default_rng(0)
    plate, gene = np.repeat(np.arange(40), 100), np.tile(np.arange(50), 80)
    sources = rng.laplace(size=(4000, 2)) / np.sqrt(2)
    sources[:, 0] += 3.0 * rng.normal(size=40)[plate] + 0.8 * (gene == 7)
    sources[:, 1] += 2.0 * (gene == 3)
    kept = BiologyComponents().fit(sources, gene, groups=plate)
    assert len(kept.dropped_) == 0


def test_rows_without_a_label_are_judged_and_rows_without_a_batch_refused(screen):
    some = np.arange(len(screen.rows)) % 300 < 150
    rows, labels, batches = screen.rows[some], screen.gene[some].astype(object), screen.plate[some]
    labels[:3] = None
    kept = BiologyComponents().fit(rows, labels, groups=batches)
    assert len(kept.dropped_) == 1
    with pytest.raises(InputError, match="rows have no batch name"):
        BiologyComponents().fit(rows, groups=[None, *batches[1:]])


def test_an_unknown_space_is_refused(screen):
    with pytest.raises(InputError, match="there is no space 'pca': choose one of original"):
        screen.fitted(space="pca")
