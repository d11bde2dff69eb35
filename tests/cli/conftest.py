import numpy as np
import pytest
from click.testing import CliRunner

from upto.cli.main import main


@pytest.fixture
def upto(tmp_path, monkeypatch):
    """Run the command in an empty folder; returns the click result."""
    monkeypatch.chdir(tmp_path)

    def run(*args, **kwargs):
        return CliRunner().invoke(main, [str(arg) for arg in args], **kwargs)

    return run


@pytest.fixture
def pair(tmp_path, rng):
    """Write two runs related by a rotation, and return their paths."""
    first = rng.laplace(size=(300, 4))
    rotation, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    second = first @ rotation + 0.01 * rng.normal(size=first.shape)
    np.save(tmp_path / "first.npy", first)
    np.save(tmp_path / "second.npy", second)
    return tmp_path / "first.npy", tmp_path / "second.npy"
