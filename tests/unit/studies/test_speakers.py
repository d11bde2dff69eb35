"""Embeddings of speech are checked, and the study runs on rows of their layout."""

from __future__ import annotations

import numpy as np
import pytest

from upto.core import InputError
from upto_studies.run import run_study
from upto_studies.speakers import FILE, draw_speech, read_speech


def write(folder, n_speakers=6):
    digit = np.tile(np.arange(10), n_speakers).astype(np.int8)
    speaker = np.repeat([f"s{n}" for n in range(n_speakers)], 10)
    np.savez(folder / FILE, X=np.ones((len(digit), 4), np.float16), digit=digit, speaker=speaker)


def test_embeddings_of_ones_own_are_read_only_if_asked(tmp_path):
    write(tmp_path)
    with pytest.raises(InputError, match=r"another file or damaged: .* --set check=false"):
        read_speech(tmp_path)
    own = read_speech(tmp_path, check=False)
    assert own.rows.dtype == np.float64
    assert own.columns["digit"][:3].tolist() == ["0", "1", "2"]


def test_other_numbers_of_digits_or_speakers_are_refused(tmp_path):
    write(tmp_path, n_speakers=2)
    with pytest.raises(InputError, match="10 digits of 2 speakers, not 10 of 6"):
        read_speech(tmp_path, check=False)


def test_drawn_speakers_say_every_digit():
    run = draw_speech(n_features=8, seed=0)
    for speaker in np.unique(run.columns["speaker"]):
        own = run.columns["digit"][run.columns["speaker"] == speaker]
        assert np.unique(own).tolist() == [str(digit) for digit in range(10)]
    assert len(np.unique(run.columns["speaker"])) == 6


def test_a_digit_has_one_character():
    with pytest.raises(InputError, match="the setting digits"):
        run_study("speakers", size="tiny", settings={"digits": ["12"]})


@pytest.mark.slow
def test_the_tiny_study_bears_out_what_it_claims():
    result = run_study("speakers", size="tiny")
    assert result.missed == ()
    assert sum(each.fixed is not None for each in result.quantities) == 3
