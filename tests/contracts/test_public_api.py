"""What is public: listed, documented, and unlike any module's name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import upto

PUBLIC = [
    "AlignResult",
    "Aligner",
    "BatchesResult",
    "CompareResult",
    "ConsensusResult",
    "DaskEngine",
    "DiversityResult",
    "Embeddings",
    "Estimate",
    "FactorsResult",
    "Finding",
    "Group",
    "ICA",
    "ImageSet",
    "InputError",
    "InspectResult",
    "KernelAligner",
    "LayersResult",
    "LipschitzResult",
    "MixtureResult",
    "NetworkAligner",
    "Promise",
    "Report",
    "RidgeAligner",
    "SimilarityResult",
    "StudyResult",
    "Table",
    "ThreadsEngine",
    "TorchEngine",
    "UnmixResult",
    "UptoError",
    "Whitener",
    "align",
    "apply_transform",
    "as_embeddings",
    "diversity",
    "compare",
    "layers",
    "consensus",
    "ica_from_anndata",
    "inspect",
    "lipschitz",
    "load_model",
    "mixture",
    "load_transform",
    "read_image_set",
    "read_manifest",
    "read_run",
    "read_runs",
    "record_activations",
    "save_transform",
    "batches",
    "factors",
    "similarity",
    "unmix",
    "write_to_anndata",
]
# `__main__` is run, not imported.
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(upto.__path__, "upto.")
    if module.name != "upto.__main__"
)
PACKAGES = [
    "upto",
    *(module.name for module in pkgutil.iter_modules(upto.__path__, "upto.") if module.ispkg),
]
NAMES = [
    (package, name)
    for package in PACKAGES
    for name in getattr(importlib.import_module(package), "__all__", ())
]


def test_the_public_names_are_these():
    """Adding one is a decision: change this list together with the changelog."""
    assert sorted(upto.__all__) == sorted(PUBLIC)


def test_every_package_was_looked_at():
    assert len(PACKAGES) >= 9
    assert len(NAMES) > 60


@pytest.mark.parametrize("package", PACKAGES)
def test_the_list_of_names_is_sorted_and_without_repeats(package):
    names = getattr(importlib.import_module(package), "__all__", [])
    assert len(set(names)) == len(names)


def test_every_listed_name_exists_and_is_documented():
    for package, name in NAMES:
        thing = getattr(importlib.import_module(package), name)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            assert inspect.getdoc(thing), f"{package}.{name} has no docstring"
            # A dataclass without a docstring is given its signature for one.
            assert not (thing.__doc__ or "").startswith(f"{name}("), f"{package}.{name}"
            assert thing.__module__.startswith("upto"), f"{package}.{name}"


def test_every_module_says_what_it_is_for():
    silent = [name for name in MODULES if not inspect.getdoc(importlib.import_module(name))]
    assert silent == []


def shadowed(package: str, names: list[str], modules: list[str]) -> set[str]:
    """Return the public names that importing a submodule of their package would rebind."""
    inside = {name.removeprefix(f"{package}.") for name in modules if name.startswith(package)}
    return set(names) & inside


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_name_is_the_name_of_a_module_beside_it(package):
    names = [name for home, name in NAMES if home == package]
    assert shadowed(package, names, MODULES) == set()


def test_a_name_shared_with_a_module_is_noticed():
    assert shadowed("upto", ["files", "compare"], ["upto.files", "upto.core"]) == {"files"}
    assert shadowed("upto.a", ["b"], ["upto.a.b", "upto.b"]) == {"b"}


def test_a_name_that_does_not_exist_says_so():
    with pytest.raises(AttributeError, match="module 'upto' has no attribute 'nothing'"):
        _ = upto.nothing


def test_the_names_are_listed_and_the_version_is_known():
    assert set(PUBLIC) <= set(dir(upto))
    assert upto.__version__.count(".") == 2


@pytest.mark.slow
def test_every_room_is_there_after_importing_the_package():
    rooms = {name.removeprefix("upto.") for name in PACKAGES[1:] if name not in ("upto.cli",)}
    program = f"import upto; print([getattr(upto, name).__name__ for name in {sorted(rooms)}])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().strip() == str([f"upto.{name}" for name in sorted(rooms)])
