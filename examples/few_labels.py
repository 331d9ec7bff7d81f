"""Classify 1797 handwritten digits from 100 labels: the bandwidth by geometry, everything else by leave-one-out."""

import numpy as np
from sklearn.datasets import load_digits

import geolap

X, truth = load_digits(return_X_y=True)
y = np.full(len(truth), -1)  # −1: unlabelled
labelled = np.random.default_rng(0).choice(len(truth), 100, replace=False)
y[labelled] = truth[labelled]

model = geolap.LaplacianClassifier(random_state=0).fit(X, y)
right = (model.transduction_ == truth)[y < 0]
print(f"bandwidth {model.bandwidth_:.3g}, {100 * right.mean():.1f} % of the other {right.size} digits are right")
sure = model.predict_proba(X)[y < 0].max(axis=1) > 0.9
print(f"where the probability is above 0.9 ({100 * sure.mean():.0f} % of them): {100 * right[sure].mean():.1f} %")
