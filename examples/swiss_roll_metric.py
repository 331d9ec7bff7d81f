"""True lengths on a rolled-up strip: the map distorts them, the metric G puts them right."""

import numpy as np
from sklearn.neighbors import kneighbors_graph

import geolap

roll = geolap.datasets.make_swiss_roll(4000, random_state=0)
X = roll.data

# Both directions of the strip matter here, so the bandwidth is selected with working_dim=2.
model = geolap.GraphLaplacian(geolap.GeometricConsistency(working_dim=2, random_state=0)).fit(X)
eigenmap = geolap.LaplacianEigenmap(n_components=5, bandwidth=model.bandwidth_).fit(X)
metric = geolap.riemannian_metric(eigenmap.embedding_, model.laplacian_, intrinsic_dim=2)

graph = kneighbors_graph(X, 15)
print("  on the strip   through the air   on the map   corrected by G")
for i, j in np.random.default_rng(0).choice(len(X), (6, 2), replace=False):
    path = metric.geodesic_path(graph, i, j)
    truth = np.linalg.norm(roll.coordinates[i] - roll.coordinates[j])
    air = np.linalg.norm(X[i] - X[j])
    print(f"{truth:14.1f}{air:18.1f}{metric.length(path, corrected=False):13.2f}{metric.length(path):17.1f}")
