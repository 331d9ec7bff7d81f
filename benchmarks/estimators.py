"""What is built with ε̂: errors on the benchmark sets, gains from other parameters, speed at 20 000 and 100 000 points.

python benchmarks/estimators.py labels     the classifier on the six sets, beside scikit-learn's LabelSpreading
python benchmarks/estimators.py sets       the classifier on every labeled set that is installed, ten choices of 100 labels
python benchmarks/estimators.py digits     the classifier on scikit-learn's digits, six random choices of 100 labels
python benchmarks/estimators.py scales     COIL with one bandwidth, with local scales, and with nearest neighbors
python benchmarks/estimators.py search     λ, k and the cutoff by geometric consistency
python benchmarks/estimators.py metric     lengths and areas on the sphere and the swiss roll
python benchmarks/estimators.py speed      the map of 20 000 points, labels of 100 000
python benchmarks/estimators.py            all of them, some ten minutes on two cores
"""

from functools import partial
from types import SimpleNamespace

import numpy as np
from scipy.spatial import ConvexHull, Delaunay
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph
from sklearn.semi_supervised import LabelSpreading

import geolap
from geolap.datasets import load_ssl_book, make_dome, make_hourglass, make_sphere, make_swiss_roll, make_torus
from geolap.experiments.labeled_sets import labeled_sets
from measuring import hourglass, run_parts, timed

SETS = ("digit1", "usps", "bci", "g241c", "g241d", "coil")


def test_error(data, make):
    """Percentage wrong on the unlabeled points, mean of the splits."""
    wrong = []
    for rows in data.splits:
        y = np.full(len(data.target), -1)
        y[rows] = data.target[rows]
        unlabeled = y < 0
        model = make().fit(data.data, y)
        wrong.append(np.mean(model.transduction_[unlabeled] != data.target[unlabeled]))
    return 100 * np.mean(wrong)


def labels():
    print("error in % on the unlabeled points, 100 labels, mean of 12 splits; ε by geometric consistency")
    print(f"{'set':<8}{'ε':>8}{'geolap':>9}{'LabelSpreading':>16}{'seconds a fit':>15}")
    for name in SETS:
        data = load_ssl_book(name)
        bandwidth = geolap.GeometricConsistency(random_state=0).fit(data.data).bandwidth_
        ours, seconds = timed(test_error, data, partial(geolap.LaplacianClassifier, random_state=0))
        theirs = test_error(data, LabelSpreading)
        print(f"{name:<8}{bandwidth:>8.4g}{ours:>9.2f}{theirs:>16.2f}{seconds / len(data.splits):>15.2f}")


def sets():
    print("error in % on the unlabeled points, mean of 10 choices of 100 labels, at most 6000 points of a set, and s a fit")
    means = []
    for each in (each for each in labeled_sets(6000)[0] if len(each.data) >= 300):
        rng = np.random.default_rng(0)
        splits = [rng.choice(len(each.data), 100, replace=False) for _ in range(10)]
        data = SimpleNamespace(data=each.data, target=each.target, splits=splits)
        error, seconds = timed(test_error, data, partial(geolap.LaplacianClassifier, random_state=0))
        means.append(error)
        print(f"{each.name:<18}{len(each.data):>6}{error:>9.2f}{seconds / len(splits):>9.2f}", flush=True)
    print(f"{'mean':<24}{np.mean(means):>9.2f}")


def digits():
    X, truth = load_digits(return_X_y=True)
    right = []
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(len(X))
        y = np.full(len(X), -1)
        y[order[:100]] = truth[order[:100]]
        found = geolap.LaplacianClassifier(random_state=0).fit(X, y).transduction_
        right.append(100 * np.mean(found[order[100:]] == truth[order[100:]]))
    print(f"digits, 100 labels, % right: {', '.join(f'{r:.1f}' for r in right)}; mean {np.mean(right):.1f}")


def scales():
    print("COIL, six classes: 24 closed curves of different sizes")
    scales_of("coil")
    print("g241c, two classes: two normal distributions, no manifold")
    scales_of("g241c")


def scales_of(name):
    data = load_ssl_book(name)
    print(f"{'graph':<44}{'ε':>8}{'D':>8}{'error %':>9}")
    graphs = {
        "one bandwidth": {},
        "local scale, 10th neighbor": {"local_scale": geolap.neighbor_scale(data.data, 10)},
        "local scale, regional": {"local_scale": geolap.regional_scale(data.data, random_state=0)},
        "20 nearest neighbors": {"n_neighbors": 20},
        "20 nearest neighbors, local scale, 10th": {
            "n_neighbors": 20,
            "local_scale": geolap.neighbor_scale(data.data, 10),
        },
    }
    for name, params in graphs.items():
        selection = geolap.GeometricConsistency(random_state=0, **params).fit(data.data).selection_
        score = min(m.score for m in selection.minima if m.bandwidth == selection.bandwidth)
        error = test_error(data, partial(geolap.LaplacianClassifier, selection.bandwidth, **params))
        print(f"{name:<44}{selection.bandwidth:>8.4g}{score:>8.3f}{error:>9.2f}")


def search():
    print("parameters by geometric consistency: D at the best ε alone, at the optimum, and whether the gain is clear")
    samples = {
        "dome": (make_dome(1500, noise=0.01, random_state=0).data, 2),
        "torus": (make_torus(1500, noise=0.01, random_state=0).data, 2),
        "digit1": (load_ssl_book("digit1").data, 1),
    }
    for name, (X, dim) in samples.items():
        for parameters in ({"renormalization": (0, 1.5)}, {"n_neighbors": (5, 200)}, {"cutoff": (1.5, 4)}):
            selector = geolap.GeometricConsistency(working_dim=dim)
            found, seconds = timed(geolap.ConsistencySearch(parameters, selector=selector, random_state=0).fit, X)
            best = {key: round(value, 3) for key, value in found.best_params_.items()}
            gain = found.gain_
            print(
                f"{name:<8}{found.best_score_ + gain.score:>7.4f} →{found.best_score_:>7.4f}  "
                f"{'clear' if gain.clear else 'not clear':<10}{best}, {len(found.surface_)} tried, {seconds:.0f} s"
            )


def metric():
    print("lengths of 50 geodesics and area, over the truth; in brackets on the map itself")
    rng = np.random.default_rng(0)
    for n in (1000, 4000):
        X = make_sphere(n, random_state=0).data
        G = metric_of(X, geolap.GraphLaplacian(random_state=0).fit(X), 3)
        pairs = rng.choice(n, (50, 2), replace=False)
        truth = np.arccos(np.clip((X[pairs[:, 0]] * X[pairs[:, 1]]).sum(axis=1), -1, 1))
        report_metric("sphere", X, G, truth, pairs, ConvexHull(X).simplices, 4 * np.pi)
    for n in (4000, 8000, 16000):
        roll = make_swiss_roll(n, random_state=0)
        X, u = roll.data, roll.coordinates
        model = geolap.GraphLaplacian(geolap.GeometricConsistency(working_dim=2, random_state=0)).fit(X)
        G = metric_of(X, model, 5)
        pairs = rng.choice(n, (50, 2), replace=False)
        truth = np.linalg.norm(u[pairs[:, 0]] - u[pairs[:, 1]], axis=1)
        triangles = Delaunay(u).simplices
        sides = np.linalg.norm(u[triangles] - np.roll(u[triangles], 1, axis=1), axis=2).max(axis=1)
        triangles = triangles[sides < model.bandwidth_]  # without the slivers along the hull
        report_metric("swiss roll", X, G, truth, pairs, triangles, flat_area(u[triangles]))
        depth = np.minimum(u - u.min(axis=0), u.max(axis=0) - u).min(axis=1)
        inner = triangles[(depth[triangles] > 4.0).all(axis=1)]
        print(f"{'':<26}its area farther than 4 from the border {G.area(inner) / flat_area(u[inner]):.3f}")


def metric_of(X, model, n_components):
    """The metric of the eigenmap with the bandwidth of the model."""
    y = geolap.LaplacianEigenmap(n_components, bandwidth=model.bandwidth_).fit_transform(X)
    return geolap.riemannian_metric(y, model, intrinsic_dim=2)


def flat_area(corners):
    return 0.5 * np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])).sum()


def report_metric(name, X, G, truth, pairs, triangles, area):
    graph = kneighbors_graph(X, 15)
    paths = [G.geodesic_path(graph, i, j) for i, j in pairs]
    corrected, plain = (np.array([G.length(path, corrected=c) for path in paths]) / truth for c in (True, False))
    print(
        f"{name:<11}{len(X):>6} points: lengths {corrected.mean():.3f} ± {corrected.std():.3f} ({plain.mean():.3f}), area "
        f"{G.area(triangles) / area:.3f} ({G.area(triangles, corrected=False) / area:.4f})"
    )


def speed():
    eigenmap, seconds = timed(geolap.LaplacianEigenmap(n_components=3, random_state=0).fit, hourglass(20_000))
    print(f"LaplacianEigenmap, N=20000, r=13: {seconds:.0f} s (at most 30), ε̂ = {eigenmap.bandwidth_:.3f}, ", end="")
    print(f"{eigenmap.graph_.weights.nnz:.2g} entries, cut off at {eigenmap.cutoff_:g}·ε")
    X = make_hourglass(100_000, noise=0.01, noise_dims=10, random_state=0)
    truth = (np.sin(3 * X.coordinates[:, 1]) * X.coordinates[:, 0] > 0).astype(int)
    y = np.where(np.random.default_rng(0).permutation(100_000) < 500, truth, -1)
    model, seconds = timed(geolap.LaplacianClassifier(random_state=0).fit, X.data, y)
    wrong = np.mean(model.transduction_[y < 0] != truth[y < 0])
    print(f"LaplacianClassifier, N=100000, r=13, 500 labels: {seconds:.0f} s, {100 * wrong:.1f} % wrong, ", end="")
    weights = ", ".join(f"{k} neighbors {w:.2f}" if k else f"all pairs {w:.2f}" for k, w in model.graph_weights_.items())
    print(f"ε̂ = {model.bandwidth_:.3f}, weights: {weights}")


if __name__ == "__main__":
    run_parts(labels, sets, digits, scales, search, metric, speed)
