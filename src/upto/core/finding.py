"""Findings: coded remarks on a result, each with a meaning, a reason to care and a remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from upto.core.rule import Rule
from upto.question import questions, resolve


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One remark on one result: a code and the numbers that raised it."""

    code: str
    message: str

    @property
    def rule(self) -> Rule:
        """The entry of the catalogue this finding belongs to."""
        return RULES[self.code]

    def __str__(self) -> str:
        # A result written by a later version may carry a code this one does not know.
        title = f" {RULES[self.code].title}" if self.code in RULES else ""
        return f"{self.code}{title}: {self.message}"


def unique_findings(findings: list[Finding]) -> tuple[Finding, ...]:
    """Keep the first of equal findings, sorted by code."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: finding.code))


_SHARED = (
    Rule(
        code="UP001",
        title="too few samples for the covariance",
        severity="warning",
        meaning="There are fewer than five rows for each dimension.",
        matters="The covariance, and every map fitted from it, is dominated by sampling noise: "
        "in-sample errors look far better than they are.",
        remedy="Read the held-out column, embed more samples, or reduce the dimension.",
    ),
    Rule(
        code="UP002",
        title="rank-deficient",
        severity="note",
        meaning="The rows span fewer dimensions than the embedding has.",
        matters="Maps are not unique on the missing directions and ICA has fewer components "
        "than coordinates. The errors stay well defined.",
        remedy="Nothing is needed; drop dead or duplicated coordinates if you want full rank.",
    ),
    Rule(
        code="UP003",
        title="near-Gaussian components",
        severity="warning",
        meaning="Two or more independent components cannot be told from Gaussian ones.",
        matters="The rotation between them is not identifiable: ICA returns an arbitrary one, "
        "and two runs will not agree on it.",
        remedy="Compare up to a rigid motion, or keep only the non-Gaussian components.",
    ),
    Rule(
        code="UP004",
        title="ICA not converged",
        severity="warning",
        meaning="The ICA iteration reached its limit before its fixed point.",
        matters="The ICA row depends on where the iteration stopped.",
        remedy="Raise the number of iterations, or treat the ICA row as an upper bound.",
    ),
    Rule(
        code="UP005",
        title="ambiguous matching",
        severity="note",
        meaning="Some coordinates match two coordinates of the other run almost equally well.",
        matters="The permutation is not settled by the data: another sample may give another "
        "one at the same error.",
        remedy="Trust the error, not the identity of the matched coordinates.",
    ),
    Rule(
        code="UP006",
        title="runs do not share all samples",
        severity="warning",
        meaning="Rows were matched by id and some ids occur in one run only.",
        matters="Only the shared rows were compared.",
        remedy="Embed the same samples with every run.",
    ),
    Rule(
        code="UP007",
        title="duplicate rows",
        severity="note",
        meaning="Some samples occur more than once with the same embedding in every run.",
        matters="Duplicates carry no new evidence. They never straddle the held-out split and "
        "count once in p-values, but they do narrow intervals.",
        remedy="Remove the duplicates before comparing.",
    ),
    Rule(
        code="UP009",
        title="error not better than chance",
        severity="warning",
        meaning="Held-out rows paired at random have errors as small as the true pairing.",
        matters="The data give no evidence that the runs are related up to this group.",
        remedy="Check that rows describe the same samples in the same order; pass ids to match "
        "them.",
    ),
    Rule(
        code="UP010",
        title="group too large for the sample size",
        severity="warning",
        meaning="The group has at least as many free parameters as the fitted rows can settle.",
        matters="The in-sample error is then zero or close to it whatever the data are.",
        remedy="Use the held-out error, a stricter group, or more rows.",
    ),
    Rule(
        code="UP011",
        title="diameter driven by outliers",
        severity="warning",
        meaning="The largest distance between two rows is more than three times what it is "
        "without the outermost 1 % of the rows.",
        matters="Errors are reported over the diameter: a few outliers make all of them small.",
        remedy="Compare errors over the quantile diameter shown beside it, or remove the outliers.",
    ),
    Rule(
        code="UP012",
        title="theoretical bound vacuous",
        severity="note",
        meaning="A theorem applies, but for these numbers its bound is infinite or no better "
        "than what holds without it.",
        matters="Theory says nothing here; what was measured stands on its own.",
        remedy="Read what was measured. A bound becomes useful as the bi-Lipschitz constants "
        "of the decoders come close to 1; look at those after one scale too.",
    ),
    Rule(
        code="UP013",
        title="dead coordinates",
        severity="note",
        meaning="Some coordinates have the same value in every row.",
        matters="They carry nothing and are matched last; the others are unaffected.",
        remedy="Nothing is needed; drop them if you report dimensions.",
    ),
    Rule(
        code="UP014",
        title="identical runs",
        severity="warning",
        meaning="Two runs hold exactly the same numbers.",
        matters="This is usually one file given twice, not two trainings that agree.",
        remedy="Check the paths.",
    ),
    Rule(
        code="UP015",
        title="too few held-out rows",
        severity="warning",
        meaning="There are too few rows to hold some out, or too few held out for an interval "
        "or to judge components.",
        matters="What cannot be measured is left empty rather than guessed.",
        remedy="Use more rows, or read the in-sample column as the lower bound it is.",
    ),
    Rule(
        code="UP016",
        title="efficiency of ICA undefined",
        severity="note",
        meaning="The rigid map is no better than the signed permutation, so there is no "
        "rotation for ICA to remove.",
        matters="The efficiency divides by that difference.",
        remedy="Nothing is needed: the coordinates already agree, or nothing does.",
    ),
    Rule(
        code="UP017",
        title="in-sample fit does not hold out",
        severity="warning",
        meaning="The freest map explains the rows it was fitted on but not the held-out ones.",
        matters="The in-sample agreement is over-fitting.",
        remedy="Believe the held-out column; embed more samples before claiming agreement.",
    ),
    Rule(
        code="UP018",
        title="runs of different width",
        severity="note",
        meaning="The runs have different numbers of coordinates.",
        matters="The identity is not defined. A narrower source is embedded, a wider one loses "
        "coordinates; the error is measured in the target's own coordinates.",
        remedy="Nothing is needed.",
    ),
    Rule(
        code="UP019",
        title="agreement carried by few directions",
        severity="warning",
        meaning="The map explains much of the variance but little of an average direction.",
        matters="A few wide directions, such as class means or one far cluster, agree; what "
        "lies in the many narrow ones does not, and errors over the diameter do not show it.",
        remedy="Look at R² per direction; compare within classes, or after whitening both runs.",
    ),
    Rule(
        code="UP020",
        title="ids in some runs only",
        severity="warning",
        meaning="Some runs name their rows and others do not: rows were matched by position.",
        matters="If the rows are in another order, unrelated samples were compared.",
        remedy="Give every run ids, or make sure that the order is the same.",
    ),
    Rule(
        code="UP023",
        title="components that can turn into each other",
        severity="warning",
        meaning="The contrast does not change as these components turn into each other: they "
        "are Gaussian, or their joint distribution is round.",
        matters="Only the subspace they span is identifiable, not its axes.",
        remedy="Treat them as one subspace; compare it up to a rotation.",
    ),
    Rule(
        code="UP024",
        title="not all rows used",
        severity="note",
        meaning="There are more rows than were to be used; which ones were, their content decides.",
        matters="Values are those of a sample; their intervals say how far others would be.",
        remedy="Raise the number of rows if intervals are too wide: work on relations between "
        "rows grows with its square.",
    ),
    Rule(
        code="UP026",
        title="measure left out",
        severity="warning",
        meaning="A measure cannot be taken of these rows; the others were.",
        matters="The result has no value of this measure.",
        remedy="Use more rows, or give the measure another parameter, as in mutual-knn:3.",
    ),
    Rule(
        code="UP028",
        title="too few pairings for a 5 % level",
        severity="warning",
        meaning="So few rows can be paired in fewer than 20 ways.",
        matters="No p-value can be small, whatever the runs are.",
        remedy="Use more rows, or hold nothing out.",
    ),
)


class _Rules(Mapping[str, Rule]):
    """Every rule by its code, in the order of codes: those shared here, others in questions."""

    @cached_property
    def _rules(self) -> dict[str, Rule]:
        # Read when they are looked at: rules of a question are written with what is defined here.
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
