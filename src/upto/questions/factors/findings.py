"""Rules of findings about latents and known factors."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP060",
        title="score within chance",
        severity="warning",
        meaning="Latents whose rows were permuted score as well against the factors.",
        matters="However high the value, it says nothing about these latents.",
        remedy="Read the calibrated value; check that rows of latents and factors are the same "
        "samples in the same order; use more rows.",
    ),
    Rule(
        code="UP061",
        title="score far from zero on noise",
        severity="warning",
        meaning="Permuted rows score 0.2 or more: the score is a ratio, or rewards what noise has.",
        matters="Its values cannot be read without that level, nor compared with those of other "
        "latents, numbers of factors or numbers of rows.",
        remedy="Read the calibrated value, or a score that is adjusted for chance, as "
        "infomec/modularity in its adjusted variant.",
    ),
    Rule(
        code="UP062",
        title="factor left out",
        severity="warning",
        meaning="A factor has one value, no label, or another label on every row.",
        matters="Nothing can be said of it, and scores are means over the other factors.",
        remedy="Check the column; choose the columns that are factors.",
    ),
    Rule(
        code="UP063",
        title="labels missing",
        severity="note",
        meaning="Some rows have no label, or none of a factor.",
        matters="Each score sees the rows that have the labels it needs. Errors to the truth are "
        "of rows that have all numbers; classifiers train on labelled rows and are judged on them, "
        "while transforms are fitted to all.",
        remedy="Nothing is needed if labels are missing at random.",
    ),
    Rule(
        code="UP064",
        title="few rows for a value",
        severity="warning",
        meaning="Some values of a discrete factor occur in fewer than eleven rows.",
        matters="Information is estimated from the ten nearest rows of the same value, and "
        "predictors are fitted to rows of each.",
        remedy="Use more rows, join rare values, or call the factor continuous if it is a number.",
    ),
    Rule(
        code="UP065",
        title="more factors than latents",
        severity="warning",
        meaning="There are fewer latents that ever change than factors.",
        matters="Not every factor can have a latent of its own, so no score can reach its best "
        "value and no permutation of latents is the truth.",
        remedy="Train with more latents, or ask for fewer factors.",
    ),
    Rule(
        code="UP066",
        title="factor that no latent tells",
        severity="warning",
        meaning="No single latent tells more of the factor than permuted rows do, and rows "
        "suffice to see one that tells half of it.",
        matters="The factor is not in the latents, or only in several of them together.",
        remedy="Look at what all latents explain of it; if that is much, it is mixed, and ICA may "
        "help; if little, the model has not learned it.",
    ),
    Rule(
        code="UP067",
        title="factors taken as categories",
        severity="note",
        meaning="Text has no order. Numbers of few values are taken to have none where they are "
        "whole and follow each other without a gap, or the name says so, as those of classes are; "
        "not where the name is of a number on a line, as age or size.",
        matters="These factors are scored, but errors to the truth are distances, and are of the "
        "other factors only.",
        remedy="Nothing is needed for classes; name a factor as ordered if its numbers are steps "
        "on a line.",
    ),
    Rule(
        code="UP068",
        title="factors that depend on each other",
        severity="warning",
        meaning="Two factors are correlated by 0.2 or more.",
        matters="ICA looks for independent components, and no latent can tell of one of these "
        "factors without telling of the other: scores below their best value are then right.",
        remedy="Score rows in which factors are independent, or read the errors to the truth up "
        "to an affine map.",
    ),
    Rule(
        code="UP069",
        title="factors that share a latent",
        severity="note",
        meaning="One latent tells more of two factors than any other latent does.",
        matters="The latents are not disentangled, whatever the mean over factors says.",
        remedy="Look at the heat map of latents and factors; compare with the other forms.",
    ),
    Rule(
        code="UP070",
        title="score in sample",
        severity="note",
        meaning="A score, as its authors compute it, is of the rows that its predictor was fitted "
        "to.",
        matters="It grows with the number of latents and falls with the number of rows; chance "
        "beside it is in sample too.",
        remedy="Read the calibrated value, or a held-out variant of the score.",
    ),
    Rule(
        code="UP090",
        title="score without a value",
        severity="note",
        meaning="A score is not defined for these latents and factors, or rows do not suffice.",
        matters="No number stands in for it: zero or one would be a claim.",
        remedy="Read why beside the finding; an adjusted variant of the score often has a value.",
    ),
)
