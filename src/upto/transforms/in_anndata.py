"""Store components in AnnData objects (anything with `obsm`, `varm` and `uns`) and load them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from upto.core import InputError
from upto.core.errors import shortened
from upto.transforms.kinds import kind_of
from upto.transforms.save import DESCRIPTION, describe_transform, unpack_transform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from upto.transforms.kinds import Transform


def write_to_anndata(
    adata: Any,
    ica: Transform,
    sources: NDArray[Any],
    *,
    key: str = "ica",
    basis: str | None = None,
) -> None:
    """Store components in an AnnData object, as `upto unmix` does in an h5ad file.

    The components go to ``obsm["X_ica"]`` and, if the basis is made of variables, the mixing to
    ``varm["ica_mixing"]``. ``uns["ica"]`` has the arrays of the transform under the names of its
    attributes (``sources = (X - mean) @ components.T`` and ``X = sources @ mixing.T + mean``), its
    `kind`, `solver`, `contrast`, `seed`, `converged`, `n_iterations`, `feature_names`, the
    `version` of upto, the `basis`, and all parameters as JSON in `transform`.

    Parameters
    ----------
    adata
        AnnData object, modified in place.
    ica
        The fitted `ICA`, `Whitener`, or an aligner (which has no mixing).
    sources
        The components, one row per observation.
    key
        Name to store them under.
    basis
        Data the transform was fitted to: ``X`` (the default), a layer as ``layers/name``, or a key
        of `obsm`.

    Raises
    ------
    InputError
        If the components do not match the observations, or the basis does not match the variables.

    See Also
    --------
    upto.ica_from_anndata : Read the transform again.
    upto.unmix : Fit and write an h5ad file in one call.
    upto.ICA : The transform.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import upto
    >>> adata = anndata.AnnData(np.random.default_rng(0).laplace(size=(500, 3)))
    >>> ica = upto.ICA(random_state=0).fit(adata.X)
    >>> upto.write_to_anndata(adata, ica, ica.transform(adata.X))
    >>> adata.obsm["X_ica"].shape, adata.varm["ica_mixing"].shape
    ((500, 3), (3, 3))
    """
    if len(sources) != adata.n_obs:
        message = (
            f"there are {len(sources)} rows of components and {adata.n_obs} observations: "
            "transform the rows of this object."
        )
        raise InputError(message)
    basis = basis or "X"
    of_variables = basis == "X" or basis.startswith("layers/")
    if of_variables and ica.n_features_in_ != adata.n_vars:
        message = (
            f"the transform was fitted to {ica.n_features_in_} coordinates and {basis} has "
            f"{adata.n_vars} variables: name the basis it was fitted to, as in basis='X_pca'."
        )
        raise InputError(message)
    mixing = kind_of(ica)[1].mixing if of_variables else None
    beside = None if mixing is None else mixing(ica)[_places(adata, ica)]
    adata.uns[key] = describe_transform(ica) | {"basis": basis}
    adata.obsm[f"X_{key}"] = sources
    if beside is not None:
        adata.varm[f"{key}_mixing"] = beside


def _places(adata: Any, ica: Transform) -> Any:
    """Return the position of each variable among the columns the transform was fitted to."""
    fitted = [str(name) for name in getattr(ica, "feature_names_in_", ())]
    variables = [str(name) for name in adata.var_names]
    # AnnData numbers variables that have no names.
    if not fitted or all(name.isdecimal() for name in variables):
        return slice(None)
    if sorted(fitted) != sorted(variables):
        message = (
            f"the transform was fitted to {_some(fitted)}, but the variables are "
            f"{_some(variables)}: name the basis it was fitted to, as in basis='X_pca'."
        )
        raise InputError(message)
    place = {name: number for number, name in enumerate(fitted)}
    return [place[name] for name in variables]


def _some(names: list[str]) -> str:
    return shortened(", ".join(names[:6]) + (", …" if len(names) > 6 else ""))


def ica_from_anndata(adata: Any, key: str = "ica") -> Transform:
    """Return the fitted estimator stored in an AnnData object.

    Parameters
    ----------
    adata
        AnnData object, e.g. read from an h5ad file that `upto unmix` wrote.
    key
        Name the components are stored under.

    Returns
    -------
    ICA, Whitener or an aligner
        The fitted estimator.

    Raises
    ------
    InputError
        If there is no transform of that name.

    See Also
    --------
    upto.write_to_anndata : Store it.
    upto.load_transform : Read a transform from a file of its own.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import upto
    >>> adata = anndata.AnnData(np.random.default_rng(0).laplace(size=(500, 3)))
    >>> ica = upto.ICA(random_state=0).fit(adata.X)
    >>> upto.write_to_anndata(adata, ica, ica.transform(adata.X))
    >>> again = upto.ica_from_anndata(adata)
    >>> bool(np.allclose(again.transform(adata.X), adata.obsm["X_ica"]))
    True
    """
    found = adata.uns.get(key)
    if not isinstance(found, Mapping) or DESCRIPTION not in found:
        message = f"uns[{key!r}] is not a transform: write one with `upto unmix`, or name its key."
        raise InputError(message)
    return unpack_transform(found, f"uns[{key!r}]")
