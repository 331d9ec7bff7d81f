"""
Any metric: a survey under Gower's distance
===========================================

Answers to a survey are numbers, choices and yes or no.  Gower's distance is the mean over the questions: for a number, the
difference divided by the range; for a choice, 0 or 1.  Any function of two rows can be a metric.
"""

import matplotlib.pyplot as plt
import numpy as np

import geolap

# %%
# People along a path from one way of life to another answer eight questions:

rng = np.random.default_rng(0)
path = np.sort(rng.random(200))
numbers = path[:, None] * [40, 3, 10] + [20, 0, 5] + rng.normal(0, (2, 0.2, 0.8), (200, 3))
choices = np.digitize(path[:, None] + rng.normal(0, 0.06, (200, 3)), [0.25, 0.5, 0.75])
yes = path[:, None] + rng.normal(0, 0.1, (200, 2)) > [0.35, 0.65]
answers = np.column_stack([numbers, choices, yes])
ranges = np.ptp(numbers, axis=0)


def gower(a, b):
    """The mean of the differences of the answers."""
    return (np.abs(a[:3] - b[:3]) / ranges).sum() / 8 + np.mean(a[3:] != b[3:]) * 5 / 8


# %%
# The metric is given by name or, as here, by a function; everything else works as for points.  People who agree in all
# choices form one scale; the path is the larger one:

selection = geolap.GeometricConsistency(n_sample=60, metric=gower, random_state=0).fit(answers).selection_
print([f"{minimum.bandwidth:.3g}" for minimum in selection.minima])
path_scale = selection.minima[-1].bandwidth
eigenmap = geolap.LaplacianEigenmap(2, path_scale, metric=gower, n_neighbors=None).fit(answers)
along = np.abs(np.corrcoef(eigenmap.embedding_[:, 0], path)[0, 1])
print(f"correlation of the first coordinate with the path: {along:.2f}")

# %%
# The share of negative eigenvalues shows how far the distances are from Euclidean ones:

for metric in ("euclidean", "manhattan", gower):
    selection = geolap.GeometricConsistency(1, n_sample=50, metric=metric, random_state=0).fit(answers).selection_
    share = selection.details.get("negative_share", 0.0)
    print(f"{getattr(metric, '__name__', metric)}: {share:.1%} negative, ε = {selection.bandwidth:.3g}")

figure, ax = plt.subplots(figsize=(5, 4), layout="constrained")
ax.scatter(path, eigenmap.embedding_[:, 0], c=choices[:, 0], cmap="viridis", s=10)
ax.set(xlabel="place on the path", ylabel="first coordinate")
