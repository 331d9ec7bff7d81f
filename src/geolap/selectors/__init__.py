"""Ways to choose ε, one file each, all with the same face: ``fit(X, y=None)`` → ``bandwidth_``, ``selection_``."""

from ..validation import check_choice
from .geometric_consistency import GeometricConsistency

__all__ = ["GeometricConsistency", "select_bandwidth"]

_METHODS = {"gc": GeometricConsistency}


def select_bandwidth(X, method="gc", *, y=None, **params):
    """Choose a kernel bandwidth for the points X by the named method.

    Parameters
    ----------
    X : array-like (n_points, n_features)
    method : {"gc"}, default "gc"
        ``"gc"`` is `GeometricConsistency`.
    y : array-like (n_points,), optional
        Labels, for methods that use them.
    **params
        Parameters of the method's class.

    Returns
    -------
    Selection

    Examples
    --------
    >>> import geolap
    >>> X = geolap.datasets.make_sphere(400, random_state=0).data
    >>> geolap.select_bandwidth(X, working_dim=2, random_state=0).method
    'gc'
    """
    check_choice("method", method, tuple(_METHODS))
    return _METHODS[method](**params).fit(X, y).selection_
