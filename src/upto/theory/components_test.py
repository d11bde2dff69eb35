"""Results of the tests of the components of a fitted mixture."""

from __future__ import annotations

from dataclasses import dataclass

LEVEL = 0.05
"""Rate at which spurious components may be accepted."""

MOST_ROWS = 4000
"""Number of rows that are used, drawn at random from more."""

SLIGHT = 0.2
"""Limit that correlations within components must be shown to be below to be neglected."""


PER_COMPONENT = 150
"""Rows per component below which one cloud of another law often passes for J Gaussians."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentsTest:
    """Tests of the components of a mixture on the rows it was fitted to.

    Parameters
    ----------
    n_components, n_rows
        J, and the number of rows used: at most 4,000, drawn at random.
    n_draws
        Number of data sets drawn from the mixture with one component fewer.
    given
        p-value of the parameters given being those of the rows; one if none were given.
    fit
        p-value of J components with unrestricted covariances. If a p-value is large, drawing stops
        early, and it is that of the data sets drawn so far.
    fewer
        p-value of J - 1 components with unrestricted covariances; one for J = 1, and if the rows do
        not follow J.
    independent
        p-value of coordinates being independent within J components; one if not tested.
    correlation
        Largest correlation within a component, with unrestricted covariances.
    correlation_limit
        Upper 95 % limit of the correlations: the largest absolute one plus 1.645 standard errors,
        from data sets with independent coordinates; one if not tested.
    pair
        The two components, of the test's own fit, whose variance ratios differ most clearly.
    ratios
        p-value of two coordinates having equal variance ratios in every pair of components; one if
        an earlier test failed, or coordinates are not independent.

    See Also
    --------
    bootstrap_components : Returns it.
    """

    n_components: int
    n_rows: int
    n_draws: int
    given: float
    fit: float
    fewer: float
    independent: float
    correlation: float
    correlation_limit: float
    pair: tuple[int, int] | None
    ratios: float

    @property
    def fits(self) -> bool:
        """Whether neither J Gaussians nor the parameters given are rejected, at 0.05 each."""
        return min(self.given, self.fit) > LEVEL

    @property
    def n_enough(self) -> int:
        """Number of rows below which J Gaussians are not believed, although not rejected."""
        return min(PER_COMPONENT * self.n_components, MOST_ROWS)

    @property
    def are_enough(self) -> bool:
        """Whether there are enough rows to reject most other laws."""
        return self.n_rows >= self.n_enough

    @property
    def are_correlated(self) -> bool:
        """Whether coordinates are not independent within components, at a level of 0.05."""
        return self.fits and self.independent <= LEVEL

    @property
    def are_needed(self) -> bool:
        """Whether fewer components are rejected, at a level of 0.05."""
        return self.fits and self.fewer <= LEVEL

    @property
    def are_nearly_independent(self) -> bool:
        """Whether correlations within components are shown to be small, not just undetected."""
        return not self.are_correlated and self.correlation_limit < SLIGHT

    @property
    def ratios_differ(self) -> bool:
        """Whether, in addition, two components have variance ratios that all differ."""
        return self.are_needed and self.are_nearly_independent and self.ratios <= LEVEL

    @property
    def says(self) -> str:
        """Summary of the p-values as text."""
        if self.given <= LEVEL:
            return (
                f"that {self.n_rows} rows have the law of these parameters has p = "
                f"{self.given:.2g}, so the two do not belong together"
            )
        fit = f"that {self.n_rows} rows follow {_components(self.n_components)} has p = "
        if self.fit <= LEVEL:
            return f"{fit}{self.fit:.2g}, so their law is different"
        undetected = "slightly heavier tails would go undetected"
        if not self.are_enough:
            undetected = f"fewer than {self.n_enough} rows often hide another law"
        words = [f"{fit}{self.fit:.2g} ({undetected})"]
        if self.n_draws:
            less = _components(self.n_components - 1)
            words.append(f"that {less} would suffice {self.fewer:.2g} by {self.n_draws} draws")
        if self.n_draws and not self.are_needed:
            words[-1] += ", so a component may be spurious"
        return ", ".join(words)

    @property
    def says_of_shapes(self) -> str:
        """Summary of the tests of correlations and variance ratios within components."""
        limit = f"{self.correlation_limit:.2g} at most by their 95 % limit"
        if not self.are_correlated and self.correlation_limit >= SLIGHT:
            limit += f", where {SLIGHT} would suffice"
        return (
            f"correlations within components are up to {self.correlation:.2g}, {limit}, that all "
            f"are zero has p = {self.independent:.2g}, that two variance ratios are equal "
            f"{self.ratios:.2g}"
        )


def _components(count: int) -> str:
    return f"{count} Gaussian component{'s' * (count != 1)}"
