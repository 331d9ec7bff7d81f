"""
Eigenvalues in true units
=========================

The Laplacian of a graph with few neighbors has eigenvalues that are far too small.  A walk on the graph measures the
factor: how far it gets on the data, compared with diffusion.
"""

import matplotlib.pyplot as plt
import numpy as np

import geolap

sphere = geolap.datasets.make_sphere(2000, random_state=0).data
exact = np.repeat([2, 6, 12], [3, 5, 7])
graphs = {"all pairs": None, "100 neighbors": 100, "30 neighbors": 30, "15 neighbors": 15}
fits = {name: geolap.LaplacianEigenmap(15, n_neighbors=k, random_state=0).fit(sphere) for name, k in graphs.items()}
print(fits["15 neighbors"].calibration_.explain())

# %%
# Left: how far the walk gets in each step.  The first step is too long with few, uneven neighbors, and later ones get
# shorter as the surface bends away; c extrapolates the steps from the second on to time zero.  Right: eigenvalues divided by
# those of the sphere, before and after.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
for k, (name, fit) in enumerate(fits.items()):
    rates = fit.calibration_.rates
    left.plot(np.arange(len(rates)) + 0.5, rates, ".-", color=f"C{k}", label=name)
    left.plot(0, fit.calibration_.factor, "D", color=f"C{k}", ms=5)
    raw = geolap.LaplacianEigenmap(15, fit.bandwidth_, n_neighbors=graphs[name], calibrate=False, self_weights=True)
    right.plot(np.arange(1, 16), raw.fit(sphere).eigenvalues_ / exact, "x", color=f"C{k}", ms=5)
    right.plot(np.arange(1, 16), fit.eigenvalues_ / exact, ".-", color=f"C{k}")
left.set(xlabel="step t", ylabel="displacement, over that of diffusion", xlim=(-0.2, 8))
left.legend(frameon=False)
right.axhline(1, color="gray", lw=0.8)
right.set(xlabel="k", ylabel="λ / exact", title="crosses: raw, dots: calibrated")
plt.show()
