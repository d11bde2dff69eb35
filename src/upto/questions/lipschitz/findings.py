"""Rules of findings about decoders."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP050",
        title="decoder not injective",
        severity="warning",
        meaning="At some points the decoder maps a direction of the latents to nothing: its "
        "smallest singular value there is zero within rounding, so its bi-Lipschitz constant "
        "is infinite.",
        matters="Latents that differ along such a direction give the same outputs: no data can "
        "tell them apart, and two runs need not agree on them.",
        remedy="Look at the latent coordinates that move the outputs least; drop those that "
        "are ignored, as after a posterior collapse, and measure the others.",
    ),
    Rule(
        code="UP051",
        title="decoder far from an isometry",
        severity="warning",
        meaning="At half of the points or more, lengths change by a factor above √2.",
        matters="The lemma behind Theorem 1 as it is cited asks for less, and bounds of this "
        "size promise little or nothing.",
        remedy="Look whether one scale of the outputs helps; train with a term that keeps "
        "singular values of the Jacobian near 1, or with orthogonal layers.",
    ),
    Rule(
        code="UP052",
        title="extreme singular values not settled",
        severity="warning",
        meaning="Lanczos reached its last step before both extremes were known.",
        matters="The constant is at least what is given; the true one may be larger, most "
        "often because the smallest singular value is smaller.",
        remedy="Give more steps; as many as latents are exact. Or form the Jacobians.",
    ),
    Rule(
        code="UP053",
        title="worst of few points",
        severity="note",
        meaning="The decoder was looked at in fewer than 100 points.",
        matters="The worst of them says little of the worst of all latents.",
        remedy="Give more latents, or look at more points.",
    ),
    Rule(
        code="UP054",
        title="near an isometry up to a scale",
        severity="note",
        meaning="The decoder changes all lengths by about the same factor.",
        matters="Its bi-Lipschitz constant is that factor; after one scale of the outputs it "
        "is close to 1, and theory promises agreement up to a similarity.",
        remedy="Compare runs up to a similarity, or rescale the outputs.",
    ),
    Rule(
        code="UP055",
        title="outputs are not a function of the latents",
        severity="warning",
        meaning="Some rows have equal latents and different outputs.",
        matters="The outputs hold noise or something else that the latents do not, and ratios "
        "of distances mix it with what the decoder does.",
        remedy="Give the mean outputs of the decoder, not samples; check that rows match.",
    ),
    Rule(
        code="UP056",
        title="singular values in single precision",
        severity="note",
        meaning="The decoder could not be run in double precision.",
        matters="Singular values below a ten-millionth of the largest are rounding, and the "
        "others have about six digits.",
        remedy="Give a torch module, which is copied to double precision, or a function that "
        "keeps the type of its input.",
    ),
)
