"""TE: the bandwidth with the least test error, found by looking at the test labels.

Not a way to choose ε but the yardstick for those that are: no rule can do better with the same classifier.
"""

import numpy as np

from ..engines.pairs import all_pairs
from ..smooth_regression import predicted_classes

__all__ = ["test_error_bandwidth"]


def test_error_bandwidth(points, target, splits, bandwidths):
    """Test errors (n_splits, m) of the Laplacian classifier, and for each split the bandwidth of the least.

    Parameters
    ----------
    points : ndarray (N, r)
    target : ndarray (N,)
        Classes 0 … C − 1 of all points.
    splits : sequence of ndarray
        Labelled rows of each split; the others are tested.
    bandwidths : ndarray (m,)
    """
    pairs = all_pairs(points)
    errors = np.empty((len(splits), len(bandwidths)))
    for column, eps in enumerate(bandwidths):
        predictions = predicted_classes(pairs, eps, splits, [target[rows] for rows in splits])
        for k, (rows, predicted) in enumerate(zip(splits, predictions, strict=True)):
            unlabelled = np.ones(len(target), dtype=bool)
            unlabelled[rows] = False
            errors[k, column] = np.mean(predicted[unlabelled] != target[unlabelled])
    return errors, np.asarray(bandwidths)[errors.argmin(axis=1)]
