"""In a base install, what is missing is said in one sentence before anything is read or done."""

import sys

import pytest

import upto as library
from upto.core import MissingExtraError

BLOCKED = (
    *("pyarrow", "h5py", "zarr", "matplotlib", "PIL", "lightgbm", "torch", "dask", "distributed"),
    *("transformers", "huggingface_hub", "timm", "scanpy", "harmonypy", "anndata", "hypothesis"),
)


def is_blocked(name):
    return name.partition(".")[0] in BLOCKED


class WithoutExtras:
    """A finder that does not find the packages of extras."""

    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        return None if is_blocked(name) else self.finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.finder, name)


@pytest.fixture
def base(tmp_path, monkeypatch, rng):
    """An install without extras, in a folder of tables whose rows are never read."""
    # This module has imported matplotlib, if an earlier test has drawn a figure.
    drawn = {"upto.report.notebook_figure"} & set(sys.modules)
    for name in [*drawn, *(name for name in sys.modules if is_blocked(name))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [WithoutExtras(each) for each in sys.meta_path])
    table = "plate,gene," + ",".join(f"feature_{i}" for i in range(4)) + "\n"
    rows = rng.normal(size=(60, 4))
    table += "\n".join(
        f"p{i % 4},g{i % 3},{','.join(map(str, row))}" for i, row in enumerate(rows.tolist())
    )
    for name in ("a.csv", "b.csv", "factors.csv"):
        (tmp_path / name).write_text(table)
    for name in ("x.parquet", "x.h5ad", "x.h5", "decoder.pt2"):
        (tmp_path / name).write_bytes(b"PAR1")
    (tmp_path / "x.zarr").mkdir()
    (tmp_path / "x.zarr" / "zarr.json").write_text("{}")
    (tmp_path / "runs.toml").write_text('[[run]]\npath = "a.csv"\n[[run]]\npath = "x.parquet"\n')
    library.save_transform(tmp_path / "t.safetensors", library.Whitener().fit(rows))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def nothing_may_be_read(monkeypatch):
    def read(*_args, **_options):
        message = "a table was read although a package is missing"
        raise AssertionError(message)

    monkeypatch.setattr("upto.files.delimited.read_text", read)
    monkeypatch.setattr("upto.files.delimited.text_columns", read)


BATCHES = "batches a.csv --batch plate --label gene"
COMMANDS = {
    "compare a.csv x.parquet": "tables",
    "compare runs.toml": "tables",
    "compare a.csv b.csv --labels x.parquet::gene": "tables",
    "compare a.csv b.csv --engine torch": "torch",
    "compare a.csv b.csv --engine dask": "dask",
    "similarity a.csv x.h5ad::X_pca": "anndata",
    "inspect x.h5": "hdf5",
    "layers a.csv x.zarr": "zarr",
    "diversity x.h5::head": "hdf5",
    "consensus a.csv b.csv -o out.parquet": "tables",
    "unmix a.csv -o out.h5ad": "anndata",
    "unmix a.csv -o out.zarr": "zarr",
    "unmix a.csv -o out.hdf5": "hdf5",
    "unmix a.csv --apply t.safetensors -o out.parquet": "tables",
    "factors a.csv --factors x.parquet": "tables",
    "factors a.csv --factors factors.csv --scores mig,dci@lightgbm": "boost",
    "factors a.csv --factors factors.csv --scores all": "boost",
    "lipschitz a.csv --decoder decoder.pt2": "torch",
    BATCHES: "boost",
    f"{BATCHES} --classifier linear --conditions pca,batch-scaled+harmony": "harmony",
    f"{BATCHES} --keep biology -o out.parquet": "tables",
    "study run leaky-autoencoders --size tiny": "torch",
    "study run plate-holdout-synthetic --size tiny": "boost",
}


@pytest.mark.usefixtures("nothing_may_be_read")
@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_says_what_is_missing_first_and_writes_nothing(upto, base, line):
    before = sorted(base.rglob("*"))
    result = upto(*line.split())
    assert result.exit_code == 3, result.output
    (sentence,) = result.stderr.splitlines()
    extra = COMMANDS[line]
    is_harmony = extra == "harmony" and sys.version_info < (3, 12)
    assert ("harmonypy" if is_harmony else f"pip install 'upto[{extra}]'") in sentence
    assert result.stdout == ""
    assert sorted(base.rglob("*")) == before


CALLS = {
    "compare": (lambda: library.compare("a.csv", "x.parquet"), "tables"),
    "compare by torch": (lambda: library.compare("a.csv", "b.csv", engine="torch"), "torch"),
    "unmix": (lambda: library.unmix("a.csv", output="out.parquet"), "tables"),
    "consensus": (lambda: library.consensus("a.csv", "b.csv", output="out.h5ad"), "anndata"),
    "apply": (
        lambda: library.apply_transform("t.safetensors", "a.csv", output="out.zarr"),
        "zarr",
    ),
    "layers": (lambda: library.layers("a.csv", "x.h5"), "hdf5"),
    "factors": (lambda: library.factors("a.csv", "x.parquet"), "tables"),
    "scores": (lambda: library.factors("a.csv", "factors.csv", scores="dci@lightgbm"), "boost"),
    "decoder": (lambda: library.lipschitz("a.csv", decoder=abs), "torch"),
    "batches": (lambda: library.batches("a.csv", batch="plate", label="gene"), "boost"),
    "record": (lambda: library.record_activations(None, [], "folder"), "torch"),
    "load": (lambda: library.load_model("model"), "hub"),
    "strategies": (lambda: library.testing.embeddings_strategy(), "testing"),
}


@pytest.mark.usefixtures("nothing_may_be_read")
@pytest.mark.parametrize("name", CALLS)
def test_a_function_says_what_is_missing_first_and_writes_nothing(base, name):
    before = sorted(base.rglob("*"))
    call, extra = CALLS[name]
    with pytest.raises(MissingExtraError, match=rf"pip install 'upto\[{extra}\]'"):
        call()
    assert sorted(base.rglob("*")) == before


def test_the_page_is_part_of_the_base(upto, base):
    result = upto("compare", "a.csv", "b.csv", "--report", "page.html", "--no-progress")
    assert result.exit_code == 0, result.output
    assert "<html" in (base / "page.html").read_text(encoding="utf-8")


def test_a_result_is_shown_even_if_its_page_fails(upto, pair, monkeypatch):
    monkeypatch.setattr("upto.report.page.Report.html", lambda _: 1 / 0)
    result = upto("compare", *pair, "--report", "page.html", "--no-progress")
    assert result.exit_code == 70
    assert "The same representation up to a rigid motion" in " ".join(result.stdout.split())


def test_a_study_says_first_that_there_will_be_no_figure(upto, base):
    result = upto("study", "run", "misspecified-regression", "--size", "tiny", "--no-progress")
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("no figure will be written: the figure of a study needs")
    written = sorted(path.name for path in (base / "misspecified-regression-tiny").iterdir())
    assert written == ["report.html", "result.json"]
