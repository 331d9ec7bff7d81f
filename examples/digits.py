"""Choose a bandwidth for handwritten digits: scikit-learn's bundled 1797 images of 8×8 pixels."""

import time

from sklearn.datasets import load_digits

import geolap

X = load_digits().data
start = time.perf_counter()
selection = geolap.select_bandwidth(X, random_state=0)
seconds = time.perf_counter() - start

print(f"{X.shape[0]} points in {X.shape[1]} dimensions, {seconds:.1f} s")
print(selection.explain())
gamma = geolap.convert_bandwidth(selection.bandwidth, target="gamma")
print(f"For scikit-learn's rbf kernels that is gamma = {gamma:.3g} (their default, 1/n_features, is {1 / X.shape[1]:.3g}).")
