"""
Coordinates that span the data
==============================

The first eigenvectors of a long strip are harmonics of one another: a map of the first two is a curve.
``n_components="auto"`` chooses coordinates that span the data, as many as needed.
"""

import matplotlib.pyplot as plt
import numpy as np

import geolap

strip = np.random.default_rng(1).uniform(size=(1500, 2)) * [8, 1]
eigenmap = geolap.LaplacianEigenmap(n_components="auto", random_state=0).fit(strip)
print(eigenmap.independence_)

# %%
# Left: the map of the first two coordinates; middle: the chosen ones; both are colored by the position across the strip.
# Right: how much of each candidate either map explains, that is, whether neighbors on the map have the same value.

first = geolap.LaplacianEigenmap(n_components=2, bandwidth=eigenmap.bandwidth_).fit_transform(strip)
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
for ax, embedding, numbers in ((left, first, (1, 2)), (middle, eigenmap.embedding_, eigenmap.coordinates_ + 1)):
    ax.scatter(*embedding[:, :2].T, c=strip[:, 1], s=3, cmap="cividis")
    ax.set(xticks=[], yticks=[], xlabel=f"coordinate {numbers[0]}", ylabel=f"coordinate {numbers[1]}")
eigenmap.independence_.plot(ax=right)
plt.show()

# %%
# A torus has two dimensions, but two coordinates fold it: points from different sides land at the same place on the map.
# More coordinates are added until none do.

torus = geolap.datasets.make_torus(1500, random_state=0).data
print(geolap.LaplacianEigenmap(n_components="auto", random_state=0).fit(torus).independence_)
