"""
The metric of a map of the torus
================================

Where does a map stretch, and where does it shrink?  At every point, √det G is the area on the data that corresponds to a
unit of area on the map.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import EllipseCollection

import geolap

torus = geolap.datasets.make_torus(3000, random_state=0)
X = torus.data
model = geolap.GraphLaplacian(geolap.GeometricConsistency(working_dim=2, random_state=0)).fit(X)
print(model.selection_.explain())

# %%
# The torus seen from above is a simple map: a ring, on which the upper half of the tube lies over the lower.  Where the tube
# is level the map is true, √det G = 1.  Where the tube is steep, at both rims, a unit of area on the map holds much more of
# the torus.  The exact value is ``1/|sin a|``, with a the angle around the tube from the outer rim.

flat = geolap.riemannian_metric(X[:, :2], model, intrinsic_dim=2)
angle = torus.coordinates[:, 0]
exact = 1.0 / np.abs(np.sin(angle))
level = np.abs(np.sin(angle)) > 0.5
ratio = flat.volume[level] / exact[level]
low, middle, high = np.quantile(ratio, [0.25, 0.5, 0.75])
print(f"found over exact, away from the rims: {middle:.3f} (quartiles {low:.3f} and {high:.3f})")

# %%
# Ellipses of H show how the unit circle of the data appears on the map, for some points of the upper half.

upper = np.flatnonzero(X[:, 2] > 0)
chosen = np.random.default_rng(0).choice(upper, 130, replace=False)
width, height = 0.28 * flat.stretch[chosen].T
turn = np.degrees(np.arctan2(flat.tangent[chosen, 1, 0], flat.tangent[chosen, 0, 0]))

figure, ax = plt.subplots(figsize=(6.4, 5), layout="constrained")
points = ax.scatter(*X[upper, :2].T, c=np.clip(flat.volume[upper], 1, 4), s=4, cmap="viridis")
place = {"units": "xy", "offsets": X[chosen, :2], "offset_transform": ax.transData}
ellipses = EllipseCollection(width, height, turn, facecolors="none", edgecolors="k", linewidths=0.8, **place)
ax.add_collection(ellipses)
figure.colorbar(points, label="√det G, area of the torus in a unit of the map")
ax.set_aspect("equal")
ax.set_axis_off()
plt.show()
