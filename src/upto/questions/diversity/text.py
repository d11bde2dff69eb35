"""The verdict on a head."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upto.theory import HeadDiversity


def verdict(checked: HeadDiversity, n_rows: int) -> str:
    """State whether the class vectors of a head identify the representation below it."""
    counted = (
        f"{checked.n_classes} classes have {checked.rank} of the {checked.width} independent "
        "differences needed"
    )
    if not checked.holds:
        turned = " If the rows are inputs, transpose the head." if n_rows < checked.width else ""
        return (
            f"the probabilities do not identify the representation: {counted}, so only "
            f"{checked.rank} of its {checked.width} directions are identified.{turned}"
        )
    barely = "barely " if checked.is_ill_conditioned else ""
    caution = (
        f", possibly an artefact of rounding to {checked.stored_as} or noise" if barely else ""
    )
    if checked.n_apart and float(checked.singular_values[-1]) > checked.rounding:
        caution = (
            f"; but the smallest {checked.n_apart} of {checked.width} singular values lie apart "
            "from the others, as those of rounding or noise do"
        )
    return (
        f"the probabilities {barely}identify the representation up to an invertible linear map "
        f"(affine if the head has a bias): {counted}, with condition number "
        f"{checked.condition:.3g}{caution}."
    )
