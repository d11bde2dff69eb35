"""Groups of maps up to which a representation can be identified."""

from __future__ import annotations

from enum import StrEnum


class Group(StrEnum):
    r"""Groups of maps, from the strictest to the most flexible.

    Every group but the identity includes translations, and reflections are allowed. Neither of
    the last two contains the other.

    See Also
    --------
    upto.compare : Finds the strictest one that suffices.
    upto.Aligner : Fits a map of one.
    upto.testing.random_element : A random element of one.

    Notes
    -----
    Maps act on rows x from the right. P is a permutation with signs, Q orthogonal, D diagonal, A
    any matrix, s a positive number, b a shift, and the :math:`f_j` are monotone functions:

    .. math::

        \begin{array}{ll}
        \text{signed permutation} & x P + b \\
        \text{signed similarity} & s\, x P + b \\
        \text{scaled permutation} & x P D + b \\
        \text{rigid} & x Q + b \\
        \text{similarity} & s\, x Q + b \\
        \text{affine} & x A + b \\
        \text{monotone permutation} & f_j(x_{\pi(j)})
        \end{array}

    References
    ----------
    Nelson et al. (2026). Statistical and structural identifiability in representation learning.
    International Conference on Learning Representations.
    """

    IDENTITY = "identity"
    SIGNED_PERMUTATION = "signed-permutation"
    SIGNED_SIMILARITY = "signed-similarity"
    SCALED_PERMUTATION = "scaled-permutation"
    RIGID = "rigid"
    SIMILARITY = "similarity"
    AFFINE = "affine"
    MONOTONE_PERMUTATION = "monotone-permutation"

    @property
    def phrase(self) -> str:
        """Phrase that follows "up to"."""
        return _PHRASES[self]

    @property
    def manner(self) -> str:
        """Adverbial phrase, such as "up to a rigid motion"."""
        return "without alignment" if self is Group.IDENTITY else f"up to {self.phrase}"

    @property
    def is_affine(self) -> bool:
        """Whether every element is an affine map."""
        return Group.AFFINE.contains(self)

    @property
    def is_isometric(self) -> bool:
        """Whether every element preserves distances."""
        return self in (Group.IDENTITY, Group.SIGNED_PERMUTATION, Group.RIGID)

    def contains(self, other: Group) -> bool:
        """Return whether every element of `other` is an element of this group."""
        return other is self or other in _SUBGROUPS[self]

    def free_parameters(self, n_features: int) -> int:
        """Count the continuous parameters of an element in `n_features` dimensions.

        Raises
        ------
        ValueError
            For monotone functions, which have no finite number of parameters.
        """
        d = n_features
        if self is Group.MONOTONE_PERMUTATION:
            message = "monotone functions have no finite number of parameters."
            raise ValueError(message)
        return {
            Group.IDENTITY: 0,
            Group.SIGNED_PERMUTATION: d,
            Group.SIGNED_SIMILARITY: d + 1,
            Group.SCALED_PERMUTATION: 2 * d,
            Group.RIGID: d * (d - 1) // 2 + d,
            Group.SIMILARITY: d * (d - 1) // 2 + d + 1,
            Group.AFFINE: d * d + d,
        }[self]


_PHRASES = {
    Group.IDENTITY: "nothing (coordinate by coordinate)",
    Group.SIGNED_PERMUTATION: "a signed permutation of the coordinates",
    Group.SIGNED_SIMILARITY: "a signed permutation of the coordinates and one scale",
    Group.SCALED_PERMUTATION: "a permutation and scaling of the coordinates",
    Group.RIGID: "a rigid motion",
    Group.SIMILARITY: "a rigid motion and one scale",
    Group.AFFINE: "an affine map",
    Group.MONOTONE_PERMUTATION: "a permutation and a monotone function of each coordinate",
}

_SIGNED = frozenset({Group.IDENTITY, Group.SIGNED_PERMUTATION})
_SCALED = _SIGNED | {Group.SIGNED_SIMILARITY, Group.SCALED_PERMUTATION}

_SUBGROUPS: dict[Group, frozenset[Group]] = {
    Group.IDENTITY: frozenset(),
    Group.SIGNED_PERMUTATION: frozenset({Group.IDENTITY}),
    Group.SIGNED_SIMILARITY: _SIGNED,
    Group.SCALED_PERMUTATION: _SIGNED | {Group.SIGNED_SIMILARITY},
    Group.RIGID: _SIGNED,
    Group.SIMILARITY: _SIGNED | {Group.SIGNED_SIMILARITY, Group.RIGID},
    Group.AFFINE: _SCALED | {Group.RIGID, Group.SIMILARITY},
    Group.MONOTONE_PERMUTATION: _SCALED,
}
