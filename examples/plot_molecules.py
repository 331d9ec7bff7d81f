"""
Molecules: a map from RMSD alone
================================

Shapes of a molecule have no comparable coordinates: one must be rotated onto the other first.  What chemists have is the
root mean square deviation after that superposition, a distance for every pair.  Geometric consistency needs no more, so ε,
the map and the number of torsions follow from the matrix of distances.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsRegressor

import geolap

# %%
# Five atoms in a chain that turns about its two inner bonds.  Every shape has its own position and orientation, so the raw
# coordinates say nothing:

rotor = geolap.datasets.make_rotor(300, random_state=0)
turns = Rotation.random(300, random_state=0)
atoms = np.array([turn.apply(shape - shape.mean(axis=0)) for turn, shape in zip(turns, rotor.atoms, strict=True)])


def rmsd(shapes):
    """Of all pairs, each rotated onto the other, from the singular values of their covariances (Kabsch 1976)."""
    covariances = np.einsum("iak,jal->ijkl", shapes, shapes)
    overlap = np.linalg.svd(covariances, compute_uv=False)
    overlap[..., 2] *= np.sign(np.linalg.det(covariances))  # no reflections
    size = (shapes**2).sum(axis=(1, 2))
    return np.sqrt(np.maximum(size[:, None] + size - 2 * overlap.sum(axis=2), 0.0) / shapes.shape[1])


distances = rmsd(atoms)
np.fill_diagonal(distances, 0.0)

# %%
# The bandwidth and the map from the distances.  RMSD is not quite Euclidean, and the selection says by how much:

selector = geolap.GeometricConsistency(n_sample=60, random_state=0)
eigenmap = geolap.LaplacianEigenmap(5, selector, metric="precomputed", random_state=0).fit(distances)
selection = eigenmap.selection_
print(selection)
print(f"negative eigenvalues: {selection.details['negative_share']:.1%} of the matrix of inner products")

# %%
# Only two angles change, and the map has found them:

angles = np.column_stack([rotor.functions[name] for name in rotor.torsions])
target = np.column_stack([np.cos(angles), np.sin(angles)])
found = cross_val_predict(KNeighborsRegressor(4, weights="distance"), eigenmap.embedding_, target)
told = 1.0 - ((found - target) ** 2).sum(axis=0) / ((target - target.mean(axis=0)) ** 2).sum(axis=0)
print(f"R² of the torsions from the map: {told.min():.3f}")

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, angle, name in zip(axes, angles.T, rotor.torsions, strict=True):
    dots = ax.scatter(*eigenmap.embedding_[:, :2].T, c=angle, cmap="twilight", s=14)
    ax.set(title=name, xlabel="first coordinate", ylabel="second coordinate", xticks=[], yticks=[])
figure.colorbar(dots, ax=axes, label="radians")
