"""Findings about decoders."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP050",
        title="decoder not injective",
        severity="warning",
        meaning="At some points the outputs do not change along some direction of the latents: the "
        "smallest singular value of the Jacobian is zero within rounding, so the bi-Lipschitz "
        "constant is infinite.",
        matters="Latents that differ along such a direction give the same outputs: no data can "
        "distinguish them, and two runs need not agree on them.",
        remedy="Find the latent coordinates that move the outputs least; drop those the decoder "
        "ignores, e.g. after posterior collapse, and measure the others.",
    ),
    Rule(
        code="UP051",
        title="decoder far from an isometry",
        severity="warning",
        meaning="At half of the points or more, lengths change by a factor above √2.",
        matters="The cited lemma behind Theorem 1 requires a smaller factor, and bounds of this "
        "size are loose or vacuous.",
        remedy="Check whether rescaling the outputs helps; train with a penalty that keeps the "
        "singular values of the Jacobian near 1, or with orthogonal layers.",
    ),
    Rule(
        code="UP052",
        title="extreme singular values not converged",
        severity="warning",
        meaning="Lanczos reached its maximum number of steps before both extremes converged.",
        matters="The constant reported is a lower bound; the true one may be larger, most often "
        "because the smallest singular value is smaller.",
        remedy="Allow more steps (as many as latent coordinates are exact), or form the Jacobians.",
    ),
    Rule(
        code="UP053",
        title="worst of few points",
        severity="note",
        meaning="The decoder was evaluated at fewer than 100 points.",
        matters="Their worst value is a poor estimate of the worst over all latents.",
        remedy="Give more latents, or sample more points.",
    ),
    Rule(
        code="UP054",
        title="near an isometry up to a scale",
        severity="note",
        meaning="The decoder changes all lengths by about the same factor.",
        matters="Its bi-Lipschitz constant is that factor; after rescaling the outputs it is close "
        "to 1, and theory promises agreement up to a similarity.",
        remedy="Compare runs up to a similarity, or rescale the outputs.",
    ),
    Rule(
        code="UP055",
        title="outputs are not a function of the latents",
        severity="warning",
        meaning="Some rows have equal latents and different outputs.",
        matters="The outputs contain noise or other information that the latents lack, and ratios "
        "of distances confound it with the decoder.",
        remedy="Give the mean outputs of the decoder, not samples; check that rows match.",
    ),
    Rule(
        code="UP056",
        title="singular values in single precision",
        severity="note",
        meaning="The decoder could not be run in double precision.",
        matters="Singular values below a ten-millionth of the largest are rounding error, and the "
        "others have about six correct digits.",
        remedy="Pass a torch module, which is copied to double precision, or a function that "
        "preserves the dtype of its input.",
    ),
)
