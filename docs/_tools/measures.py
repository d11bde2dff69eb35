"""Write `docs/measures.md` and `docs/measures/`: every measure of the catalogue.

Run it after a change of the catalogue: ``python docs/_tools/measures.py``. Values on noise and in
examples are computed here. Other packages are those whose values are in ``tests/golden`` or that
tests in ``tests/oracles`` call.
"""

import contextlib
import io
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import fill

import numpy as np

from upto.core.references import entries, named
from upto.measures.catalogue import DEFAULT_MEASURES, MEASURES
from upto.measures.kinds import Measure, MomentMeasure

DOCS = Path(__file__).parents[1]
PAGE, FOLDER = DOCS / "measures.md", DOCS / "measures"
GOLDEN = DOCS.parent / "tests" / "golden"
N_SAMPLES, WIDTH, SEED = 256, 64, 0
NOTE = (
    "<!-- Written by docs/_tools/measures.py; change the declarations in upto/measures instead. -->"
)

OPENING = f"""\
{NOTE}

# Measures

Similarity measures for comparing networks disagree between packages, fail on dead units and are far
from zero on noise. Here each is defined once, with its invariances, and is reported with its chance
level ([`upto similarity`](similarity.md)):

```python
>>> import numpy as np
>>> from upto.measures import find_measure
>>> rows = np.random.default_rng(0).laplace(size=(500, 8))
>>> print(f"{{find_measure('linear-cka')(rows, 3 * rows + 1):.3f}}")
1.000
```

A name may include a parameter after a colon: `svcca:20` keeps 20 directions, `mutual-knn:10` counts
10 neighbours. *Fitted* measures estimate something from the rows, such as directions or a matching,
so `upto similarity` fits them on one half of the rows and scores them on the other. *Noise* is the
**in-sample** value for two independent Gaussian runs of {N_SAMPLES}×{WIDTH} (seed {SEED}); it shows
why chance levels are needed.

Each measure has a page with its formula, an example, when to use it and what it hides. Tests check
every declaration in this table in both directions (`tests/properties/test_catalogue.py`), every
formula against plain NumPy (`tests/unit/measures/test_formulas.py`) and the values of the packages
that a page lists (`tests/oracles/`). [From your tool to ours](from-your-tool.md) starts from other
packages.

"""

DATA = """\
>>> import numpy as np
>>> import upto
>>> rng = np.random.default_rng(0)
>>> first = rng.laplace(size=(100, 6))
>>> second = (first @ rng.normal(size=(6, 4)) + rng.normal(size=(100, 4))).round(6)
"""
NOT_FITTED = """\
>>> found = upto.similarity(first, second, measures="{name}", permutations=99, half_samples=0)
>>> row = found.rows[0]
>>> print(f"{{row.value.value:.2f}}, chance {{row.chance:z.2f}}")
"""
FITTED = """\
>>> value = upto.measures.find_measure("{name}")(first, second)
>>> found = upto.similarity(first, second, measures="{name}", permutations=99, half_samples=0)
>>> row = found.rows[0]
>>> print(f"{{value:.2f}} in sample, {{row.value.value:.2f}} held out, chance {{row.chance:z.2f}}")
"""

FORMS = {
    "as drawn": "any",
    "centred": "centred, the first run not the wider one",
    "of norm one": "centred, of Frobenius norm one",
    "of norm one a direction": "centred, squares that sum to the number of coordinates",
}


AGREEING = (
    "Tests find these values equal to 1e-6 on the rows named. The other value was computed once by "
    "the package's own code, or is computed by the tests where the package is installed. Where "
    "definitions differ, the page of the measure says how."
)


@dataclass(frozen=True, order=True)
class Peer:
    """What another package calls a measure, and on which rows tests found equal values."""

    call: str
    ours: str
    rows: str
    held_out: bool


LIVE = {
    "mean-cca": (
        "cca-zoo CCA, mean correlation of its variates",
        FORMS["as drawn"],
        (False, True),
        "test_mean_cca_is_that_of_cca_zoo_in_sample_and_held_out",
    ),
    "rcca:0.1": (
        "cca-zoo RidgeCCA(shrinkage=0.1), mean correlation of its variates",
        "of mean variance one",
        (False, True),
        "test_regularised_cca_is_that_of_cca_zoo_for_mean_variance_one",
    ),
    "svcca-standardised:4": (
        "cca-zoo CCA of PCA(4) and StandardScaler of scikit-learn",
        FORMS["as drawn"],
        (False,),
        "test_standardised_svcca_is_cca_of_principal_components_of_scaled_columns",
    ),
    "r2": (
        "scikit-learn r2_score(multioutput='variance_weighted') of LinearRegression",
        FORMS["as drawn"],
        (False, True),
        "test_r2_is_that_of_scikit_learn_in_sample_and_held_out",
    ),
    "r2-cebra": (
        "scikit-learn r2_score of LinearRegression",
        FORMS["as drawn"],
        (False, True),
        "test_r2_is_that_of_scikit_learn_in_sample_and_held_out",
    ),
    **{
        f"rsa-{inner}-{outer}": (
            f"SciPy {outer}r of pdist(metric='{inner}')",
            FORMS["as drawn"],
            (False,),
            "test_representational_similarity_is_that_of_scipy",
        )
        for inner in ("correlation", "euclidean")
        for outer in ("pearson", "spearman")
    },
    "distance-correlation": (
        "dcor distance_correlation",
        FORMS["as drawn"],
        (False,),
        "test_distance_correlations_are_those_of_dcor",
    ),
}
"""Packages that tests call: the call, its rows, whether in sample and held out, and the test."""


def stem_of(name: str) -> str:
    """Return a measure's name without its parameter, which is also that of its page."""
    return name.partition(":")[0]


def is_fitted(measure: Measure) -> bool:
    """Tell whether a measure estimates something from the rows."""
    return isinstance(measure, MomentMeasure) and measure.is_fitted


def ends(measure: Measure) -> str:
    """Write the range of a measure."""
    low, high = (
        f"{end:.3g}" if math.isfinite(end) else ("-∞" if end < 0 else "∞")
        for end in (measure.low, measure.high)
    )
    return f"{low} to {high}"


def yes(flag: object) -> str:
    """Write a property."""
    return "yes" if flag else "no"


@cache
def on_noise() -> dict[str, float]:
    """Return the value of every measure for two unrelated runs."""
    rng = np.random.default_rng(SEED)
    first, second = rng.normal(size=(2, N_SAMPLES, WIDTH))
    return {name: each(first, second) for name, each in MEASURES.items()}


@cache
def peers() -> dict[str, tuple[Peer, ...]]:
    """Return the packages with equal values, for each measure."""
    found: dict[str, set[Peer]] = {name: set() for name in MEASURES}
    for ours, (call, rows, parts, _) in LIVE.items():
        found[stem_of(ours)] |= {Peer(call, ours, rows, part) for part in parts}
    for ours, peer in recorded():
        if (name := stem_of(ours)) in found:
            found[name].add(peer)
    return {name: tuple(sorted(each)) for name, each in found.items()}


def recorded() -> Iterator[tuple[str, Peer]]:
    """Yield the packages whose values are stored."""
    moments, relations, matching = (
        json.loads((GOLDEN / f"measures_{kind}.json").read_text(encoding="utf-8"))
        for kind in ("moments", "relations", "matching")
    )
    for case in moments["values"]:
        rows = FORMS[case["form"]]
        yield case["measure"], Peer(case["peer"], case["measure"], rows, case["held_out"])
    for case in relations:
        for ours, value in case["values"].items():
            yield ours, Peer(value["source"], ours, FORMS["as drawn"], held_out=False)
    for case in matching["cases"]:
        ours, call = case["measure"], case["peer"].replace(", ", " ", 1)
        if ours == "udr of runs":
            yield "udr", Peer(call, "udr_scores", FORMS["as drawn"], held_out=False)
        else:
            yield ours, Peer(call, ours, FORMS["as drawn"], case["held_out"])


def peer_table(found: Iterable[Peer]) -> str:
    """Return a table of packages with equal values."""
    by_call: dict[tuple[str, str], list[Peer]] = {}
    for each in sorted(found, key=lambda peer: (peer.call.casefold(), peer)):
        by_call.setdefault((each.call, each.rows), []).append(each)
    lines = ["| there | here | rows | compared |", "|---|---|---|---|"]
    for (call, rows), alike in by_call.items():
        names = sorted({peer.ours for peer in alike}, key=lambda name: (len(name), name))
        parts = {peer.held_out for peer in alike}
        compared = " and ".join(["in sample"] * (False in parts) + ["held out"] * (True in parts))
        ours = ", ".join(f"`{name}`" for name in names)
        lines.append(f"| {call} | {ours} | {rows} | {compared} |")
    return "\n".join(lines)


def packages(measure: Measure) -> str:
    """Return what is said of other packages on the page of a measure."""
    if found := peers()[stem_of(measure.name)]:
        return "Tests find equal values, to 1e-6, on these rows:\n\n" + peer_table(found)
    return fill(
        "No other package is compared. Tests compare it with its formula, written out in plain "
        "NumPy.",
        100,
    )


def accents(text: str) -> str:
    """Return the text of a BibTeX field."""

    def letter(match: re.Match[str]) -> str:
        sign = {"'": "\u0301", '"': "\u0308", "`": "\u0300", "^": "\u0302", "~": "\u0303"}
        sign |= {"u": "\u0306", "v": "\u030c", "c": "\u0327", "H": "\u030b"}
        return unicodedata.normalize("NFC", match[2] + sign[match[1]])

    text = re.sub(r"""\\(['"`^~]|[uvcH](?=\{))\{?(\w)\}?""", letter, text)
    for old, new in ((r"\o", "ø"), ("---", "—"), ("--", "–"), (r"\&", "&")):
        text = text.replace(old, new)
    return re.sub(r"[{}]", "", text)


def reference(key: str) -> str:
    """Return an entry of the references as a line of text."""
    fields = {
        name: accents(value)
        for name, value in re.findall(r"^ *(\w+) *= \{(.*)\},?$", entries()[key], re.MULTILINE)
    }
    people = [name.partition(",")[0] for name in fields["author"].split(" and ")]
    *most, last = ["others" if name == "others" else name for name in people]
    authors = f"{', '.join(most)} and {last}" if most else last
    venue = fields.get("journal") or fields.get("booktitle") or fields.get("note") or ""
    if "eprint" in fields:
        venue = f"{venue}, arXiv {fields['eprint']}".removeprefix(", ")
    volume = f" {fields['volume']}" if "volume" in fields else ""
    pages = f", {fields['pages']}" if "pages" in fields else ""
    return f"- {authors}: *{fields['title']}*. {venue}{volume} ({fields['year']}){pages}."


def example(measure: Measure) -> str:
    """Return the example with what it prints."""
    few = measure.parameter_name in ("principal directions", "canonical components")
    name = f"{stem_of(measure.name)}:2" if few else measure.name
    text = DATA + (FITTED if is_fitted(measure) else NOT_FITTED).format(name=name)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(text.replace(">>> ", ""), {})
    return f"```python\n{text}{printed.getvalue()}```"


def facts(measure: Measure) -> str:
    """Return the table of a measure's properties."""
    direction = f"{ends(measure)}; closer runs have a {measure.closer} value"
    rows = {"range": direction, "unchanged by": measure.unchanged_by}
    if measure.parameter is not None:
        default = measure.name.partition(":")[2]
        rows["parameter"] = f"{measure.parameter_name}, {default} by default"
    rows["fitted"] = yes(is_fitted(measure)) + (not is_fitted(measure)) * ": needs no held-out rows"
    rows["symmetric"] = yes(measure.symmetric)
    rows["metric"] = "yes, in sample" if measure.metric else "no"
    rows["on noise"] = (
        f"{on_noise()[stem_of(measure.name)]:.3f} in sample, for two independent Gaussian runs of "
        f"{N_SAMPLES}×{WIDTH}"
    )
    lines = [f"| {name} | {text} |" for name, text in rows.items()]
    return "\n".join(["| property | value |", "|---|---|", *lines])


def prose(text: str, measure: Measure) -> str:
    """Return wrapped text in which names of other measures are links and formulas are whole."""

    def link(match: re.Match[str]) -> str:
        return f"[`{match[0]}`]({match[0]}.md)"

    others = sorted(set(MEASURES) - {stem_of(measure.name)} - {"shape", "udr"}, key=len)
    names = "|".join(re.escape(name) for name in reversed(others))
    text = re.sub(rf"(?<![\w`$\\./-])(?:{names})(?![\w`(-])|(?<=see )shape(?=\.)", link, text)
    text = re.sub(r"\$[^$]+\$", lambda math: math[0].replace(" ", "\0"), text)
    return fill(text, 100, break_on_hyphens=False, break_long_words=False).replace("\0", " ")


def measure_page(measure: Measure) -> str:
    """Return the page of one measure."""
    held_out = f"**Held out.** {measure.held_out}" if isinstance(measure, MomentMeasure) else ""
    related = [f"- [`{name}`]({name}.md): {MEASURES[name].title}" for name in measure.see_also]
    related.append("- [all measures](../measures.md), and [`upto similarity`](../similarity.md)")
    parts = [
        NOTE,
        f"# {stem_of(measure.name)}: {measure.title}",
        prose(measure.says, measure),
        "\n\n".join(f"$$\n{line}\n$$" for line in re.split(r", \\qquad |\n", measure.formula)),
        prose(measure.where, measure),
        facts(measure),
        prose(f"**Use it when** {measure.use_when}", measure),
        prose(f"**Beware.** {measure.beware}", measure),
        prose(held_out, measure) if is_fitted(measure) else "",
        prose(measure.note, measure),
        "## Example",
        "The second run is a noisy linear map of the first.",
        example(measure),
        f"On files: `upto similarity first.npy second.npy --measure {measure.name}`.",
        "## In other packages",
        packages(measure),
        "## See also",
        "\n".join(related),
        "## References",
        "\n".join(reference(key) for key in named(measure.source)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def row(measure: Measure) -> str:
    """Write a row of the table."""
    cells = (
        f"[`{measure.name}`](measures/{stem_of(measure.name)}.md)",
        ends(measure),
        measure.closer,
        measure.unchanged_by,
        yes(is_fitted(measure)),
        yes(measure.symmetric),
        yes(measure.metric),
        f"{on_noise()[stem_of(measure.name)]:.3f}",
    )
    return "| " + " | ".join(cells) + " |"


def page() -> str:
    """Return the page with the table of all measures."""
    head = "| measure | range | closer is | unchanged by | fitted | symmetric | metric | noise |"
    table = "\n".join([head, "|---" * 8 + "|", *(row(each) for each in MEASURES.values())])
    agreeing = [peer for found in peers().values() for peer in found]
    default = ", ".join(f"`{MEASURES[name].name}`" for name in DEFAULT_MEASURES)
    listed = "\n".join(f"measures/{name}" for name in MEASURES)
    parts = [
        OPENING + table,
        fill(f"Without `--measure`, these are computed: {default}.", 100, break_on_hyphens=False),
        "## Values of other packages",
        fill(AGREEING, 100),
        peer_table(agreeing),
        f"```{{toctree}}\n:hidden:\n\n{listed}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def pages() -> dict[Path, str]:
    """Return the page of every measure by its path."""
    return {FOLDER / f"{name}.md": measure_page(each) for name, each in MEASURES.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.md"):
        old.unlink()
    for path, text in (pages() | {PAGE: page()}).items():
        path.write_text(text, encoding="utf-8")
