"""Compute golden values for batch corrections with the authors' own code.

``python checks/oracles_corrections.py EFAAR`` writes ``tests/golden/corrections.json``. It needs
pycytominer 1.7 or later and scanpy; `EFAAR` is the file ``efaar_benchmarking/efaar.py`` of
recursionpharma/EFAAR_benchmarking at commit 2248f40. The data follow from the seed in the file.
"""

from __future__ import annotations

import json
import sys
import types
import warnings
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Float = NDArray[np.float64]

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "corrections.json"
SEED = 7
WIDTH, PLATES, WELLS, CONTROLS = 5, 4, 18, 9
SHOWN = 12
"""Rows that are written to the file, spread over all plates."""


def screen() -> tuple[Float, NDArray[np.str_], NDArray[np.bool_]]:
    """Return rows of plates that differ in shift, scale and mixture, their plates and controls."""
    rng = np.random.default_rng(SEED)
    plates = np.repeat([f"plate {number}" for number in range(PLATES)], WELLS)
    controls = np.tile(np.arange(WELLS) < CONTROLS, PLATES)
    rows = rng.laplace(size=(PLATES * WELLS, WIDTH)) @ rng.normal(size=(WIDTH, WIDTH))
    rows[~controls] += rng.normal(size=WIDTH)
    for place, plate in enumerate(np.unique(plates)):
        mixture = np.eye(WIDTH) + 0.2 * rng.normal(size=(WIDTH, WIDTH))
        rows[plates == plate] = rows[plates == plate] @ mixture * (1 + place) + 3 * rng.normal(
            size=WIDTH
        )
    return rows, plates, controls


def shown(rows: Any) -> list[list[float]]:
    """Return every few rows as a list."""
    return np.asarray(rows, dtype=float)[:: PLATES * WELLS // SHOWN].tolist()


def _efaar(path: str) -> Any:
    # The file imports a large package for one function that is not used here.
    for name in ("scvi", "scvi.model"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["scvi.model"].SCVI = None  # type: ignore[attr-defined]
    module = types.ModuleType("efaar")
    exec(compile(Path(path).read_text("utf-8"), path, "exec"), module.__dict__)
    return module


def _combat(rows: Float, plates: Any, *, settled: bool) -> Float:
    import anndata
    import pandas as pd
    import scanpy as sc
    from scanpy.preprocessing import _combat as source

    usual = source._it_sol.__kwdefaults__["conv"]
    source._it_sol.__kwdefaults__["conv"] = 1e-13 if settled else usual
    index = [str(place) for place in range(len(rows))]
    table = anndata.AnnData(
        rows.copy(), obs=pd.DataFrame({"plate": pd.Categorical(plates)}, index=index)
    )
    found = sc.pp.combat(table, "plate", inplace=False)
    source._it_sol.__kwdefaults__["conv"] = usual
    return np.asarray(found)


def main() -> None:
    import pandas as pd
    from pycytominer.operations import RobustMAD, Spherize

    warnings.simplefilter("ignore")
    efaar = _efaar(sys.argv[1])
    rows, plates, controls = screen()
    frame = pd.DataFrame(rows)
    about = pd.DataFrame({"plate": plates, "label": np.where(controls, "none", "some")})
    robust = rows.copy()
    for plate in np.unique(plates):
        own = plates == plate
        robust[own] = RobustMAD().fit(frame[own & controls]).transform(frame[own])
    given = (rows, about, "label", "none")
    cases = {"robust-mad": robust, "tvn": efaar.tvn_on_controls(*given, "plate")}
    cases["centre-scale"] = efaar.centerscale_on_controls(*given, "plate")
    cases["tvn-without-coral"] = efaar.tvn_on_controls(*given)
    for method in ("ZCA", "PCA"):
        for name, chosen in (("", controls), ("-few", controls & (np.arange(len(rows)) < 4))):
            fitted = Spherize(epsilon=0.0, method=method).fit(frame[chosen])
            cases[f"spherize-{method.lower()}{name}"] = fitted.transform(frame)
    cases["combat"] = _combat(rows, plates, settled=False)
    cases["combat-settled"] = _combat(rows, plates, settled=True)
    versions = {name: metadata.version(name) for name in ("pycytominer", "scanpy", "numpy")}
    record = {"versions": versions, "cases": {name: shown(found) for name, found in cases.items()}}
    GOLDEN.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{len(cases)} cases in {GOLDEN.name}")


if __name__ == "__main__":
    main()
