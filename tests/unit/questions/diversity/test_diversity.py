"""The check of a head as a result: verdict, table, plot, file."""

import json
import struct
import warnings

import numpy as np
import pytest

import upto
from upto.core import InputError
from upto.questions.diversity.result import DiversityResult
from upto_studies.trials.heads import as_bfloat16


def test_a_diverse_head_says_so_with_its_numbers(rng):
    head = rng.normal(size=(200, 8))
    found = upto.diversity(head)
    assert found.holds
    assert "200 classes have 8 of the 8 independent differences needed" in found.verdict
    assert "condition number 1." in found.verdict
    covariance = np.cov(head.T, ddof=0)
    np.testing.assert_allclose(
        found.amplification, 1 / np.sqrt(np.linalg.eigvalsh(covariance)[0]), rtol=1e-10
    )
    differences = head[list(found.chosen)] - head[found.base]
    np.testing.assert_allclose(np.linalg.cond(differences), found.differences_condition)


def test_few_classes_leave_directions_open(rng):
    found = upto.diversity(rng.normal(size=(10, 64)))
    assert not found.holds
    assert "only 9 of its 64 directions are" in found.verdict
    assert found.verdict.endswith("If the rows are inputs, transpose the head.")
    assert (found.condition, found.amplification, found.base, found.chosen) == (
        None,
        None,
        None,
        (),
    )


def test_a_margin_that_rounding_can_make_is_no_margin(rng):
    head = rng.normal(size=(500, 4))
    head[:, 3] = head[:, 0] - head[:, 1]
    found = upto.diversity(head.astype(np.float16))
    assert found.holds
    assert found.ill_conditioned
    assert "barely identify" in found.verdict


def test_classes_that_never_occur_are_counted_apart(rng):
    counts = np.repeat([0, 3], 20)
    found = upto.diversity(rng.normal(size=(40, 4)), frequencies=counts)
    assert (found.n_classes, found.n_left_out) == (20, 20)


def test_a_tall_head_is_not_called_transposed(rng):
    head = rng.normal(size=(40, 4))
    head[:, 3] = head[:, 0]
    assert "transpose" not in upto.diversity(head).verdict
    few = upto.diversity(rng.normal(size=(40, 8)), frequencies=np.repeat([0, 3], [37, 3]))
    assert not few.holds
    assert "transpose" not in few.verdict


def test_the_result_survives_a_file_and_is_drawn_as_data(rng):
    for rows in (5, 50):
        found = upto.diversity(rng.normal(size=(rows, 6)))
        assert DiversityResult.from_json(found.to_json()) == found
        (panel,) = found.panels()
        (marks,) = panel.marks
        assert len(marks.x) == len(marks.y) == min(rows - 1, 6)
        assert panel.y_log


def test_a_manifest_of_several_heads_is_refused(tmp_path, rng):
    np.save(tmp_path / "a.npy", rng.normal(size=(5, 2)))
    lines = '[[run]]\npath = "a.npy"\nname = "{}"\n'
    (tmp_path / "heads.toml").write_text(lines.format("one") + lines.format("two"))
    with pytest.raises(upto.InputError, match="diversity takes one run, but the manifest lists 2"):
        upto.diversity(tmp_path / "heads.toml")


@pytest.fixture
def low_rank(rng):
    """A head of rank 12 and width 16."""
    return rng.normal(size=(100, 12)) @ rng.normal(size=(12, 16))


def save_bfloat16(path, values):
    """Write a safetensors file with one bfloat16 tensor, as torch would."""
    bits = (as_bfloat16(values).view(np.uint32) >> 16).astype("<u2").tobytes()
    entry = {"dtype": "BF16", "shape": list(values.shape), "data_offsets": [0, len(bits)]}
    header = json.dumps({"head": entry}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + bits)


def test_a_bfloat16_head_of_low_rank_is_not_called_diverse(tmp_path, low_rank, rng):
    pytest.importorskip("safetensors")
    save_bfloat16(tmp_path / "low.safetensors", low_rank)
    found = upto.diversity(tmp_path / "low.safetensors")
    assert found.stored_as == "bfloat16"
    assert found.ill_conditioned
    assert "barely identify" in found.verdict
    assert "rounding to bfloat16" in found.verdict
    save_bfloat16(tmp_path / "full.safetensors", rng.normal(size=(100, 16)))
    assert not upto.diversity(tmp_path / "full.safetensors").ill_conditioned


def test_half_precision_saved_as_single_is_seen(low_rank, rng):
    wide = low_rank.astype(np.float16).astype(np.float32)
    assert upto.diversity(wide).ill_conditioned
    # The same numbers in twice the precision have the rank they should.
    assert upto.diversity(low_rank).rank == 12


def test_a_head_written_with_few_decimals_is_seen(tmp_path, low_rank, rng):
    np.savetxt(tmp_path / "low.csv", low_rank, fmt="%.4f", delimiter=",")
    found = upto.diversity(tmp_path / "low.csv")
    assert found.ill_conditioned
    assert found.stored_as == "multiples of 0.0001"
    np.savetxt(tmp_path / "full.csv", rng.normal(size=(100, 16)), fmt="%.4f", delimiter=",")
    assert not upto.diversity(tmp_path / "full.csv").ill_conditioned


def test_a_direction_that_only_a_rare_class_shows_is_barely_one(rng):
    head = rng.normal(size=(40, 4))
    head[1:, 3] = head[1:, 0]
    counts = np.ones(40)
    assert not upto.diversity(head, frequencies=counts).ill_conditioned
    counts[0] = 1e-20
    assert upto.diversity(head, frequencies=counts).ill_conditioned


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_heads_whose_squares_are_no_numbers_are_refused(rng, scale):
    with pytest.raises(upto.InputError, match="divide all by one number"):
        upto.diversity(scale * rng.normal(size=(40, 4)))


def as_int4(head, group):
    blocks = head.reshape(len(head), -1, group)
    scale = np.abs(blocks).max(axis=2, keepdims=True) / 7
    return (np.rint(blocks / scale) * scale).reshape(head.shape).astype(np.float32)


def turned(head, rng):
    return head @ np.linalg.qr(rng.normal(size=(16, 16)))[0]


@pytest.mark.parametrize(
    "treat",
    [
        lambda head, _: head - head.mean(axis=0),
        turned,
        lambda head, _: np.round(head, 3) + np.pi,
        lambda head, _: head + as_bfloat16(0.3 * head).astype(float),
    ],
    ids=["centred", "turned", "shifted", "added"],
)
def test_rounding_that_no_bits_show_is_seen_in_the_spectrum(rng, treat):
    flat = (rng.normal(size=(100, 12)) @ rng.normal(size=(12, 16))).astype(np.float16).astype(float)
    found = upto.diversity(treat(flat, rng))
    assert found.ill_conditioned
    assert "barely identify" in found.verdict


@pytest.mark.parametrize("group", [64, 32])
def test_a_head_of_four_bits_is_seen_by_its_steps_and_turned_in_the_spectrum(rng, group):
    flat = rng.normal(size=(500, 48)) @ rng.normal(size=(48, 64))
    found = upto.diversity(as_int4(flat, group))
    assert found.ill_conditioned
    assert "rounding to multiples of a step" in found.verdict
    found = upto.diversity(as_int4(flat, group) @ np.linalg.qr(rng.normal(size=(64, 64)))[0])
    assert found.ill_conditioned
    assert "the smallest 16 of 64 singular values lie apart" in found.verdict


@pytest.mark.slow
@pytest.mark.parametrize("decay", [0.0, 0.5, 1.0, 2.0])
def test_heads_of_full_rank_are_not_called_rounded(decay):
    rng = np.random.default_rng(8)
    for n_classes, width in ((17, 16), (40, 16), (200, 16), (300, 64)):
        scales = np.arange(1.0, width + 1) ** -decay
        scales[:3] *= 30.0
        for _ in range(5):
            head = rng.normal(size=(n_classes, width)) * scales
            assert not upto.diversity(head).ill_conditioned


def test_a_head_with_a_missing_value_is_refused_without_a_warning(rng):
    head = rng.normal(size=(100, 4))
    head[3, 2] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="not finite"):
            upto.diversity(head)
