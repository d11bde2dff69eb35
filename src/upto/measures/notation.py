"""Formulas and symbols that the declarations of several measures share.

Formulas are LaTeX without dollars. Pages set their lines, and the parts between a comma and a wide
space, below each other.
"""

CENTRED = r"$X$ and $Y$ are the rows of the two runs, each minus the mean of its columns."
ROWS = r"$x_i$ and $y_i$ are the $i$-th rows of the two runs and $n$ is the number of rows."

MEAN_CANONICAL = r"\frac{1}{r} \sum_{k=1}^{r} \rho_k, \qquad \rho_k = \sigma_k(U_X^\top U_Y)"
WEIGHTED_CANONICAL = (
    r"\frac{\sum_k \alpha_k \rho_k}{\sum_k \alpha_k}, \qquad \rho_k = \sigma_k(U_X^\top U_Y)"
)
SINGULAR = r"$\sigma_k$ is the $k$-th largest singular value"

NUCLEAR_COSINE = (
    r"\frac{\lVert \tilde X^\top \tilde Y \rVert_*}"
    r"{\lVert \tilde X \rVert_F \, \lVert \tilde Y \rVert_F}"
)
NORMS = (
    r"$\lVert\cdot\rVert_*$ is the sum of the singular values and $\lVert\cdot\rVert_F$ the root "
    "of the sum of all squares."
)

UNBIASED_PRODUCT = (
    r"h(K, L) = \operatorname{tr}(K L) + "
    r"\frac{(\mathbf{1}^\top K \mathbf{1}) (\mathbf{1}^\top L \mathbf{1})}{(n-1)(n-2)} - "
    r"\frac{2}{n-2} \, \mathbf{1}^\top K L \mathbf{1}"
)
UNBIASED_COSINE = r"\frac{h(K, L)}{\sqrt{h(K, K) \, h(L, L)}}" + "\n" + UNBIASED_PRODUCT
UNBIASED = (
    r"$h(K, L) / (n(n-3))$ is the unbiased estimate by Song et al. of the inner product of the "
    "centred kernels."
)
CENTRED_COSINE = (
    r"\frac{\operatorname{tr}(H K H L)}"
    r"{\sqrt{\operatorname{tr}(H K H K) \, \operatorname{tr}(H L H L)}}, "
    r"\qquad H = I - \tfrac{1}{n} \mathbf{1} \mathbf{1}^\top"
)
