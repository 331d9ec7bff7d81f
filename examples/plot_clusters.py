"""
Clusters, and how many
======================

Spectral clustering needs the number of clusters, and often spends some of them on outliers.  Here the spectrum of the graph
shows how many stand out, and outliers join the clusters of their neighbors.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import geolap

rng = np.random.default_rng(0)
moons, _ = make_moons(400, noise=0.07, random_state=0)
cloud = rng.normal((0.5, 2.2), 0.25, (200, 2))
stray = rng.uniform((-3, -2), (4, 4), (12, 2))
sets = {
    "two moons, a cloud, strays": np.vstack([moons, cloud, stray]),
    "swiss roll, from the side": geolap.datasets.make_swiss_roll(800, random_state=0).data,
    "three that touch": np.vstack([rng.normal(center, 0.72, (200, 2)) for center in ((0, 0), (3, 0), (1.5, 2.6))]),
}

# %%
# Clusters stand out, or run into each other, or there is only one piece:

figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for ax, (name, X) in zip(axes, sets.items(), strict=True):
    model = geolap.LaplacianClustering(random_state=0).fit(X)
    print(f"{name}: {model.n_clusters_} ({model.n_outliers_} outliers).  {model.status_}")
    ax.scatter(X[:, 0], X[:, -1], c=model.labels_, cmap="tab10", vmin=-0.5, vmax=9.5, s=6)
    ax.set_title(f"{name}: {model.n_clusters_}", fontsize=10)
    ax.set_aspect("equal")

# %%
# New points get the cluster of their neighbors:

model = geolap.LaplacianClustering(random_state=0).fit(sets["two moons, a cloud, strays"])
print(model.predict([[0.0, 1.0], [1.0, -0.5], [0.5, 2.0]]))
plt.show()
