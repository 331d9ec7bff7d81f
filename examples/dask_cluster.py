"""
On a cluster with Dask
======================

geolap processes a dask array chunk by chunk, on threads or on the workers of a cluster.  Workers return only sums, so no
machine needs to hold all points.
"""

import tempfile
import time
from pathlib import Path

import dask.array as da
from distributed import Client, LocalCluster

import geolap

if __name__ == "__main__":  # workers are processes that import this file
    points = geolap.datasets.make_hourglass(200_000, noise=0.01, noise_dims=10, random_state=0).data
    file = Path(tempfile.mkdtemp()) / "points.zarr"
    da.from_array(points, chunks=(25_000, -1)).to_zarr(file)
    X = da.from_zarr(file)  # chunked by rows

    with LocalCluster(n_workers=2, threads_per_worker=1) as cluster, Client(cluster):  # or Client("scheduler:8786")
        start = time.perf_counter()
        selection = geolap.select_bandwidth(X, random_state=0)
        print(f"{time.perf_counter() - start:.0f} s on two workers: ε̂ = {selection.bandwidth:.4g}")

    start = time.perf_counter()
    in_memory = geolap.select_bandwidth(points, random_state=0)
    print(f"{time.perf_counter() - start:.0f} s in memory:      ε̂ = {in_memory.bandwidth:.4g}")

# %%
# On two cores shared with other work:
#
# .. code-block:: text
#
#     141 s on two workers: ε̂ = 0.1403
#     81 s in memory:      ε̂ = 0.1403
#
# A cluster pays off when the points do not fit into the memory of one machine; here they do.  See :doc:`/scale`.

# sphinx_gallery_thumbnail_path = "images/tile_dask_cluster.svg"
