"""The map of a million points on two cores, thinned, over neighbors or landmarks: time, memory, quality at 40 000 points.

python benchmarks/million.py quality       all ways against the exact map of 40 000 points (Procrustes)
python benchmarks/million.py solvers       Lanczos and LOBPCG with multigrid on graphs of 100 000 points
python benchmarks/million.py thinned       a million points, a share of the pairs within reach, as by default
python benchmarks/million.py neighbors     a million points, each joined with its k nearest neighbors
python benchmarks/million.py landmarks     a million points, 20 000 of which carry the graph
python benchmarks/million.py               all of them, some twenty minutes
"""

from scipy.spatial import procrustes

import geolap
from geolap.graphs.graph import kernel_graph
from geolap.graphs.neighbors import nearest_pairs
from geolap.graphs.spectrum import smooth_spectrum
from measuring import hourglass, peak, run_parts, timed


def fitted(X, n_components, **params):
    """The map, and seconds."""
    return timed(geolap.LaplacianEigenmap(n_components, random_state=0, **params).fit, X)


def quality():
    print("hourglass, N=40000, r=13: share of the exact map that is not matched (Procrustes), over 3, 4 and 5 coordinates")
    X = hourglass(40_000)
    exact, seconds = fitted(X, 5, n_edges="all")
    print(f"{'exact':<17}{seconds:>4.0f} s, ε̂ = {exact.bandwidth_:.3f}, λ = {exact.eigenvalues_.round(2)}", flush=True)
    ways = (
        [{"n_edges": k} for k in ("auto", 40, 80, 160)]
        + [{"n_neighbors": k} for k in (20, 50, 200)]
        + [{"n_landmarks": m} for m in (1000, 2000, 5000)]
    )
    for way in ways:
        model, seconds = fitted(X, 5, **way)
        unmatched = [procrustes(exact.embedding_[:, :k], model.embedding_[:, :k])[2] for k in (3, 4, 5)]
        ((name, value),) = way.items()
        print(f"{value:>6} {name[2:]:<10}{seconds:>4.0f} s, ε̂ = {model.bandwidth_:.3f}, ", end="")
        print(f"λ = {model.eigenvalues_.round(2)}, unmatched", *(f"{u:.4f}" for u in unmatched), flush=True)


def solvers():
    print("hourglass, N=100000, r=13: smallest eigenpairs")
    X = hourglass(100_000)
    for n_neighbors in (30, 100):
        pairs = nearest_pairs(X, n_neighbors)
        bandwidth = geolap.GeometricConsistency(n_neighbors=n_neighbors, random_state=0).fit(X).bandwidth_
        graph = kernel_graph(pairs, bandwidth)
        for k in (3, 10, 30):
            for solver in ("lanczos", "lobpcg"):
                spectrum, seconds = timed(smooth_spectrum, graph, k + 1, solver=solver)
                print(f"{n_neighbors:>4} neighbors, {k:>2} pairs, {solver:<8}{seconds:>6.0f} s, ", end="")
                print(f"residual {spectrum.residual:.0e}", flush=True)


def million(**params):
    X = hourglass(1_000_000)
    data = peak()
    model, seconds = fitted(X, 3, **params)
    print(f"  {seconds:.0f} s (at most 900), peak {peak():.1f} GiB (at most 12; {data:.1f} before the fit), ", end="")
    print(f"ε̂ = {model.bandwidth_:.4f}, λ = {model.eigenvalues_.round(3)},")
    entries = model.graph_.weights.nnz
    print(f"  {entries:.2g} entries, error of thinning {model.thinning_error_}, components {model.n_graph_components_}")


def thinned():
    print("LaplacianEigenmap, hourglass, N=1000000, r=13")
    million()


def neighbors():
    print("LaplacianEigenmap, hourglass, N=1000000, r=13, 50 nearest neighbors")
    million(n_neighbors=50)


def landmarks():
    print("LaplacianEigenmap, hourglass, N=1000000, r=13, 20000 landmarks")
    million(n_landmarks=20_000)


if __name__ == "__main__":
    run_parts(quality, solvers, thinned, neighbors, landmarks, separate=True)
