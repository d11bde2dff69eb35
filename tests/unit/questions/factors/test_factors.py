"""Latents against known factors: closed forms, what is remarked on, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

import upto
from upto import Embeddings, InputError
from upto.core import Group
from upto.engines import choose_engine
from upto.questions.factors.forms import FORMS, bring_into
from upto.questions.factors.result import FactorsResult

GIVEN, ICA = "without ICA", "ICA"
INFOM = "infomec/modularity@adjusted"
QUICK = {"scores": "gaussian-tc", "half_samples": 0}
"""Where scores do not matter."""
FAST = {"scores": INFOM, "half_samples": 0}


def codes_of(finding_codes):
    return {finding.code for finding in finding_codes.findings}


def message_of(result, code):
    return next(finding.message for finding in result.findings if finding.code == code)


@pytest.fixture(scope="module")
def truth():
    return np.random.default_rng(0).uniform(-1, 1, size=(500, 3))


@pytest.fixture(scope="module")
def turn():
    """Return a rotation in which every coordinate has a part in every other."""
    return np.array([[2, -1, 2], [2, 2, -1], [-1, 2, 2]]) / 3


@pytest.fixture(scope="module")
def turned(truth, turn):
    """Unit-variance factors, rotated: what the recipe of ICA is for."""
    standard = (truth - truth.mean(axis=0)) / truth.std(axis=0)
    return upto.factors(standard @ turn + 2, truth, scores=[INFOM, "linear-probe"], half_samples=0)


def test_factors_themselves_are_identified_up_to_signs_and_order_with_no_error(truth):
    standard = (truth - truth.mean(axis=0)) / truth.std(axis=0)
    latents = -standard[:, [2, 0, 1]] + 5
    found = upto.factors(latents, truth, forms="raw", **FAST)
    structure = found.truth()
    assert structure.up_to is Group.SIGNED_PERMUTATION
    assert structure.fit(Group.SIGNED_PERMUTATION).error.value == pytest.approx(0, abs=1e-12)
    assert structure.fit(Group.SIGNED_PERMUTATION).supremum.high == pytest.approx(0, abs=1e-12)
    assert found.score(INFOM).value.value == pytest.approx(1)
    assert [match.latent for match in found.form(GIVEN).matches] == [1, 2, 0]
    assert [match.correlation for match in found.form(GIVEN).matches] == pytest.approx([-1] * 3)
    assert found.form(GIVEN).order == (1, 2, 0)


def test_ica_turns_rotated_factors_back(turned):
    before, after = turned.truth(GIVEN), turned.truth(ICA)
    assert (before.up_to, after.up_to) == (Group.RIGID, Group.SIGNED_PERMUTATION)
    assert before.fit("rigid").error.value == pytest.approx(0, abs=1e-12)
    assert after.fit("signed-permutation").error.value < 0.02
    assert before.fit("signed-permutation").error.value > 0.1
    assert turned.score(INFOM, GIVEN).value.value < 0.6
    assert turned.score(INFOM, ICA).value.value > 0.95
    assert sorted(match.latent for match in turned.form(ICA).matches) == [0, 1, 2]


def test_a_rotation_changes_no_error_up_to_rotations(turned):
    for group in ("rigid", "similarity", "affine"):
        errors = [
            each.fit(group).error.value for each in turned.structure if each.form != "ICA, active"
        ]
        assert errors == pytest.approx([errors[0]] * 3, abs=1e-9)
    probes = [turned.score("linear-probe", form.name).value.value for form in turned.forms]
    assert probes == pytest.approx([1] * 4)


def test_ica_keeps_the_distances_between_rows(truth, turn):
    latents = 7 * truth @ turn + 3
    formed = bring_into(FORMS["ica"], latents, engine=choose_engine(None), seed=0)
    apart = [np.linalg.norm(rows[:50] - rows[50:100], axis=1) for rows in (latents, formed.latents)]
    assert apart[1] == pytest.approx(apart[0])
    assert formed.latents.mean(axis=0) == pytest.approx([0] * 3, abs=1e-9)


def test_an_affine_image_is_identified_up_to_affine_maps_only(truth):
    latents = truth @ [[1, 0, 0], [2, 3, 0], [0, -4, 9]] + [1, 2, 3]
    found = upto.factors(latents, truth, forms="raw", **QUICK).truth()
    assert found.up_to is Group.AFFINE
    assert found.fit("affine").error.value == pytest.approx(0, abs=1e-12)
    assert found.fit("similarity").error.value > 0.05
    assert found.fit("affine").r2 == pytest.approx(1)


@pytest.mark.slow
def test_noise_is_within_chance_by_every_word(truth):
    noise = np.random.default_rng(2).normal(size=(500, 4))
    found = upto.factors(
        noise, truth, forms="raw", half_samples=0,
        scores=[INFOM, "infomec/modularity@latent_quantization"],
        discrete=["factor 0"], continuous=["factor 1"],
    )  # fmt: skip
    assert found.truth().agreement == "chance"
    assert "no closer to the 3 factors than chance" in found.verdict
    assert found.score(INFOM).value.value == 0
    published = found.score("infomec/modularity@latent_quantization")
    assert published.value.value > 0.2
    assert published.calibrated == 0
    assert {"UP060", "UP061", "UP066"} <= codes_of(found)
    assert "latent_quantization (0." in message_of(found, "UP061")


def test_shares_are_of_latents_and_factors_in_order(truth):
    latents = np.column_stack([np.zeros(500), truth[:, 1], truth[:, 0] + truth[:, 2]])
    found = upto.factors(latents, truth, forms="raw", **QUICK)
    form = found.form(GIVEN)
    shares = np.array(form.shares)
    assert shares.shape == (3, 3)
    assert shares[1, 1] > 0.9
    assert shares[0].tolist() == [0, 0, 0]
    assert shares[2, 0] > 0.05 < shares[2, 2]
    assert (form.dead, form.active) == ((0,), (1, 2))
    assert form.match("factor 1").r2 == pytest.approx(1)
    assert form.match("factor 0").r2 < 0.7
    assert {"UP013", "UP065", "UP069"} <= codes_of(found)
    assert "latent 2 (factor 0, factor 2)" in message_of(found, "UP069")


def test_kinds_are_told_from_values_and_can_be_overridden(rng):
    columns = {
        "level": rng.integers(5, size=300),
        "amount": rng.normal(size=300),
        "shape": rng.choice(["cube", "ball"], size=300),
        "text": rng.integers(4, size=300).astype(str),
        "number": rng.integers(6, size=300),
        "label": rng.integers(3, size=300),
        "step": rng.integers(4, size=300),
        "below": rng.integers(-2, 3, size=300),
        "half": rng.integers(4, size=300) / 2,
        "gaps": rng.choice([0, 30, 60], size=300),
        "pair": rng.integers(2, size=300),
        "cell_type": rng.choice([3, 5], size=300),
    }
    found = upto.factors(
        rng.normal(size=(300, 2)), columns, forms="raw",
        continuous=["level"], unordered=["number"], ordered=["step"], **QUICK,
    )  # fmt: skip
    kinds = {factor.name: (factor.kind, factor.in_truth) for factor in found.factors}
    assert kinds == {
        "level": ("continuous", True),
        "amount": ("continuous", True),
        "shape": ("discrete", False),
        "text": ("discrete", False),
        "number": ("discrete", False),
        "label": ("discrete", False),
        "step": ("discrete", True),
        "below": ("discrete", True),
        "half": ("discrete", True),
        "gaps": ("discrete", True),
        "pair": ("discrete", True),
        "cell_type": ("discrete", False),
    }
    assert found.factors[2].entropy == pytest.approx(np.log(2), abs=0.02)
    assert found.factors[1].entropy is None
    assert message_of(found, "UP067").startswith(
        "shape (text), text (text), number, label (name contains label), cell_type "
        "(name contains type) are treated as categories: scored"
    )
    taken = {row[0]: row[-1] for row in found.tables()[-2].rows}
    assert (taken["level"], taken["step"]) == ("continuous", "ordered values")
    assert taken["number"] == "categories"


def test_a_class_label_is_no_coordinate_and_takes_nothing_from_the_others(rng):
    digit = rng.integers(10, size=300)
    angle = rng.uniform(size=300)
    order = rng.permutation(10)[digit]
    latents = np.column_stack([angle, order + 0.01 * rng.normal(size=300)])
    found = upto.factors(latents, {"angle": angle, "digit": digit}, forms="raw", **QUICK)
    assert found.truth().agreement in ("identical", "same")
    assert found.form(GIVEN).match("digit").share > 0.95


def test_labels_that_look_alike_are_named(rng, truth):
    labels = np.array([" Cat", "cat", "NA", "nan", "dog", "DOG ", "owl"])[rng.integers(7, size=500)]
    found = upto.factors(truth, {"animal": labels}, forms="raw", **QUICK)
    assert message_of(found, "UP085") == (
        "animal has ' Cat' and 'cat', 'DOG ' and 'dog' as separate values."
    )
    # What stands for a missing label is missing, however it is written.
    assert found.factors[0].n_values == 5
    clean = upto.factors(truth, {"animal": np.char.strip(labels)}, forms="raw", **QUICK)
    assert message_of(clean, "UP085").startswith("animal has 'Cat' and 'cat'")


def test_text_that_looks_like_numbers_is_text_where_it_was_typed_so(rng, truth):
    group = rng.integers(4, size=len(truth))
    for values in (
        np.array(["10", "45", "20", "30"])[group],
        [["10", "45", "20", "30"][place] for place in group],
        np.array(["10", "45", "20", "30"], dtype=object)[group],
    ):
        found = upto.factors(truth, {"group": values}, forms="raw", **QUICK)
        assert (found.factors[0].kind, found.factors[0].in_truth) == ("discrete", False)


def test_missing_values_of_pandas_are_missing(truth):
    pandas = pytest.importorskip("pandas")
    flags = pandas.array([True, False, None, True] * (len(truth) // 4), dtype="boolean")
    table = pandas.DataFrame({"flag": flags})
    found = upto.factors(truth, table, forms="raw", **QUICK)
    assert found.factors[0].labelled == 0.75


def test_the_verdict_names_the_one_factor_it_is_about(rng, truth):
    factors = {"animal": np.array(["cat", "dog"])[rng.integers(2, size=len(truth))],
               "size": truth[:, 0]}  # fmt: skip
    found = upto.factors(truth, factors, forms="raw", **QUICK)
    assert "the factor size" in found.verdict


def test_a_score_without_a_value_is_a_finding(truth):
    codes = truth * [50.0, 1.0, 1.0]
    names = ["infomec/compactness@adjusted", "infomec/compactness@tripod"]
    found = upto.factors(codes, truth, scores=names, forms="raw", half_samples=0)
    assert found.score(names[0]).value.value > 0.98
    assert message_of(found, "UP090").startswith("infomec/compactness@tripod: no active latent enc")


def test_a_wide_latent_of_noise_does_not_decide_what_is_read_first(rng, truth):
    latents = np.column_stack([truth + 0.01 * rng.normal(size=truth.shape),
                               50 * rng.normal(size=len(truth))])  # fmt: skip
    found = upto.factors(latents, truth, forms="raw", scores="infomec", half_samples=0)
    assert "infomec/modularity@adjusted: without ICA 1.00" in found.verdict
    assert found.score("infomec/compactness").value.value > 0.98
    assert not [finding for finding in found.findings if finding.code == "UP060"]
    assert set(found.form(GIVEN).active) == {0, 1, 2, 3}


@pytest.mark.parametrize("table", [list, np.asarray, lambda rows: np.rec.fromarrays(rows.T)])
def test_factors_may_be_any_array(truth, table):
    found = upto.factors(truth, table(truth), forms="raw", **QUICK)
    assert len(found.factors) == 3
    assert found.truth().agreement == "same"


def test_missing_labels_and_useless_factors_are_named(truth, rng):
    labels = np.round(truth[:, 0] * 2).astype(int).astype(object)
    labels[:50] = None
    columns = {
        "kept": labels,
        "one": np.ones(500),
        "none": np.full(500, np.nan),
        "path": [f"image {row}" for row in range(500)],
        "rare": np.r_[np.zeros(495), np.ones(5)],
    }
    found = upto.factors(truth, columns, forms="raw", **FAST)
    assert found.factors[0].labelled == 0.9
    assert found.n_complete == 450
    left_out = [f.message for f in found.findings if f.code == "UP062"]
    assert [message.split()[0] for message in left_out] == ["one", "none", "path"]
    assert "kept (90.0%)" in message_of(found, "UP063")
    assert message_of(found, "UP064").startswith("1 of 2 values of rare")
    assert "factor 'one' has one value" in found.score(INFOM).says
    assert found.form(GIVEN).match("one").share is None
    assert [shares[1] for shares in found.form(GIVEN).shares] == [None] * 3


def test_nan_among_texts_is_a_missing_label(truth):
    labels = np.where(truth[:, 0] > 0, "right", "left").astype(object)
    labels[:100] = np.nan
    labels[100:150] = " N/A "
    found = upto.factors(truth, {"side": labels}, forms="raw", **QUICK)
    assert found.factors[0].labelled == 0.7
    assert found.factors[0].n_values == 2


def test_dependent_factors_are_remarked_on(truth):
    columns = {"a": truth[:, 0], "b": truth[:, 0] + 0.5 * truth[:, 1], "c": truth[:, 2]}
    found = upto.factors(truth, columns, forms="raw", **QUICK)
    assert message_of(found, "UP068").startswith("a and b have a correlation of 0.")
    independent = upto.factors(truth, truth, forms="raw", **QUICK)
    assert "UP068" not in codes_of(independent)


def test_rows_are_matched_by_ids(truth, rng):
    order = rng.permutation(500)[:400]
    run = Embeddings(rows=truth, name="run", ids=np.arange(500))
    found = upto.factors(run, {"id": order, "x": truth[order, 0]}, ids="id", forms="raw", **QUICK)
    assert found.n_samples == 400
    assert found.form(GIVEN).match("x").correlation == pytest.approx(1)
    assert "UP006" in codes_of(found)


def test_columns_of_the_run_are_factors_by_default(truth):
    run = Embeddings(rows=truth, columns={"x": truth[:, 0], "y": truth[:, 1], "plate": ["a"] * 500})
    found = upto.factors(run, names=["y", "x"], forms="raw", **QUICK)
    assert [factor.name for factor in found.factors] == ["y", "x"]


def test_discrete_codes_are_scored_as_given_without_distances(rng):
    factors = rng.integers(4, size=(300, 2))
    codes = np.array([3, 1, 0, 2])[factors]
    found = upto.factors(codes, factors, discrete_codes=True, **FAST)
    assert [form.name for form in found.forms] == [GIVEN]
    assert found.structure == ()
    assert found.score(INFOM).value.value == pytest.approx(1)
    assert found.form(GIVEN).match("factor 0").correlation is None
    with pytest.raises(InputError, match="discrete codes have no ICA"):
        upto.factors(codes, factors, discrete_codes=True, forms="ica", **FAST)


def test_latents_that_never_change_score_zero_and_are_flagged(truth):
    found = upto.factors(np.ones((500, 2)), truth, **FAST)
    assert [form.name for form in found.forms] == [GIVEN]
    assert found.score(INFOM).value.value == 0
    assert found.form(GIVEN).dead == (0, 1)
    assert {"UP013", "UP065"} <= codes_of(found)


@pytest.mark.slow
def test_ica_that_does_not_converge_says_so(truth, turn, monkeypatch):
    monkeypatch.setattr("upto.questions.factors.forms.MAX_ITERATIONS", 2)
    found = upto.factors(truth @ turn, truth, forms="ica-literal", **QUICK)
    assert found.form("ICA, literal").converged is False
    assert found.verdict.startswith("After ICA, literal (not converged), the latents ")
    both = upto.factors(truth @ turn, truth, forms=["raw", "ica-literal"], **QUICK)
    assert "; after ICA, literal (not converged), they " in both.verdict
    assert message_of(found, "UP004").startswith("ICA, literal of run stopped after")
    assert "ICA, literal (not converged)" in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("max_rows", [200, 5000])
def test_nothing_depends_on_the_order_of_rows(truth, turn, max_rows):
    labels = np.where(truth[:, 2] > 0, "near", "far").astype(object)
    labels[::7] = None
    columns = {"x": truth[:, 0], "step": np.round(3 * truth[:, 1]), "place": labels}
    order = np.random.default_rng(3).permutation(500)
    options = {
        "scores": [INFOM, "linear-probe"],
        "forms": ["raw", "ica"],
        "max_rows": max_rows,
        "half_samples": 10,
    }
    first = upto.factors(truth @ turn, columns, **options)
    moved = {name: np.asarray(values)[order] for name, values in columns.items()}
    second = upto.factors((truth @ turn)[order], moved, **options)
    assert first.n_used == min(max_rows, 500)
    assert ("UP024" in codes_of(first)) == (max_rows < 500)
    assert replace(second, provenance=first.provenance) == first


def test_a_sample_of_rows_with_few_values_has_all_of_them(rng):
    codes = rng.integers(6, size=(20_000, 2))
    found = upto.factors(codes, codes, discrete_codes=True, max_rows=1000, **QUICK)
    assert found.n_used == 1000
    for factor in found.factors:
        assert factor.n_values == 6
        assert factor.entropy == pytest.approx(np.log(6), abs=0.02)


@pytest.mark.parametrize("size", [1e-60, 1e-30, 1e30, 1e60])
@pytest.mark.parametrize("name", ["ica", "ica-active"])
def test_ica_finds_the_same_at_every_size(truth, turn, name, size):
    latents = truth @ turn
    engine = choose_engine(None)
    one, other = (
        bring_into(FORMS[name], each, engine=engine, seed=0) for each in (latents, latents * size)
    )
    assert other.converged
    np.testing.assert_allclose(
        other.latents / other.latents.std(), one.latents / one.latents.std(), atol=1e-3
    )


def test_the_steps_of_restarts_are_counted(turned):
    assert turned.form(ICA).converged is True
    assert turned.form(ICA).n_iterations > 0


def test_an_interrupt_during_ica_ends_everything(truth, monkeypatch):
    from upto.questions.factors import forms

    whole = forms.fit_components

    def interrupted(*args, **options):
        found = whole(*args, **options)
        return replace(found, unmixing=replace(found.unmixing, interrupted=True))

    monkeypatch.setattr(forms, "fit_components", interrupted)
    with pytest.raises(KeyboardInterrupt):
        upto.factors(truth, truth, forms="ica", **QUICK)


def test_latents_are_counted_from_zero_in_every_word(truth):
    latents = np.column_stack([truth, np.ones((500, 2))])
    found = upto.factors(latents, truth, forms="raw", scores="linear-probe", half_samples=0)
    assert found.score("linear-probe").says == "latents 3, 4 are constant."
    assert message_of(found, "UP013") == "2 of 5 latents of run never change: 3, 4."
    alone = upto.factors(truth[:, :1], truth[:, :1], forms="raw", scores="mig")
    assert alone.score("mig").says == "there is only one latent, so no second one to compare with."
    assert "code" not in found.score("linear-probe").definition


@pytest.mark.slow
def test_each_form_says_up_to_what_it_identifies_the_factors(turned, truth, rng):
    for form, opening, group in (
        (GIVEN, "Without ICA", "a rigid motion"),
        (ICA, "After ICA", "a signed permutation of the coordinates"),
    ):
        expected = f"{opening}, the latents identify the 3 factors up to {group} (held-out error"
        assert turned.truth(form).verdict.startswith(expected)
    noise = upto.factors(rng.normal(size=(500, 2)), truth[:, :1], forms=["raw", "ica"], **QUICK)
    assert noise.verdict.startswith(
        "Without ICA, the latents are no closer to the factor than chance; after ICA, they are no "
        "closer to it than chance."
    )


def test_labels_that_no_row_has_together_leave_no_errors_to_the_truth(truth):
    halves = truth[:, :2].copy()
    halves[:250, 0] = halves[250:, 1] = np.nan
    found = upto.factors(truth, halves, forms="raw", **QUICK)
    assert found.structure == ()
    messages = [finding.message for finding in found.findings if finding.code == "UP063"]
    assert any(message.startswith("too few rows have labels of all of") for message in messages)


def test_the_result_survives_json_and_renders(turned):
    assert FactorsResult.from_json(turned.to_json()) == turned
    text = str(turned)
    for words in (
        "without ICA",
        "ICA, active",
        "Smallest worst error",
        "signed-permutation ",
        "Factors in each latent, ICA",
    ):
        assert words in text
    assert turned.brief_tables()[0].columns[2].name == "ICA"
    first = turned.data_table().records()[0]
    assert (first["form"], first["score"]) == (GIVEN, INFOM)
    assert turned.verdict.startswith(
        "Without ICA, the latents identify the 3 factors up to a rigid"
    )
    assert "after ICA, they identify them up to a signed permutation" in turned.verdict
    assert len(turned.data_table().rows) == 4 * (2 + 7)


def test_too_few_permutations_tell_nothing_of_chance(turned):
    score = turned.score(INFOM)
    assert score.is_beyond_chance is True
    assert replace(score, p_value=0.2, limit=None).is_beyond_chance is None
    assert replace(score, p_value=0.2, limit=0.5).is_beyond_chance is False
    assert replace(score, p_value=None).is_beyond_chance is None


def test_what_is_not_there_is_said(turned):
    for ask in (
        lambda: turned.form("PCA"),
        lambda: turned.score("sap"),
        lambda: turned.truth("PCA"),
        lambda: turned.truth().fit("linear"),
        lambda: turned.form(ICA).match("hue"),
    ):
        with pytest.raises(KeyError, match=r"has no|there is no"):
            ask()


@pytest.mark.parametrize(
    ("factors", "options", "words"),
    [
        (np.zeros((400, 1)), {}, "run has 500 rows but factors has 400"),
        (None, {}, "run has no metadata columns"),
        (np.zeros((500, 1, 1)), {}, r"factors have shape \(500, 1, 1\)"),
        ({}, {}, "there are no factors"),
        ({"x": np.zeros(500), "y": np.zeros(499)}, {}, "factors have 499 to 500 rows"),
        ({"x": np.zeros(500)}, {"names": ["y"]}, "has no factor 'y': it has x"),
        ({"x": np.zeros(500)}, {"discrete": ["y"]}, "unknown factor 'y': choose from x"),
        ({"x": np.zeros(500)}, {"discrete": "x", "continuous": "x"}, "declared as continuous and"),
        ({"x": ["a"] * 500}, {"continuous": "x"}, "has labels such as 'a'"),
        ({"x": ["a"] * 500}, {"ordered": "x"}, "declared as ordered but has labels such as 'a'"),
        ({"x": np.zeros(500)}, {"unordered": "x", "ordered": "x"}, "unordered and ordered: choose"),
        (np.zeros(500), {"continuous": True}, "continuous is True: pass a list of names"),
        (np.zeros(500), {"discrete": np.array([True])}, ": pass a list of names of factors"),
        (5, {}, r"factors is an int: pass a data frame, a mapping or an array"),
        ({"x": np.r_[np.inf, np.zeros(499)]}, {}, "'x' has 1 infinite values"),
        ({"x": np.r_[1e300, np.zeros(499)]}, {}, r"'x' has values of size 1e\+300"),
        ({"x": np.r_[1e-310, np.zeros(499)]}, {}, "'x' has values of size 1e-310"),
        ({"x": np.zeros((500, 2))}, {}, r"factors\['x'\] has shape \(500, 2\)"),
        ({"x": np.zeros(500)}, {"ids": "id"}, "there is no id column 'id'"),
        (np.zeros(500), {"scores": "beauty"}, "there is no score 'beauty'"),
        (np.zeros(500), {"forms": "pca"}, "unknown form 'pca'"),
        (np.zeros(500), {"forms": []}, "forms is empty"),
        (np.zeros(500), {"forms": 3}, "forms is 3, not a list of names: choose from raw"),
        (np.zeros(500), {"scores": 3}, "scores is 3, but it must list names of scores"),
        (np.zeros((500, 2)), {"names": [0]}, r"names is \[0\], not a list of names: choose"),
        (np.zeros(500), {"refits": 5}, "needs at least 19"),
        (np.zeros(500), {"half_samples": 3}, "needs at least 10"),
        (np.zeros(500), {"max_rows": 2}, "at least 4 rows"),
        (np.zeros(500), {"held_out": 1.5}, "held_out is 1.5"),
    ],
)  # fmt: skip
def test_what_cannot_be_scored_is_refused(truth, factors, options, words):
    with pytest.raises(InputError, match=words):
        upto.factors(truth, factors, **({"half_samples": 0} | options))


def test_rows_that_are_no_numbers_are_refused(truth):
    broken = truth.copy()
    broken[0, 0] = np.nan
    with pytest.raises(InputError, match="1 values that are NaN"):
        upto.factors(broken, truth)
    with pytest.raises(InputError, match="largest magnitude of run is"):
        upto.factors(truth * 1e80, truth)
    with pytest.raises(InputError, match="has 3 rows"):
        upto.factors(truth[:3], truth[:3])


def test_equal_calls_give_equal_results(truth):
    first, second = (upto.factors(truth, truth, forms="ica", **QUICK) for _ in range(2))
    assert first.scores == second.scores
    assert first.structure == second.structure
    assert first.forms == second.forms
