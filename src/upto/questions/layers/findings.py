"""Rules of findings about layers."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP040",
        title="dead layer",
        severity="warning",
        meaning="A layer gives the same row for every sample.",
        matters="It says nothing about the samples, so it is compared with no other layer.",
        remedy="Look at its inputs: a layer of zeros is often a dead activation, a mask or a "
        "pooling rule that takes a constant token.",
    ),
    Rule(
        code="UP041",
        title="no layer beyond chance",
        severity="warning",
        meaning="Rows paired at random make some pair of layers as similar as the true pairs "
        "are, having looked at all of them.",
        matters="The largest of many values is high by chance alone: no layer is known to have "
        "a counterpart.",
        remedy="Check that all layers were recorded of the same samples in the same order, or "
        "record ids to match them; use more rows.",
    ),
)
