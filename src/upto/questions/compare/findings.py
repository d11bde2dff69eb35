"""Rules of the findings of a comparison."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP034",
        title="directions that do not agree",
        severity="warning",
        meaning="After both runs were whitened, some directions of one have no counterpart in the "
        "other: on held-out rows less than half of their variance is explained.",
        matters="No map between the runs is a bijection. Errors over the diameter and R² hide this "
        "if these directions are narrow.",
        remedy="Report on how many directions the runs agree. Inspect R² along the principal "
        "directions; if one run is an image of the other, map in that direction only.",
    ),
    Rule(
        code="UP035",
        title="few rows per component",
        severity="warning",
        meaning="There are fewer than 50 fitted rows per independent component, or so few "
        "that only the widest directions were unmixed. If these have less than 90 % of the "
        "variance, there is no efficiency.",
        matters="With few rows, ICA finds directions of the sample, not of the run: its errors and "
        "efficiency reflect the number of rows more than the runs. For two rotated copies of "
        "simulated Laplace sources, each unmixed on its own half of the rows, the efficiency is "
        "about 0 with 10 fitted rows per component, 0.6 with 50 and 0.8 with 200. Unmixed on the "
        "same rows it is 0.9 or more throughout: both runs share the accidents of these rows.",
        remedy="Embed more samples, keep fewer directions, or unmix each run on rows of its own. "
        "Otherwise do not draw conclusions from the ICA row.",
    ),
    Rule(
        code="UP036",
        title="rows that depend on preceding rows",
        severity="warning",
        meaning="In every run, rows are correlated with the preceding row or with one up to 30 "
        "rows earlier, like frames of a film, steps of a simulation, days of a week or rows sorted "
        "by content.",
        matters="Dependent rows carry less information than their number suggests, and rows drawn "
        "at random from among them are not independent: unrelated runs would look related. One "
        "contiguous stretch of rows is held out, the innovation of each row is compared, and "
        "p-values come from shifting the runs against each other. Against known factors, the "
        "chance level counts every row, and the verdict states this first.",
        remedy="Time series need no change. Shuffle independent rows that were only sorted or "
        "interleaved, or pass the dependent groups as `groups`.",
    ),
    Rule(
        code="UP037",
        title="near copies",
        severity="warning",
        meaning="In every run, some rows are far closer to another row than the local density "
        "explains: views, replicates or augmentations of one sample.",
        matters="Copies are not independent samples. They stay on one side of the held-out split "
        "and count once in p-values. Against known factors, the chance level counts every row, "
        "and the verdict states this first.",
        remedy="Pass the sample of each row as `groups`, or keep one row per sample.",
    ),
    Rule(
        code="UP038",
        title="only classes are shared",
        severity="warning",
        meaning="The runs agree on the class means, and on little or nothing within classes.",
        matters="Networks trained on the same labels share class means even if their "
        "representations are otherwise unrelated: the agreement is that of the labels.",
        remedy="Report agreement within classes together with agreement between them.",
    ),
    Rule(
        code="UP057",
        title="bound exceeded",
        severity="warning",
        meaning="The error measured between two runs exceeds the bound of a theorem for their "
        "decoders.",
        matters="The theorem is proved, so one of its assumptions fails here, and it does not "
        "apply to these runs.",
        remedy="Check that both runs have the same outputs, that L is not larger at points not "
        "tested, and that the latents fill a convex set without gaps; for Theorem 2, use restarts "
        "to check that both searches end in corresponding optima.",
    ),
)
