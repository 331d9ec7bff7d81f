"""
Data in several parts
=====================

Where no edge joins the parts of the data, the smoothest eigenvectors of the whole graph only tell them apart: each part is a
dot on a map in two coordinates.  By default each part is mapped by itself, and the others stand around the largest.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import geolap

# %%
# Two rings and a sheet, seen in five noisy dimensions:

rng = np.random.default_rng(0)
turn = rng.uniform(0, 2 * np.pi, 1200)
ring = np.column_stack([np.cos(turn), np.sin(turn)])
parts = np.vstack([ring[:800], 0.5 * ring[800:] + [4, 0], rng.uniform((0, 3), (2, 4), (500, 2))])
X = np.hstack([parts, np.zeros((1700, 3))]) + 0.02 * rng.standard_normal((1700, 5))

with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    arranged = geolap.LaplacianEigenmap(random_state=0).fit(X)
    whole = geolap.LaplacianEigenmap(disconnected="whole", random_state=0).fit(X)
print(told[0].message)

# %%
# How far apart the parts are is not told by the graph, and not by the map.  Directions are those of the data, turned:

figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
places = {"the data": X, "eigenvectors of the whole": whole.embedding_, "each by itself": arranged.embedding_}
for ax, (title, points) in zip(axes, places.items(), strict=True):
    ax.scatter(points[:, 0], points[:, 1], c=arranged.component_labels_, cmap="tab10", vmin=-0.5, vmax=9.5, s=6)
    ax.set(title=title, aspect="equal")
plt.show()
