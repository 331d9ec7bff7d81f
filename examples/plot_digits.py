"""
A bandwidth for handwritten digits
==================================

scikit-learn's 1797 images of 8×8 pixels are points in 64 dimensions, and nothing is known about their scale.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import geolap

X = load_digits().data
start = time.perf_counter()
selection = geolap.select_bandwidth(X, random_state=0)
seconds = time.perf_counter() - start

print(f"{X.shape[0]} points in {X.shape[1]} dimensions, {seconds:.1f} s")
print(selection.explain())

# %%
# The curve has two minima.  At the one on the right, neighborhoods hold three quarters of all images: nothing local is
# measured there, so it is not accepted, although it is nearly as low.  On other data it is often the lower one.

_, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
selection.plot(ax=ax)
ax.set_title("Handwritten digits, 1797 images of 8×8 pixels", loc="left", fontsize=10)

# %%
# Other programs write the same kernel in other ways (see :doc:`/conversions`).  scikit-learn's default, 1/n_features, is
# far off:

gamma = geolap.convert_bandwidth(selection.bandwidth, target="gamma")
print(f"For scikit-learn's rbf kernels that is gamma = {gamma:.3g} (their default is {1 / X.shape[1]:.3g}).")

# %%
# The health of the graph at this bandwidth, computed before the graph is built, and a map of the digits:

print(geolap.graph_health(X, selection.bandwidth, random_state=0))

eigenmap = geolap.LaplacianEigenmap(n_components=3, bandwidth=selection.bandwidth).fit(X)
_, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
colors = ax.scatter(*eigenmap.embedding_[:, :2].T, c=load_digits().target, cmap="tab10", s=5)
ax.legend(*colors.legend_elements(), title="digit", loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
ax.set_xticks([])
ax.set_yticks([])
plt.show()
