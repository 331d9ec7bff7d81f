"""
On a GPU
========

The type of the array decides where the work is done: a torch tensor or a CuPy array on a GPU is processed there.  The sums
run over all 10¹² pairs of a million points.
"""

import time

import torch

import geolap

X = geolap.datasets.make_hourglass(1_000_000, noise=0.01, noise_dims=10, random_state=0).data
on_gpu = torch.tensor(X, device="cuda")

start = time.perf_counter()
selection = geolap.select_bandwidth(on_gpu, random_state=0)
print(f"{time.perf_counter() - start:.1f} s, ε̂ = {selection.bandwidth:.4g}, {selection.status.name.lower()}")

# %%
# On one NVIDIA H200, after a first call has compiled the kernel:
#
# .. code-block:: text
#
#     11.4 s, ε̂ = 0.09237, interior
#
# Estimators accept the same tensor: graph, spectrum and extension are computed on the GPU as well, and results are arrays.
# :doc:`/benchmarks` has more figures, and the accuracy of single precision.

# sphinx_gallery_thumbnail_path = "images/tile_gpu.svg"
