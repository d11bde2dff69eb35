"""Rules of the findings of `mixture`."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP087",
        title="rows do not follow the prior",
        severity="warning",
        meaning="The rows do not have the law of the mixture, by a test at a level of 5 %.",
        matters="The theorems are about models that have the law of the data; parameters of "
        "another law say nothing about it, so the assumptions on the prior are not known.",
        remedy="Check that prior and rows belong to the same run; sample the posterior instead of "
        "taking its mean; train longer, or with more components.",
    ),
    Rule(
        code="UP088",
        title="decoder that folds the latents",
        severity="warning",
        meaning="Two latents have one image, or the decoder is constant along a direction.",
        matters="The decoder is not identified, and if no image has a single preimage, neither is "
        "P(Z).",
        remedy="Use leaky ReLUs, and layers that are never narrower than the latents; leave out "
        "latents that the decoder ignores.",
    ),
    Rule(
        code="UP091",
        title="degenerate components",
        severity="warning",
        meaning="Some components are points, or flat in a direction, or so within rounding.",
        matters="P1 is not met; with degenerate components only, nothing is identified. Priors "
        "without a density are not matched over runs.",
        remedy="Bound the variances of the prior from below while training.",
    ),
    Rule(
        code="UP092",
        title="variance ratios nearly equal",
        severity="warning",
        meaning="In every pair of components, two coordinates have variance ratios that differ by "
        "less than 10 %.",
        matters="P2 holds by a hair or not at all: these coordinates can be rotated into each "
        "other with hardly any change of the law.",
        remedy="Claim identification up to an affine map only, or train components whose "
        "variances differ in shape.",
    ),
    Rule(
        code="UP093",
        title="component with hardly any weight",
        severity="warning",
        meaning="The weight of a component is below a tenth of an equal share, or no row belongs "
        "to it.",
        matters="Its parameters are hardly determined by the data, and they count in P1, P2 and "
        "the number of components like any other.",
        remedy="Remove it and train or fit again.",
    ),
    Rule(
        code="UP094",
        title="one component only",
        severity="warning",
        meaning="The prior is a single Gaussian.",
        matters="A Gaussian can be rotated without any change of the law: an affine map is the "
        "most that can be identified.",
        remedy="Use a mixture of two or more components, or side information.",
    ),
    Rule(
        code="UP095",
        title="components not distinguished",
        severity="warning",
        meaning="Two components overlap by more than 0.9, or the rows are compatible with one "
        "component fewer.",
        matters="The data hardly support both: their shapes are accidents of the rows, and P2 and "
        "P(U) may rest on them.",
        remedy="Fit fewer components, or use more rows.",
    ),
    Rule(
        code="UP096",
        title="runs with different numbers of components",
        severity="note",
        meaning="The priors of the runs have different numbers of components.",
        matters="Some components have no partner and count as not recurring. If the number is "
        "identifiable, some runs have not found it.",
        remedy="Compare runs of equal numbers, or find out which components are spurious.",
    ),
    Rule(
        code="UP097",
        title="components within chance",
        severity="warning",
        meaning="After the best affine map, mixtures with random means overlap as much as the "
        "runs do.",
        matters="The overlap is no evidence of stability: an affine map takes the means of up to "
        "one component more than coordinates anywhere. With fewer than 19 draws there is no limit "
        "of chance, and this is not tested.",
        remedy="Compare the rows of the runs instead, or use more components than coordinates.",
    ),
    Rule(
        code="UP098",
        title="prior not tested",
        severity="note",
        meaning="No rows were passed, so the prior was not tested against any data.",
        matters="The result is about the model as fitted. That the data have its law is assumed.",
        remedy="Pass latents sampled from the posterior of the training data as rows.",
    ),
    Rule(
        code="UP099",
        title="claim not supported",
        severity="warning",
        meaning="P(Z) is not known to be identified up to the group of the claim.",
        matters="The assumptions of the theorems fail or are not known.",
        remedy="Claim less, or settle the assumptions that the table lists.",
    ),
    Rule(
        code="UP100",
        title="rows of runs unrelated",
        severity="warning",
        meaning="One run's rows predict another's, up to the group of the claim, no better than "
        "shuffled rows do.",
        matters="The runs do not give the same latents to the same samples. Priors may match all "
        "the same, because they are alike by design or by an affine map.",
        remedy="Check that rows of the same samples are paired, by ids; otherwise do not interpret "
        "the components of single samples.",
    ),
)
