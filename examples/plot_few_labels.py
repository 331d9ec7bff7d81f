"""
Digits from 100 labels
======================

Of 1797 handwritten digits, 100 have a label.  The bandwidth comes from geometry, everything else from leave-one-out on the
labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import geolap

X, truth = load_digits(return_X_y=True)
y = np.full(len(truth), -1)  # −1: unlabeled
labeled = np.random.default_rng(0).choice(len(truth), 100, replace=False)
y[labeled] = truth[labeled]

model = geolap.LaplacianClassifier(random_state=0).fit(X, y)
right = (model.transduction_ == truth)[y < 0]
print(f"bandwidth {model.bandwidth_:.3g}, {100 * right.mean():.1f} % of the other {right.size} digits are right")

# %%
# Probabilities show which predictions to trust:

confidence = model.predict_proba(X)[y < 0].max(axis=1)
sure = confidence > 0.9
print(f"where the probability is above 0.9 ({100 * sure.mean():.0f} % of them): {100 * right[sure].mean():.1f} %")

# %%
# The least certain digits, with the prediction, and the truth where it differs:

unlabeled = np.flatnonzero(y < 0)
figure, axes = plt.subplots(2, 8, figsize=(8, 2.6), layout="constrained")
for ax, k in zip(axes.flat, np.argsort(confidence), strict=False):
    i = unlabeled[k]
    ax.imshow(X[i].reshape(8, 8), cmap="gray_r")
    wrong = model.transduction_[i] != truth[i]
    ax.set_title(
        f"{model.transduction_[i]}" + (f", not {truth[i]}" if wrong else ""), fontsize=9, color="r" if wrong else "k"
    )
    ax.set_axis_off()
plt.show()
