"""Rules of the findings of `layers`."""

from __future__ import annotations

from upto.core.rule import Rule

RULES = (
    Rule(
        code="UP040",
        title="dead layer",
        severity="warning",
        meaning="A layer has the same row for every sample.",
        matters="It contains no information about the samples, so it is not compared.",
        remedy="Inspect its inputs: a layer of zeros is often a dead activation, a mask or "
        "pooling over a constant token.",
    ),
    Rule(
        code="UP041",
        title="no layer beyond chance",
        severity="warning",
        meaning="With rows paired at random, some pair of layers is as similar as the true "
        "pairs, after adjustment for all pairs of layers.",
        matters="The largest of many values is high by chance alone: there is no evidence that "
        "any layer has a counterpart.",
        remedy="Check that all layers were recorded for the same samples in the same order, or "
        "record ids to match them; use more rows.",
    ),
)
