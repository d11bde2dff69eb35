"""A researcher has several trainings as tensors in memory, in a script."""

import numpy as np
import pytest

import upto

torch = pytest.importorskip("torch")


def test_tensors_of_a_training_loop_are_compared_as_they_are(rotated):
    first, second = (torch.tensor(rows, requires_grad=True) for rows in rotated)
    labels = torch.arange(600) % 3
    result = upto.compare(first, second, labels=labels, ica=False)
    assert result.up_to == "rigid"
    assert result.rigid.error.low <= result.rigid.error.value <= result.rigid.error.high
    arrays = upto.compare(*rotated, labels=labels.numpy(), ica=False)
    assert result.rigid.error.value == pytest.approx(arrays.rigid.error.value, rel=1e-9)


def test_a_result_is_kept_and_read_again_elsewhere(rotated, tmp_path):
    result = upto.compare(*map(torch.tensor, rotated), ica=False)
    (tmp_path / "result.json").write_text(result.to_json())
    again = upto.CompareResult.from_json((tmp_path / "result.json").read_text())
    assert again == result
    upto.Report([again]).write(tmp_path / "report.html")
    assert "rigid" in (tmp_path / "report.html").read_text()


def test_the_map_takes_one_training_into_the_space_of_another(rotated):
    first, second = map(torch.tensor, rotated)
    aligner = upto.compare(first, second, ica=False).aligner("rigid")
    assert aligner.score(first, second) > 0.99
    np.testing.assert_allclose(aligner.inverse_transform(aligner.transform(first)), first)


def test_half_precision_and_frames_of_a_run_are_the_same_run(rotated):
    pandas = pytest.importorskip("pandas")
    first, second = rotated
    exact = upto.compare(first, second, ica=False).rigid.error.value
    half = upto.compare(torch.tensor(first).bfloat16(), pandas.DataFrame(second), ica=False)
    assert half.up_to == "rigid"
    assert half.rigid.error.value == pytest.approx(exact, rel=0.05)
