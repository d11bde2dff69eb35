"""Rules of findings about latents and known factors."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP060",
        title="score within chance",
        severity="warning",
        meaning="Latents with permuted rows score as high against the factors.",
        matters="However high the value, it is not evidence about these latents.",
        remedy="Use the calibrated value; check that rows of latents and factors are the same "
        "samples in the same order; use more rows.",
    ),
    Rule(
        code="UP061",
        title="score far from zero on noise",
        severity="warning",
        meaning="Permuted rows score 0.2 or more: the score is a ratio, or rewards noise.",
        matters="Its values are not interpretable without the chance level, nor comparable between "
        "latents, numbers of factors or numbers of rows.",
        remedy="Use the calibrated value, or a chance-adjusted score such as "
        "infomec/modularity@adjusted.",
    ),
    Rule(
        code="UP062",
        title="factor omitted",
        severity="warning",
        meaning="A factor has a single value, no labels, or a different label on every row.",
        matters="It cannot be scored, and scores are means over the other factors.",
        remedy="Check the column; choose the columns that are factors.",
    ),
    Rule(
        code="UP063",
        title="labels missing",
        severity="note",
        meaning="Some rows lack a label, or the label of a factor.",
        matters="Each score uses the rows with the labels it needs. Errors to the truth use rows "
        "with all numeric factors; classifiers are trained and tested on labelled rows, while "
        "transforms are fitted to all rows.",
        remedy="No action is needed if labels are missing at random.",
    ),
    Rule(
        code="UP064",
        title="few rows per value",
        severity="warning",
        meaning="Some values of a discrete factor occur in fewer than eleven rows.",
        matters="Information is estimated from the ten nearest rows of the same value, and "
        "predictors are fitted to rows of each.",
        remedy="Use more rows, merge rare values, or treat a numeric factor as continuous.",
    ),
    Rule(
        code="UP065",
        title="more factors than latents",
        severity="warning",
        meaning="There are fewer non-constant latents than factors.",
        matters="Not every factor can have its own latent, so no score can reach its best value "
        "and no permutation of the latents equals the truth.",
        remedy="Train with more latents, or select fewer factors.",
    ),
    Rule(
        code="UP066",
        title="factor absent from every latent",
        severity="warning",
        meaning="No single latent carries more information about the factor than permuted rows do, "
        "although there are enough rows to detect one with half of it.",
        matters="The factor is missing from the latents, or encoded only jointly by several.",
        remedy="Check the R² of all latents: if it is high, the factor is mixed and ICA may help; "
        "if it is low, the model has not learned it.",
    ),
    Rule(
        code="UP067",
        title="factors treated as categories",
        severity="note",
        meaning="Text is unordered. Numbers with few values are treated as unordered if they are "
        "consecutive integers or the name suggests classes, unless the name suggests a quantity "
        "such as age or size.",
        matters="These factors are scored, but errors to the truth are distances and use only the "
        "other factors.",
        remedy="No action is needed for classes; declare a factor as ordered if its numbers are "
        "ordered.",
    ),
    Rule(
        code="UP068",
        title="dependent factors",
        severity="warning",
        meaning="Two factors have an absolute correlation of 0.2 or more.",
        matters="ICA seeks independent components, and a latent that carries one of these factors "
        "also carries information about the other: scores below their best value are then correct.",
        remedy="Score rows in which the factors are independent, or use the errors to the truth up "
        "to an affine map.",
    ),
    Rule(
        code="UP069",
        title="factors that share a latent",
        severity="note",
        meaning="One latent is the most informative one about several factors.",
        matters="The latents are not disentangled, whatever the mean over factors.",
        remedy="Inspect the heat map of latents and factors; compare with the other forms.",
    ),
    Rule(
        code="UP070",
        title="score in sample",
        severity="note",
        meaning="As its authors define it, a score is computed on the rows that its predictor was "
        "fitted to.",
        matters="It grows with the number of latents and falls with the number of rows; its chance "
        "level is in sample too.",
        remedy="Use the calibrated value, or a held-out variant of the score.",
    ),
    Rule(
        code="UP090",
        title="score without a value",
        severity="note",
        meaning="A score is undefined for these latents and factors, or there are too few rows.",
        matters="It is not replaced by a number: zero or one would be a claim.",
        remedy="See the reason in the finding; an adjusted variant of the score often has a value.",
    ),
)
