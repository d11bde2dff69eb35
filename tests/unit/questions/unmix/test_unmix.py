"""What `unmix` says of a run: components, findings, verdict, and a search that can go on."""

from __future__ import annotations

import numpy as np
import pytest
from mixtures import correlations, mixed, planted, some_gaussian

import upto
from upto import InputError, ThreadsEngine, TorchEngine
from upto.evidence import identify as judged
from upto.ica import find_components, nongaussianity
from upto.ica.checkpoint import Checkpoint
from upto.ica.recurrence import find_in_part
from upto.questions.unmix import question as unmixing
from upto.questions.unmix.result import UnmixResult
from upto.transforms.save import load_transform

ENGINE = ThreadsEngine(n_threads=1)
CLEAR_KINDS = ("laplace", "uniform", "two values", "laplace")


def codes(result):
    return {finding.code for finding in result.findings}


def message(result, code):
    (found,) = (finding.message for finding in result.findings if finding.code == code)
    return found


def unmixed(rows, **options):
    return upto.unmix(rows, engine=ENGINE, **options)


@pytest.fixture
def rows(rng):
    return mixed(rng, 3000, CLEAR_KINDS)[1]


def test_a_clear_run_is_identifiable_without_a_remark(rows):
    result = unmixed(rows)
    assert isinstance(result, UnmixResult)
    assert result.findings == ()
    assert result.verdict == "run has 4 components, all identifiable up to order and sign."
    assert (result.n_identifiable, result.subspaces, result.rank) == (4, (), 4)
    assert (result.n_samples, result.n_features, result.n_held_out) == (3000, 4, 1500)
    assert result.converged
    assert result.n_iterations == result.trace[-1].iteration
    assert (result.n_restarts, result.n_bootstraps) == (1, 0)
    assert all(component.stability is None for component in result.components)
    assert result.curvature.value == result.curvature_identifiable > 0.05
    np.testing.assert_allclose(sum(component.variance for component in result.components), 1)


def test_components_are_those_of_all_rows_and_judged_without_the_held_out(rows, tmp_path):
    unmixed(rows, save=tmp_path / "ica.safetensors")
    wanted = find_components(ENGINE, rows)
    found = load_transform(tmp_path / "ica.safetensors")
    np.testing.assert_allclose(found.components_, wanted.components, atol=1e-5)


def test_components_are_judged_on_rows_they_were_not_fitted_to(rows, monkeypatch):
    fitted, on = [], []

    def finding(engine, rows, **options):
        fitted.append(np.asarray(rows))
        return find_in_part(engine, rows, **options)

    def judging(engine, rows, *args):
        on.append(np.asarray(rows))
        return nongaussianity(engine, rows, *args)

    monkeypatch.setattr(judged, "find_in_part", finding)
    monkeypatch.setattr(judged, "nongaussianity", judging)
    result = unmixed(rows)
    assert [len(part) for part in fitted] == [3000 - result.n_held_out, result.n_held_out]
    for part, other in zip(fitted, on, strict=True):
        both = np.concatenate([part, other])
        np.testing.assert_array_equal(np.sort(both[:, 0]), np.sort(rows[:, 0]))


def test_gaussian_components_are_a_finding_and_the_verdict_counts_them():
    _, rows = mixed(np.random.default_rng(5), 6000, some_gaussian(3, 6))
    result = unmixed(rows)
    assert codes(result) == {"UP003", "UP023"}
    assert message(result, "UP003").startswith("3 of 6 components of run cannot be distinguished")
    assert message(result, "UP023") == "components 3, 4, 5 of run: 3 of 6."
    assert result.verdict == (
        "run has 6 components: 3 identifiable up to order and sign, 3 only as one subspace."
    )
    assert [component.subspace for component in result.components] == [None] * 3 + [1] * 3


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))]
)
def test_restarts_and_bootstraps_tell_stable_components(seed):
    _, rows = mixed(np.random.default_rng(seed), 2000, some_gaussian(5, 8))
    result = unmixed(rows, restarts=3, bootstraps=6, seed=seed)
    stability = [component.stability for component in result.components]
    assert min(stability[:3]) > 0.9
    assert max(stability[3:]) < 0.8
    assert message(result, "UP022").startswith("5 of 8 components of run, the lowest at 0.")
    assert (result.n_restarts, result.n_bootstraps) == (3, 6)
    assert "restarts=3, bootstraps=6" in result.provenance.call


def test_stable_components_are_no_finding(rows):
    result = unmixed(rows, restarts=3, bootstraps=3)
    assert "UP022" not in codes(result)
    assert min(component.stability for component in result.components) > 0.9


def test_tied_components_are_a_finding(rng):
    sources = planted(rng, 1500, ("two values", "laplace", "laplace"))
    sources = sources / sources.std(axis=0)
    result = unmixed(np.concatenate([sources, sources[:, [0, 2, 1]]]), tolerance=1e-10)
    assert message(result, "UP021") == "2 of 3 components of run."


@pytest.mark.filterwarnings("error")
def test_a_search_cut_short_is_a_finding_and_no_warning(rows):
    result = unmixed(rows, max_iterations=2, tolerance=1e-12)
    assert message(result, "UP004") == "ICA of run stopped after 2 steps."
    assert "ica did not converge" in result.verdict.lower()
    assert not result.converged


@pytest.mark.parametrize(
    ("held_out", "why"),
    [(0.0, "no rows are held out"), (0.05, "at least 4000 rows are needed, and there are 3000")],
)
def test_too_few_rows_leave_components_unjudged_and_say_how_many_are_needed(rows, held_out, why):
    result = unmixed(rows, held_out=held_out)
    assert message(result, "UP015") == f"{why}: components of run are not tested."
    assert result.verdict == f"run has 4 components, not tested: {why}."
    assert result.n_identifiable is None
    for component in result.components:
        unknown = (component.nongaussianity, component.z, component.found_again, component.state)
        assert unknown == (None,) * 4
    assert result.curvature.value > 0.05


def test_what_the_search_saw_turning_is_named_where_nothing_can_be_judged():
    _, rows = mixed(np.random.default_rng(0), 1500, some_gaussian(6, 8))
    result = unmixed(rows, held_out=0.0)
    assert result.subspaces == ((2, 3, 4, 5, 6, 7),)
    assert result.n_identifiable is None


def test_components_without_whitening_are_not_judged_and_say_why(rng):
    rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    for whiten in ("rotation", "none"):
        result = unmixed(planted(rng, 3000) @ rotation, whiten=whiten)
        assert "UP015" not in codes(result)
        assert f"not tested: whiten is '{whiten}'" in result.verdict
        assert result.whiten == whiten
    judged = unmixed(planted(rng, 3000) @ rotation, whiten="active")
    assert "all identifiable" in judged.verdict


@pytest.mark.parametrize("whiten", ["unit-variance", "rotation", "none"])
def test_the_variances_of_components_are_shares_of_the_runs(whiten, rng, tmp_path):
    """Turned back into coordinates one at a time, components have these variances."""
    rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    rows = (planted(rng, 3000) * [1.05, 1.0, 1.0, 0.95]) @ rotation
    path = tmp_path / "ica.safetensors"
    result = unmixed(rows, whiten=whiten, save=path, held_out=0.0)
    ica = load_transform(path)
    sources = ica.transform(rows)
    wanted = [
        np.outer(sources[:, i], ica.mixing_[:, i]).var(axis=0).sum() / rows.var(axis=0).sum()
        for i in range(4)
    ]
    np.testing.assert_allclose([each.variance for each in result.components], wanted, rtol=1e-6)
    np.testing.assert_allclose(sum(wanted), 1, rtol=1e-3)


def test_a_coordinate_that_varies_in_one_row_only_does_not_spoil_the_others(rng):
    """Values are chosen so that sums are exact."""
    for position in range(0, 100, 10):
        rows = np.column_stack([planted(rng, 4096), np.zeros(4096)])
        rows[position, 4] = 4096.0
        result = unmixed(rows)
        assert result.rank == 5
        (alone,) = (each for each in result.components if each.z is None)
        assert (alone.found_again, alone.state) == (None, "not shown")
        assert message(result, "UP015") == (
            "1 of 5 components of run varies in one part of the rows only."
        )
        assert result.n_identifiable == 4


HARD = {
    "dead and duplicated columns": lambda x: np.column_stack([x, np.ones(len(x)), x[:, :2]]),
    "a mean of 1e3 sigma": lambda x: x + 1e3 * x.std(),
    "scale 1e-9": lambda x: 1e-9 * x,
    "scale 1e9": lambda x: 1e9 * x,
    "coordinates 1e6 apart": lambda x: x * [1e-3, 1.0, 1e3, 1.0],
    "single precision": lambda x: x.astype(np.float32),
    "half precision": lambda x: x.astype(np.float16),
    "whole numbers": lambda x: np.round(100 * x).astype(np.int32),
    "Fortran order": np.asfortranarray,
}
ENGINES = {
    "threads": lambda: ENGINE,
    "torch": lambda: pytest.importorskip("torch") and TorchEngine(device="cpu"),
}


@pytest.mark.parametrize("make", ENGINES.values(), ids=ENGINES)
@pytest.mark.parametrize("change", HARD.values(), ids=HARD)
def test_hard_rows_are_judged_as_easy_ones(change, make, tmp_path):
    sources, rows = mixed(np.random.default_rng(0), 3000, CLEAR_KINDS)
    result = upto.unmix(change(rows), engine=make(), output=tmp_path / "out.npy")
    assert result.verdict == "run has 4 components, all identifiable up to order and sign."
    assert result.rank == 4
    found = np.load(tmp_path / "out.npy")
    assert correlations(found, sources).max(axis=1).min() > 0.98


FEW = {
    "fewer rows than columns": (lambda rng: rng.laplace(size=(6, 20)), 5, {"UP001", "UP002"}),
    "one row more than columns": (lambda rng: rng.laplace(size=(21, 20)), 20, {"UP001"}),
    "one column": (lambda rng: rng.laplace(size=(50, 1)), 1, set()),
    "heavy tails": (lambda rng: rng.standard_cauchy(size=(60, 2)), 2, set()),
    "duplicated rows": (lambda rng: np.repeat(rng.laplace(size=(9, 2)), 20, axis=0), 2, set()),
}


@pytest.mark.parametrize(("make", "rank", "wanted"), FEW.values(), ids=FEW)
def test_few_rows_are_unmixed_with_findings(make, rank, wanted, rng):
    for seed in range(3):
        result = unmixed(make(np.random.default_rng(seed)), restarts=2, bootstraps=2)
        assert len(result.components) == result.rank == rank
        assert wanted | {"UP015"} <= codes(result)
        for component in result.components:
            assert np.isfinite(component.variance)
            assert np.isfinite(component.stability)


REFUSED = {
    "one row": (lambda x: x[:1], "has 1 row"),
    "no rows": (lambda x: x[:0], "is empty"),
    "equal rows": (lambda x: np.ones((40, 3)), "has zero variance"),
    "one dimension": (lambda x: x[0], "has 1 dimension,"),
    "NaN": (lambda x: np.where(x > 1, np.nan, x), "values that are NaN or infinite"),
    "infinite": (lambda x: np.where(x > 1, np.inf, x), "values that are NaN or infinite"),
    "complex": (lambda x: x + 1j, "contains complex128 values, not real numbers"),
    "objects": (lambda x: x.astype(object), "contains object values, not real numbers"),
    "words": (lambda x: np.full((9, 2), "a"), "not real numbers"),
}


@pytest.mark.parametrize(("change", "words"), REFUSED.values(), ids=REFUSED)
def test_rows_without_components_are_refused_in_words(change, words, rows, tmp_path):
    with pytest.raises(InputError, match=words):
        unmixed(change(rows), output=tmp_path / "out.npy")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_components": 9}, "9 components were requested"),
        ({"solver": "newton"}, "no solver 'newton'"),
        ({"contrast": "tanh"}, "no contrast 'tanh'"),
        ({"whiten": "zca"}, "no whitening 'zca'"),
        ({"restarts": 0}, "restarts is 0"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(options, words, rows):
    with pytest.raises(InputError, match=words):
        unmixed(rows, **options)


def test_the_result_does_not_depend_on_the_order_of_the_rows(rows, rng):
    wanted = unmixed(rows)
    found = unmixed(rows[rng.permutation(len(rows))])
    assert found.n_held_out == wanted.n_held_out
    for name in ("z", "variance"):
        np.testing.assert_allclose(
            [getattr(each, name) for each in found.components],
            [getattr(each, name) for each in wanted.components],
            rtol=1e-3,
        )


def test_a_result_survives_its_file(rows, tmp_path):
    result = unmixed(rows, restarts=2)
    (tmp_path / "result.json").write_text(result.to_json())
    assert UnmixResult.from_json((tmp_path / "result.json").read_bytes()) == result


def interrupted_at(monkeypatch, iteration):
    see = Checkpoint.see

    def seeing(self, step, components):
        see(self, step, components)
        if step.iteration == iteration:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "see", seeing)


def test_an_interrupted_search_goes_on_from_its_checkpoint(rows, tmp_path, monkeypatch):
    paths = {"checkpoint": tmp_path / "search", "save": tmp_path / "ica.safetensors"}
    unmixed(rows, tolerance=1e-9, **paths)
    wanted = load_transform(paths["save"]).components_
    assert not paths["checkpoint"].exists()
    paths["save"].unlink()
    with monkeypatch.context() as patch:
        interrupted_at(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            unmixed(rows, tolerance=1e-9, **paths)
    assert [path.name for path in tmp_path.iterdir()] == ["search"]
    result = unmixed(rows, tolerance=1e-9, resume=True, **paths)
    assert result.n_iterations <= 6
    assert not paths["checkpoint"].exists()
    np.testing.assert_allclose(load_transform(paths["save"]).components_, wanted, atol=1e-6)


def test_interrupted_restarts_keep_the_best_search_so_far(rows, tmp_path, monkeypatch):
    paths = {"checkpoint": tmp_path / "search", "save": tmp_path / "ica.safetensors"}
    with monkeypatch.context() as patch:
        interrupted_at(patch, 2)
        with pytest.raises(KeyboardInterrupt):
            unmixed(rows, restarts=4, **paths)
    assert [path.name for path in tmp_path.iterdir()] == ["search"]
    result = unmixed(rows, restarts=4, resume=True, **paths)
    assert result.converged
    assert result.n_restarts == 1


def test_a_checkpoint_that_is_not_there_or_damaged_is_refused_in_words(rows, tmp_path):
    path = tmp_path / "search"
    with pytest.raises(InputError, match=r"there is no .* to resume from: start without resume"):
        unmixed(rows, checkpoint=path, resume=True)
    path.write_bytes(b"damaged")
    with pytest.raises(InputError, match="damaged or truncated"):
        unmixed(rows, checkpoint=path, resume=True)
    assert path.read_bytes() == b"damaged"


def test_what_was_searched_is_kept_if_it_cannot_be_written(rows, tmp_path, monkeypatch):
    def fails(*args):
        message = "No space left on device"
        raise InputError(message)

    monkeypatch.setattr(unmixing, "write_transformed", fails)
    paths = {"checkpoint": tmp_path / "search", "output": tmp_path / "out.npy"}
    with pytest.raises(InputError, match="No space left"):
        unmixed(rows, **paths)
    assert [path.name for path in tmp_path.iterdir()] == ["search"]
    monkeypatch.undo()
    assert unmixed(rows, resume=True, **paths).n_iterations <= 1
    assert [path.name for path in tmp_path.iterdir()] == ["out.npy"]
