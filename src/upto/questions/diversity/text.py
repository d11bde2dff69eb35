"""What is said of a head."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upto.theory import HeadDiversity


def verdict(checked: HeadDiversity, n_rows: int) -> str:
    """Say whether the class vectors of a head identify what is below it."""
    counted = (
        f"{checked.n_classes} classes have {checked.rank} independent differences of "
        f"{checked.width} needed"
    )
    if not checked.holds:
        turned = " If the rows are inputs, transpose the head." if n_rows < checked.width else ""
        return (
            f"the probabilities do not identify the representation: {counted}, so only "
            f"{checked.rank} of its {checked.width} directions are.{turned}"
        )
    barely = "barely " if checked.is_ill_conditioned else ""
    caution = f", which rounding to {checked.stored_as} or noise may have made" if barely else ""
    if checked.n_apart and float(checked.singular_values[-1]) > checked.rounding:
        caution = (
            f"; but the smallest {checked.n_apart} of {checked.width} singular values lie apart "
            "from the others, as those of rounding or noise do"
        )
    return (
        f"the probabilities {barely}identify the representation up to an invertible linear map, an "
        f"affine one if the head has a bias: {counted}, with condition number "
        f"{checked.condition:.3g}{caution}."
    )
