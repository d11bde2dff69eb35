"""Importing costs nothing until something is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

ENGINES = ("torch", "dask", "distributed")
HEAVY = ("sklearn", "matplotlib", "scipy.stats", "pandas", "pyarrow", "h5py", "jinja2", *ENGINES)
LIBRARY = ("sklearn", "matplotlib", "pandas", "pyarrow", "h5py", "zarr", "jinja2", *ENGINES)
LIGHT = {
    "import upto; upto.Group; upto.InputError": HEAVY,
    "from upto.cli.main import main": (*HEAVY, "numpy", "scipy"),
    "from upto.cli.main import main; main(['--help'], standalone_mode=False)": ("numpy", "scipy"),
    "from upto.question import questions; questions()": (*HEAVY, "numpy", "scipy"),
    "import upto.core": (*HEAVY, "scipy"),
    "import upto.questions.compare.question, upto.alignment, upto.ica, upto.measures": LIBRARY,
    "import upto.corrections": LIBRARY,
    "import upto.files, upto.report": (*LIBRARY, "scipy.stats"),
    "import upto; upto.TorchEngine; upto.DaskEngine": ENGINES,
    "import upto.engines.cluster_calls, upto.engines.workers, upto.engines.device_rows": ENGINES,
}


def loaded(statement: str, modules: tuple[str, ...]) -> list[str]:
    """Return which of some modules a fresh interpreter has loaded after a statement."""
    code = f"{statement}\nimport sys\nprint(*[m for m in {modules!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize(("statement", "modules"), LIGHT.items(), ids=LIGHT)
def test_importing_loads_nothing_heavy(statement, modules):
    assert loaded(statement, modules) == []


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("import matplotlib", "matplotlib"),
        ("import sys; sys.modules['scipy.stats'] = sys", "scipy.stats"),
    ],
)
def test_a_heavy_import_is_noticed(statement, found):
    assert found in loaded(statement, HEAVY)


def test_importing_prints_nothing_and_warns_of_nothing():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import upto; upto.compare"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")
