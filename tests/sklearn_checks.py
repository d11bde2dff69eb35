"""The checks of scikit-learn, as parameters of a test."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks


def each_check(estimators):
    """Parametrise a test by an estimator and a check, each pair once.

    Some versions of scikit-learn give a check twice, and a generator, which pytest wants no more.
    """
    mark = parametrize_with_checks(estimators).mark
    (names, found), label = mark.args, mark.kwargs["ids"]
    pairs = {tuple(map(label, pair)): pair for pair in found}
    return pytest.mark.parametrize(names, list(pairs.values()), ids=label)
