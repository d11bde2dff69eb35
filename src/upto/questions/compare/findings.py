"""Findings about the verdict of a comparison."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP034",
        title="directions that do not agree",
        severity="warning",
        meaning="After both runs were whitened, some directions of one have no counterpart in the "
        "other: on held-out rows less than half of their variance is explained.",
        matters="A map of one run onto the other is not a bijection of what both hold. Errors over "
        "the diameter and R² hide it where these directions are narrow.",
        remedy="Say on how many directions the runs agree. Look at R² along the principal "
        "directions; where one run is an image of the other, map it in that direction only.",
    ),
    Rule(
        code="UP035",
        title="few rows for each component",
        severity="warning",
        meaning="There are fewer than 50 fitted rows for each independent component, or so few "
        "that only the widest directions were unmixed.",
        matters="ICA of few rows finds directions of the sample, not of the run: the rows of ICA "
        "and its efficiency say more about the number of rows than about the runs.",
        remedy="Embed more samples, or read the rows of ICA as a lower bound of what it can do.",
    ),
    Rule(
        code="UP036",
        title="rows that depend on the rows before them",
        severity="warning",
        meaning="Rows are correlated with the row before them, or with one up to 30 rows before, "
        "in every run, as frames of a film, steps of a simulation or days of a week are, or rows "
        "sorted by what they show.",
        matters="Such rows say less than they are many, and rows drawn at random from between them "
        "are not new: unrelated runs would look related. One stretch of rows is held out, what is "
        "new in each row is compared, and runs are moved along each other for the p-values. "
        "Against known factors, chance counts every row, and the verdict says so first.",
        remedy="Nothing is needed for a time series. Shuffle rows that are independent and were "
        "only sorted or take turns, or name what belongs together with `groups`.",
    ),
    Rule(
        code="UP037",
        title="near copies",
        severity="warning",
        meaning="Some rows are far closer to another one, in every run, than the rows around them "
        "explain: views, replicates or augmentations of one sample.",
        matters="Copies are not independent samples. They stay on one side of the held-out split "
        "and count once in p-values. Against known factors, chance counts every row, and the "
        "verdict says so first.",
        remedy="Name what belongs together with `groups`, or keep one row of each sample.",
    ),
    Rule(
        code="UP038",
        title="only classes are shared",
        severity="warning",
        meaning="The runs agree on the means of the classes, and on little or nothing within them.",
        matters="Networks trained on the same labels share class means even where their "
        "representations are unrelated otherwise: the agreement is that of the labels.",
        remedy="Report agreement within classes beside agreement between them.",
    ),
    Rule(
        code="UP057",
        title="promise not kept",
        severity="warning",
        meaning="What was measured between two runs is larger than what a theorem promises for "
        "their decoders.",
        matters="The theorem is proved, so one of its assumptions fails here, and it says "
        "nothing about these runs.",
        remedy="Check that both runs have the same outputs, that L is not larger somewhere you did "
        "not look, and that the latents fill a convex set without gaps; for Theorem 2, that both "
        "searches end in corresponding optima, which restarts show.",
    ),
)
