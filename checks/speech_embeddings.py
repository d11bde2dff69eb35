"""Compute the embeddings of the study `speakers` from recordings of spoken digits.

Needs ``pip install silero-vad==6.2.3`` (MIT) and a clone of
github.com/Jakobovski/free-spoken-digit-dataset at 26eb9aa (CC BY-SA 4.0)::

    python -m checks.speech_embeddings free-spoken-digit-dataset/recordings OUT.npz

Other versions of torch round differently: the study takes such a file with ``--set check=false``.
"""

import sys
import wave
from pathlib import Path

import numpy as np

RATE = 8000
CHUNK = 256


def embed(model, path):
    """Return the hidden state of the LSTM, averaged over either half of a recording."""
    import torch

    with wave.open(str(path)) as recording:
        if recording.getframerate() != RATE:
            message = f"{path} has {recording.getframerate()} samples a second, not {RATE}."
            raise ValueError(message)
        sound = np.frombuffer(recording.readframes(recording.getnframes()), np.int16) / 32768
    model.reset_states()
    states = []
    for start in range(0, len(sound) - CHUNK, CHUNK):
        chunk = torch.tensor(sound[start : start + CHUNK], dtype=torch.float32)
        model(chunk[None], RATE)
        states.append(model._state[0, 0].numpy().copy())
    half = (len(states) + 1) // 2
    return np.concatenate([np.mean(states[:half], axis=0), np.mean(states[half:], axis=0)])


def main(recordings, out):
    """Embed all recordings, in the order of their names."""
    import torch
    from silero_vad import load_silero_vad

    paths = sorted(Path(recordings).glob("*.wav"))
    digits, speakers, _ = zip(*(path.stem.split("_") for path in paths), strict=True)
    model = load_silero_vad()
    with torch.no_grad():
        rows = [embed(model, path) for path in paths]
    np.savez_compressed(
        out,
        X=np.array(rows, dtype=np.float16),
        digit=np.array(digits, dtype=np.int8),
        speaker=np.array(speakers),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
