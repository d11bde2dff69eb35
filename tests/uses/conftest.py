"""Six kinds of work, each done as its user would, from what they hold to what they need."""

import numpy as np
import pytest
from click.testing import CliRunner

from upto.cli.main import main


@pytest.fixture
def upto_command(tmp_path, monkeypatch):
    """Run the command in an empty folder and expect it to succeed; returns its standard output."""
    monkeypatch.chdir(tmp_path)

    def run(*args):
        done = CliRunner().invoke(main, [str(arg) for arg in args])
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


@pytest.fixture
def rotated(rng):
    """Two runs of 600 samples of which the second is a rotation of the first, with noise."""
    first = rng.laplace(size=(600, 5))
    rotation, _ = np.linalg.qr(rng.normal(size=(5, 5)))
    return first, first @ rotation + 0.05 * rng.normal(size=first.shape)
