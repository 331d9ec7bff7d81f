"""
A map that keeps lengths
========================

Eigenmaps stretch some places and squeeze others.  `geolap.relax` moves the points of a map until lengths on it are those of
the data.  A swiss roll becomes the sheet that it was rolled up from.
"""

import matplotlib.pyplot as plt
import numpy as np

import geolap

roll = geolap.datasets.make_swiss_roll(2000, random_state=0)
eigenmap = geolap.LaplacianEigenmap(n_components=10, n_neighbors=10, random_state=0).fit(roll.data)
relaxed = geolap.relax(eigenmap, n_components=2)
print(relaxed)

# %%
# From the ten coordinates given, it uses those that give the best lengths: the first, and the one that varies across the
# sheet.  Left: the eigenmap of these two.  Middle: the relaxed map, in the unit of the data.  Right: lengths of steps
# between neighbors on either map, divided by those on the data.

i, j = np.random.default_rng(0).integers(0, 2000, (2, 5000))
true, found = (np.linalg.norm(a[i] - a[j], axis=1) for a in (roll.coordinates, relaxed.embedding))
ratio = found[true > 5] / true[true > 5]
print(f"distances between points more than 5 apart: {ratio.min():.3f} to {ratio.max():.3f} of the true ones")

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for ax, Y, title in (
    (left, eigenmap.embedding_[:, relaxed.coordinates], "eigenmap"),
    (middle, relaxed.embedding, "relaxed"),
):
    ax.scatter(*Y.T, c=roll.coordinates[:, 0], s=3, cmap="cividis")
    ax.set_title(title)
left.set(xticks=[], yticks=[])
middle.set_aspect("equal")
relaxed.plot(ax=right)
plt.show()

# %%
# A hemisphere does not fit into the plane, but it does into three coordinates.

dome = geolap.datasets.make_dome(1500, random_state=0)
print(geolap.relax(geolap.LaplacianEigenmap(n_components=3, random_state=0).fit(dome.data)))
