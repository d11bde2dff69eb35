"""Findings: coded notes and warnings about a result, each with a meaning, a reason and a remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from upto.core.html_view import finding_html
from upto.core.rule import Rule
from upto.question import questions, resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A finding about one result: its code and the numbers that raised it.

    See Also
    --------
    upto.core.Result : Has them as `findings`.
    upto.files.match_rows : Returns some.
    """

    code: str
    message: str

    @property
    def rule(self) -> Rule:
        """The rule with this finding's code."""
        return RULES[self.code]

    def __str__(self) -> str:
        # A result written by a later version may contain codes unknown to this one.
        title = f" {RULES[self.code].title}" if self.code in RULES else ""
        return f"{self.code}{title}: {self.message}"

    def _repr_html_(self) -> str:
        return finding_html(self, unfolded=True)


def unique_findings(findings: list[Finding]) -> tuple[Finding, ...]:
    """Keep the first of equal findings, sorted by code."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: finding.code))


_SHARED = (
    Rule(
        code="UP001",
        title="too few samples for the covariance",
        severity="warning",
        meaning="There are fewer than five rows per dimension.",
        matters="Sampling noise dominates the covariance and every map fitted from it, so "
        "in-sample errors are far too optimistic.",
        remedy="Rely on held-out errors, embed more samples, or reduce the dimension.",
    ),
    Rule(
        code="UP002",
        title="rank-deficient",
        severity="note",
        meaning="The rows span fewer dimensions than the embedding has.",
        matters="Maps are not unique along the missing directions, and ICA returns fewer "
        "components than coordinates. Errors remain well defined.",
        remedy="No action is needed; drop dead or duplicated coordinates to restore full rank.",
    ),
    Rule(
        code="UP003",
        title="near-Gaussian components",
        severity="warning",
        meaning="Two or more independent components are indistinguishable from Gaussian.",
        matters="The rotation between them is not identifiable: ICA returns an arbitrary one, "
        "which differs between runs. Runs that are unmixed on the same rows can match all the "
        "same, because they share the accidents of these rows: two rotated copies of Gaussian rows "
        "have an efficiency of ICA of 1, and of 0 if each is unmixed on rows of its own.",
        remedy="Compare up to a rigid motion, or keep only the non-Gaussian components. To test "
        "components, unmix each run on rows of its own.",
    ),
    Rule(
        code="UP004",
        title="ICA not converged",
        severity="warning",
        meaning="ICA reached its iteration limit before converging.",
        matters="The ICA error depends on where the iteration stopped.",
        remedy="Raise the iteration limit, or read the ICA error as an upper bound.",
    ),
    Rule(
        code="UP005",
        title="ambiguous matching",
        severity="note",
        meaning="Some coordinates match two coordinates of the other run almost equally well.",
        matters="The data do not determine the permutation: another sample may give a different "
        "one with the same error.",
        remedy="Trust the error, not the identity of the matched coordinates.",
    ),
    Rule(
        code="UP006",
        title="runs do not share all samples",
        severity="warning",
        meaning="Rows were matched by id, and some ids are missing from some runs.",
        matters="Only the shared rows were compared.",
        remedy="Embed the same samples with every run.",
    ),
    Rule(
        code="UP007",
        title="duplicate rows",
        severity="note",
        meaning="Some samples occur more than once with the same embedding in every run.",
        matters="Duplicates add no evidence. They are never split between fitted and held-out "
        "rows and count once in p-values, but they do narrow intervals.",
        remedy="Remove the duplicates before comparing.",
    ),
    Rule(
        code="UP009",
        title="error not better than chance",
        severity="warning",
        meaning="Randomly paired held-out rows have errors as small as correctly paired ones.",
        matters="The data give no evidence that the runs are related up to this group.",
        remedy="Check that both runs list the same samples in the same order, or pass ids to match "
        "rows.",
    ),
    Rule(
        code="UP010",
        title="group too large for the sample size",
        severity="warning",
        meaning="The group has at least as many free parameters as the fitted rows can determine.",
        matters="The in-sample error is zero or nearly so for any data.",
        remedy="Use the held-out error, a stricter group, or more rows.",
    ),
    Rule(
        code="UP011",
        title="diameter driven by outliers",
        severity="warning",
        meaning="Dropping the outermost 1 % of the rows shrinks the largest distance between two "
        "rows to less than a third.",
        matters="Errors are divided by the diameter, so a few outliers make them all look small.",
        remedy="Use errors over the quantile diameter, shown next to it, or remove the outliers.",
    ),
    Rule(
        code="UP012",
        title="theoretical bound vacuous",
        severity="note",
        meaning="A theorem applies, but for these numbers its bound is infinite or no tighter "
        "than the trivial bound.",
        matters="Theory gives no guarantee here; the evidence is the measured error alone.",
        remedy="Use the measured error. The bound becomes informative as the bi-Lipschitz "
        "constants of the decoders approach 1; also check them after rescaling by one factor.",
    ),
    Rule(
        code="UP013",
        title="dead coordinates",
        severity="note",
        meaning="Some coordinates have the same value in every row.",
        matters="They contain no information and are matched last; the others are unaffected.",
        remedy="No action is needed; drop them if you report the dimension.",
    ),
    Rule(
        code="UP014",
        title="identical runs",
        severity="warning",
        meaning="Two runs contain exactly the same numbers.",
        matters="Usually one file was passed twice; two trainings rarely agree to the last digit.",
        remedy="Check the paths.",
    ),
    Rule(
        code="UP015",
        title="too few held-out rows",
        severity="warning",
        meaning="There are too few rows to hold any out, or too few held-out rows for an interval "
        "or a test of the components.",
        matters="Quantities that cannot be measured are left empty.",
        remedy="Use more rows, or read the in-sample error as a lower bound.",
    ),
    Rule(
        code="UP016",
        title="efficiency of ICA undefined",
        severity="note",
        meaning="The rigid motion fits no better than the signed permutation, so there is no "
        "rotation for ICA to remove.",
        matters="The efficiency is a ratio with that difference as its denominator.",
        remedy="No action is needed: either the coordinates already agree, or nothing does.",
    ),
    Rule(
        code="UP017",
        title="in-sample fit does not hold out",
        severity="warning",
        meaning="The most flexible map explains the rows it was fitted on but not held-out rows.",
        matters="The in-sample agreement is overfitting.",
        remedy="Rely on held-out errors, and embed more samples before claiming agreement.",
    ),
    Rule(
        code="UP018",
        title="runs of different width",
        severity="note",
        meaning="The runs have different numbers of coordinates.",
        matters="The identity is undefined. A narrower source is embedded in the target space, a "
        "wider one is projected; the error is measured in the target's coordinates.",
        remedy="No action is needed.",
    ),
    Rule(
        code="UP019",
        title="agreement carried by few directions",
        severity="warning",
        meaning="The map explains much of the variance, but little of it in an average direction.",
        matters="The runs agree on a few high-variance directions, such as class means or one "
        "distant cluster, but not on the many others; errors over the diameter do not show this.",
        remedy="Check R² per direction, and compare within classes or after whitening both runs.",
    ),
    Rule(
        code="UP020",
        title="ids in some runs only",
        severity="warning",
        meaning="Some runs have ids and others do not, so rows were matched by position.",
        matters="If the order of rows differs between runs, unrelated samples were compared.",
        remedy="Add ids to every run, or make sure that the order is the same.",
    ),
    Rule(
        code="UP023",
        title="components identifiable only as a subspace",
        severity="warning",
        meaning="Rotating these components into each other leaves the contrast unchanged: they are "
        "Gaussian, or their joint distribution is spherically symmetric.",
        matters="Only the subspace they span is identifiable, not its axes.",
        remedy="Treat them as one subspace and compare it up to a rotation.",
    ),
    Rule(
        code="UP024",
        title="not all rows used",
        severity="note",
        meaning="There are more rows than the limit, so a subset was used, chosen by row hashes.",
        matters="Values are estimates from a subsample; their intervals cover the sampling error.",
        remedy="Raise the number of rows if intervals are too wide; the cost of comparing pairs of "
        "rows grows with its square.",
    ),
    Rule(
        code="UP026",
        title="measure left out",
        severity="warning",
        meaning="One measure cannot be computed on these rows; the others were.",
        matters="The result has no value for this measure.",
        remedy="Use more rows, or change the measure's parameter, e.g. mutual-knn:3.",
    ),
    Rule(
        code="UP028",
        title="too few pairings for a 5 % level",
        severity="warning",
        meaning="These few rows can be paired in fewer than 20 ways.",
        matters="No p-value can be below 5 %, however similar the runs are.",
        remedy="Use more rows, or hold none out.",
    ),
)


class _Rules(Mapping[str, Rule]):
    """All rules by code, sorted: the shared rules above and those of each question."""

    @cached_property
    def _rules(self) -> dict[str, Rule]:
        # Resolved on first use: the findings of questions import this module.
        own = (each.findings for each in questions() if each.findings is not None)
        rules = chain(_SHARED, *(resolve(home) for home in own))
        return {rule.code: rule for rule in sorted(rules, key=lambda rule: rule.code)}

    def __getitem__(self, code: str) -> Rule:
        return self._rules[code]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)


RULES: Mapping[str, Rule] = _Rules()
