"""
Choosing λ and k
================

The criterion that chooses ε can choose other parameters of the graph as well: here λ, the power of the degrees that is
divided out, and k of the k-nearest-neighbor graph.
"""

import matplotlib.pyplot as plt

import geolap

X = geolap.datasets.make_torus(800, noise=0.01, noise_dims=3, random_state=0).data
selector = geolap.GeometricConsistency(working_dim=2, n_sample=100)

figure, axes = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
for ax, parameters in zip(axes, ({"renormalization": (0, 1.5)}, {"n_neighbors": (5, 200)}), strict=True):
    search = geolap.ConsistencySearch(parameters, selector=selector, random_state=0).fit(X)
    (name,) = parameters
    rows = sorted(search.surface_, key=lambda row: row[name])
    print(f"{name:>16}  bandwidth  distortion")
    for row in rows:
        best = "  best" if row["score"] == search.best_score_ else ""
        print(f"{row[name]:16.3g}{row['bandwidth']:11.3g}{row['score']:12.4f}{best}")
    gain = search.gain_
    print(f"gain over ε alone: {gain.score:.4f} ± {gain.noise:.4f}, {'clear' if gain.clear else 'not clear'}\n")
    ax.plot([row[name] for row in rows], [row["score"] for row in rows], "o-", ms=4)
    ax.set(xlabel=name, ylabel="distortion at the best ε", ylim=(0, None))

# %%
# λ lowers D, but not toward λ = 1, the value that removes the density of the points: D measures second moments
# of P, while λ acts on first ones, so this is not evidence about density.  For a surface, the more neighbors the better.
# See :doc:`/estimators` for what that means on real data.

plt.show()
