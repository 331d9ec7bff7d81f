"""
True lengths on a rolled-up strip
=================================

A map of the swiss roll distorts lengths.  The Riemannian metric G of the map measures the distortion and corrects it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.neighbors import kneighbors_graph

import geolap

roll = geolap.datasets.make_swiss_roll(2500, random_state=0)
X = roll.data

# %%
# Both directions of the strip matter here, so the bandwidth is selected with ``working_dim=2``.  If only one direction were
# compared, the flat one across the strip would decide, and ε̂ would be so large that layers touch.

model = geolap.GraphLaplacian(geolap.GeometricConsistency(working_dim=2, random_state=0)).fit(X)
eigenmap = geolap.LaplacianEigenmap(n_components=5, bandwidth=model.bandwidth_).fit(X)
metric = geolap.riemannian_metric(eigenmap.embedding_, model, intrinsic_dim=2)
print(f"bandwidth {model.bandwidth_:.3g}; layers of the roll are {2 * np.pi:.3g} apart")

# %%
# Shortest paths along the data between random pairs of points:

graph = kneighbors_graph(X, 15)
paths = []
print("  on the strip   through the air   on the map   corrected by G")
for i, j in np.random.default_rng(0).choice(len(X), (6, 2), replace=False):
    path = metric.geodesic_path(graph, i, j)
    truth = np.linalg.norm(roll.coordinates[i] - roll.coordinates[j])
    air = np.linalg.norm(X[i] - X[j])
    print(f"{truth:14.1f}{air:18.1f}{metric.length(path, corrected=False):13.2f}{metric.length(path):17.1f}")
    paths.append(path)

# %%
# The longest of the paths, on the roll and on the map.  The strip is four times as long as it is wide, so the first three
# coordinates of the map only bend it along its length; the fourth goes across.

longest = max(paths, key=metric.length)
figure = plt.figure(figsize=(9, 4), layout="constrained")
ax = figure.add_subplot(1, 2, 1, projection="3d")
ax.scatter(*X[:, [0, 2, 1]].T, c=roll.coordinates[:, 0], s=2, alpha=0.4)
ax.plot(*X[longest][:, [0, 2, 1]].T, "k-", lw=2)
ax.view_init(65, -75)
ax.set_box_aspect(np.ptp(X[:, [0, 2, 1]], axis=0), zoom=1.25)
ax.set_axis_off()
ax = figure.add_subplot(1, 2, 2)
ax.scatter(*eigenmap.embedding_[:, [0, 3]].T, c=roll.coordinates[:, 0], s=2)
ax.plot(*eigenmap.embedding_[longest][:, [0, 3]].T, "k-", lw=2)
ax.set(xticks=[], yticks=[], xlabel="first coordinate of the map", ylabel="fourth")
plt.show()
