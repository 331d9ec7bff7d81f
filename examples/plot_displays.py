"""
Six displays
============

Every result can be drawn: the displays of :mod:`geolap.display.plots` follow the style of scikit-learn's.
This example shows all six on a swiss roll.
"""

import matplotlib.pyplot as plt

import geolap
from geolap.display.plots import (
    ComparisonDisplay,
    DistortionDisplay,
    HealthDisplay,
    MetricDisplay,
    SelectionDisplay,
    SingularValuesDisplay,
)

X = geolap.datasets.make_swiss_roll(1000, random_state=0).data
selector = geolap.GeometricConsistency(random_state=0).fit(X)
eigenmap = geolap.LaplacianEigenmap(bandwidth=selector.bandwidth_).fit(X)
print(selector.selection_.status)

_, axes = plt.subplots(3, 2, figsize=(12, 13), layout="constrained")
SelectionDisplay.from_estimator(selector, ax=axes[0, 0])
ComparisonDisplay.from_points(X, ["gc", "rec", "bgh", "clmr", "median", "knn"], random_state=0, ax=axes[0, 1])
HealthDisplay.from_estimator(selector, X, random_state=0, ax=axes[1, 0])
SingularValuesDisplay.from_estimator(selector, X, random_state=0, ax=axes[1, 1])
DistortionDisplay.from_selection(selector.selection_, eigenmap.embedding_, ax=axes[2, 0])
MetricDisplay.from_estimator(eigenmap, ax=axes[2, 1])
plt.show()
