"""Calls of every public name: points of every kind, parameters valid and not."""

import copy
import inspect
import signal
import tracemalloc
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.spatial.distance import cdist

import geolap

from .failures import Failure, FoundError, check_error, check_finite, check_unshared, check_warnings, same

ESTIMATORS = ["GraphLaplacian", "LaplacianEigenmap", "DiffusionMap", "LaplacianClustering"]
LABELED = ["LaplacianClassifier", "LaplacianRegressor", "CrossValidation"]
RULES = [rule.selector for rule in geolap.RULES.values() if rule.selector not in LABELED]
FUNCTIONS = ["select_bandwidth", "compare_bandwidths", "distortion", "graph_health", "health_curve", "intrinsic_dimension"]
FUNCTIONS += ["dimension_range", "dimension_curve", "neighbor_scale", "regional_scale", "forecast", "riemannian_metric"]
FUNCTIONS += ["independent_coordinates", "relax", "explain_coordinates"]
ALONE = ["convert_bandwidth"]
SEARCH = ["ConsistencySearch"]
CALLS = [*dict.fromkeys([*ESTIMATORS, *LABELED, *RULES, *FUNCTIONS, *ALONE, *SEARCH])]
# Names that are answers, or modules: they are made by calls, and looked at there.
ANSWERS = [
    "DistortionCurve",
    "Selection",
    "Minimum",
    "Status",
    "Verdict",
    "UnresolvedWarning",
    "Neighborhoods",
    "Calibration",
    "LocalScale",
]
ANSWERS += [
    "Remark",
    "Comparison",
    "GraphHealth",
    "HealthCurve",
    "DimensionEstimate",
    "DimensionCurve",
    "Cost",
    "CoordinateSet",
]
ANSWERS += ["IndependentCoordinates", "RiemannianMetric", "ClusterStatus", "Gain", "anndata", "datasets"]
ANSWERS += ["Relaxation", "NamedCoordinates"]

# Shapes of clouds, the usual ones first, and kinds of arrays, those that are points first.
SHAPES = ["normal", "ring", "line", "duplicates", "places", "outlier", "far", "tiny", "huge", "grid", "equal", "nan", "inf"]
KINDS = [
    "float64",
    "float32",
    "int64",
    "list",
    "frame",
    "frozen",
    "fortran",
    "strided",
    "float16",
    "bool",
    "object",
    "torch",
]
KINDS += ["dask", "uint8", "longdouble", "masked", "sparse", "complex", "words", "flat", "cube", "times", "none"]
N_POINTS = KINDS.index("masked")

NAN, INF, HUGE = float("nan"), float("inf"), 10**400
ODD = [None, 0, -1, 1.5, "x", NAN, INF, HUGE, [], [1], True, {}, -(10**30)]
GRAPHS = {
    "bandwidth": [0.5, 0.1, 2, "gc", "median", "knn", 1e-9, 1e10],
    "renormalization": [1.0, 0.0, 0.5, 10],
    "calibrate": [True, False],
    "self_weights": [True, False],
    "cutoff": [3.0, 1.0, 1e-3, 100, None],
    "n_neighbors": [3, 1, 10, 1000, None, "auto"],
    "n_edges": ["auto", 3, 50],
    "local_scale": [None, 3, "regional", 1000],
    "metric": ["euclidean", "precomputed", "cosine", "correlation", "manhattan"],
    "random_state": [0, 3, None],
    "n_jobs": [1, 2, -1, None],
}
VALUES = GRAPHS | {
    "n_components": [2, 1, 5, "auto", 1000],
    "disconnected": ["arrange", "whole", "separate", "error"],
    "n_landmarks": [None, 5, 3, 1000],
    "eigen_solver": ["auto", "dense", "lanczos", "lobpcg"],
    "diffusion_time": [1.0, "auto", 0.0, 1e6],
    "normalization": ["random_walk", "symmetric", "unnormalized"],
    "n_clusters": [None, 1, 2, 7, 1000],
    "min_share": [0.1, 0, 1],
    "max_clusters": [15, 2, 1000],
    "n_eigenvectors": [None, 1, 5, 1000],
    "power": [None, 1.0, 3],
    "penalty": [None, 0.1, 1e-9, 1e9],
    "working_dim": ["auto", 1, 2, 3],
    "dual": [True, False],
    "squared": [True, False],
    "drift": [0.0, 1.0, 100],
    "rule": ["global", "first"],
    "max_share": [0.2, 1.0, 1e-6],
    "exact": [True, False],
    "engine": ["auto", "dense", "tiled", "cells"],
    "n_sample": ["auto", 5, 2, None, 1000],
    "average": ["mean", "median"],
    "n_folds": [2, 3],
    "n_repeats": [1, 3],
    "n_evaluations": [5, 20],
    "n_kept": [10, 1],
    "max_dim": [5, 1, 20],
    "intrinsic_dim": [None, 1, 2, 10],
    "pilot": [None],
    "method": ["gc", "rec", "bgh", "semigroup", "clmr", "lcmc", "singer", "median", "knn", "gc_inverse"],
    "methods": [None, ["gc", "knn"], ["median"]],
    "bandwidths": [0.5, [0.1, 1.0], [1e-9, 1e9]],
    "task": ["selection", "map"],
    "value": [1.0, [1.0, 2.0], 1e-300],
    "source": ["bandwidth", "gamma", "sigma", "heat_time", "variance", "megaman_radius"],
    "target": ["bandwidth", "gamma", "sigma", "heat_time", "variance", "megaman_radius"],
    "sample": [[0, 1], [2]],
    "n_coordinates": [None, 1, 2],
    "normalized": [True, False],
    "parameters": [{"n_neighbors": [3, 6]}, {"renormalization": (0.0, 1.0)}],
    "selector": [None],
    "neighbors": [None],
    "sample_weight": [None, 2.0],
    "max_iter": [5, 50],
    "tol": [1e-3, 1.0],
}


def random_case(rng: np.random.Generator) -> dict:
    """A call: mostly good points and parameters, some of them odd."""
    name = CALLS[rng.integers(len(CALLS))]
    usual = rng.random() < 0.8
    data = {
        "shape": SHAPES[rng.integers(len(SHAPES) - 3 if usual else len(SHAPES))],
        "kind": "float64" if rng.random() < 0.5 else KINDS[rng.integers(N_POINTS if usual else len(KINDS))],
        "n": int(rng.choice([30, 12, 3, 5, 60, 4, 2, 1, 0], p=[0.3, 0.3, 0.1, 0.1, 0.1, 0.04, 0.02, 0.02, 0.02])),
        "r": int(rng.choice([3, 1, 2, 20, 80], p=[0.4, 0.2, 0.2, 0.1, 0.1])),
        "seed": int(rng.integers(1000)),
    }
    chosen = {}
    for parameter in parameters_of(name):
        if rng.random() < (0.35 if parameter in VALUES else 0.0) or required(name, parameter):
            pool = ODD if rng.random() < 0.1 else VALUES[parameter]
            chosen[parameter] = pool[rng.integers(len(pool))]
    if "bandwidth" in parameters_of(name) and rng.random() < 0.5:
        chosen["bandwidth"] = float(rng.choice([0.3, 1.0]))  # choosing it takes most of the time
    if name == "CrossValidation":  # nor is there time for all of its evaluations
        chosen = {"n_evaluations": 5, "n_repeats": 1} | chosen
    return {"call": name, "data": data, "parameters": chosen}


def parameters_of(name: str) -> list[str]:
    given = inspect.signature(getattr(geolap, name)).parameters
    return [
        key
        for key in given
        if key not in ("X", "y", "_", "params", "embedding", "laplacian", "graph", "estimator", "functions")
    ]


def required(name: str, parameter: str) -> bool:
    return inspect.signature(getattr(geolap, name)).parameters[parameter].default is inspect.Parameter.empty


def cloud(shape: str, n: int, r: int, seed: int) -> np.ndarray:
    """Points of some shape (n, r) in float64."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, r))
    if shape == "ring":
        t = 2 * np.pi * np.arange(n) / max(n, 1)
        X = np.column_stack([np.cos(t), np.sin(t)])[:, np.arange(r) % 2]
    elif shape == "line":
        X = np.outer(np.linspace(0, 1, n), np.ones(r))
    elif shape == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
    elif shape == "places":
        X = X[rng.integers(0, min(3, n), n)] if n else X
    elif shape == "outlier" and n:
        X[-1] = 3e38
    elif shape == "far":
        X += 1e9
    elif shape in ("tiny", "huge"):
        X *= 1e-150 if shape == "tiny" else 1e150
    elif shape == "grid":
        X = np.round(X)
    elif shape == "equal":
        X[:] = 1.0
    elif shape in ("nan", "inf") and n:
        X[n // 2, r // 2] = float(shape)
    return X


def in_kind(X: np.ndarray, kind: str) -> object:
    """The points as an array, or something else, of that kind."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind in ("float32", "int64", "float16", "bool", "object", "uint8", "longdouble", "complex"):
            return X.astype({"longdouble": np.longdouble}.get(kind, kind))
        if kind == "torch":
            import torch

            return torch.tensor(X)
        if kind == "dask":
            import dask.array as da

            return da.from_array(X, chunks=(max(1, -(-len(X) // 2)), X.shape[1]))
        if kind == "frozen":
            X.setflags(write=False)
        made = {
            "list": X.tolist,
            "frame": lambda: pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])]),
            "fortran": lambda: np.asfortranarray(X),
            "strided": lambda: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
            "masked": lambda: np.ma.masked_array(X, X > 1.0),
            "sparse": lambda: sparse.csr_array(X),
            "words": lambda: np.full(X.shape, "word"),
            "flat": X.ravel,
            "cube": lambda: X[:, :, None],
            "times": lambda: np.full(X.shape, np.datetime64("2026-01-01")),
            "none": lambda: None,
        }
        return made.get(kind, lambda: X)()


def labels_of(n: int, seed: int, *, classes: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if classes:
        return np.where(rng.random(n) < 0.6, rng.integers(0, 3, n), -1)
    return np.where(rng.random(n) < 0.6, rng.standard_normal(n), np.nan)


def made(case: dict, **more: object) -> object:
    """What the call of a case answers, with what its result says of itself."""
    data, parameters = case["data"], copy.deepcopy(case["parameters"]) | more
    target = getattr(geolap, case["call"])
    if case["call"] in ALONE:
        return target(**parameters)
    X = in_kind(cloud(**{key: data[key] for key in ("shape", "n", "r", "seed")}), data["kind"])
    return answered(case["call"], target, X, parameters, data)


def answered(name: str, target: object, X: object, parameters: dict, data: dict) -> object:
    before = copy.deepcopy(X)
    n, y = data["n"], None
    if name in LABELED or (name in FUNCTIONS and parameters.get("method") == "cv"):
        y = labels_of(n, data["seed"], classes=name != "LaplacianRegressor")
    if name in ("riemannian_metric", "independent_coordinates", "relax"):
        result = _on_map(name, target, X, parameters)
    elif name == "explain_coordinates":
        functions = np.random.default_rng(data["seed"]).standard_normal((2, n))
        result = target(X, dict(zip("ab", functions, strict=True)), **parameters)
    elif name in FUNCTIONS:
        result = target(X, **parameters)
    else:
        if parameters.get("metric") == "precomputed" and isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiu":
            with np.errstate(all="ignore"):
                X = cdist(X.astype(float), X.astype(float))
            before = X.copy()
        result = target(**parameters).fit(X) if y is None else target(**parameters).fit(X, y)
        for method in ("transform", "predict", "predict_proba"):
            if hasattr(result, method) and getattr(result, "metric", "") != "precomputed" and data["kind"] != "dask":
                check_finite(getattr(result, method)(X))
    if not unchanged(X, before):
        raise FoundError(Failure.CHANGED_INPUT, "the points are not what they were")
    check_unshared(result, X)
    str(result)
    return result


def _on_map(name: str, target: object, X: object, parameters: dict) -> object:
    graph = geolap.GraphLaplacian(bandwidth=1.0, n_jobs=1).fit(np.random.default_rng(0).standard_normal((12, 3)))
    if name == "relax":
        return target(X, graph, **parameters)
    if name == "riemannian_metric":
        return target(X, graph.laplacian_, **parameters)
    return target(X, graph.graph_, **parameters)


def unchanged(X: object, before: object) -> bool:
    if isinstance(X, np.ndarray | list) or hasattr(X, "detach"):
        now, then = (np.asarray(array) for array in (X, before))
        if now.dtype.kind == "O":  # of numbers
            now, then = now.astype(float), then.astype(float)
        return bool(np.array_equal(now, then, equal_nan=now.dtype.kind in "fc"))
    return X.equals(before) if isinstance(X, pd.DataFrame) else True


@contextmanager
def within(seconds: float):
    """Raise a TimeoutError in the main thread after that time."""

    def ring(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def tried(case: dict, **more: object) -> object:
    """The answer of a case, or None where it is refused with a sentence; raises `FoundError` for anything else."""
    with warnings.catch_warnings(record=True) as caught, within(60.0):
        warnings.simplefilter("always")
        try:
            answer = made(case, **more)
        except FoundError:
            raise
        except Exception as error:
            check_warnings(caught)
            return check_error(error)
    if not check_warnings(caught):
        check_finite(answer)
    return answer


def bandwidth_of(answer: object) -> float | None:
    found = getattr(answer, "bandwidth_", getattr(answer, "bandwidth", None))
    return float(found) if isinstance(found, float | np.floating) else None


def check_stable(case: dict) -> None:
    """The bandwidth is the same for any number of threads, any order of rows, and any unit."""
    data, parameters = case["data"], case["parameters"]
    if (
        case["call"] in (*ALONE, *FUNCTIONS[1:], *LABELED, "SingerRate", "LocalContinuity")
        or data["kind"] != "float64"
        or data["n"] > 40
    ):
        return
    if "bandwidth" in parameters or data["shape"] not in ("normal", "ring", "duplicates") or parameters.get("metric"):
        return
    if (
        isinstance(parameters.get("n_sample"), int)
        or (case["call"] == "LaplacianClustering" and parameters.get("n_landmarks"))  # whose sample has an ε̂ of its own
        or parameters.get("random_state", 0) is None
        or parameters.get("method") == "singer"
    ):
        return
    target = getattr(geolap, case["call"])
    X = cloud(**{key: data[key] for key in ("shape", "n", "r", "seed")})
    order = np.random.default_rng(0).permutation(len(X)) if data["shape"] == "normal" else slice(None)  # others have ties

    def found(points: np.ndarray, jobs: int) -> float | None:
        settings = copy.deepcopy(parameters) | {"n_jobs": jobs}
        if "random_state" in parameters_of(case["call"]) or case["call"] == "select_bandwidth":
            settings["random_state"] = 0
        if case["call"] in FUNCTIONS:
            return bandwidth_of(target(points, **settings))
        return bandwidth_of(target(**settings).fit(points))

    with warnings.catch_warnings(), within(60.0):
        warnings.simplefilter("ignore")
        try:
            plain = found(X, 1)
        except Exception:
            return
        if plain is None:
            return
        for what, points, jobs, unit in (
            ("threads", X, 2, 1.0),
            ("the unit", X * 2.0**40, 1, 2.0**40),
            ("the scale", X * 2.0**-70, 1, 2.0**-70),
            (
                "the order of rows",
                X if data["shape"] == "ring" else X[order],
                1,
                1.0,
            ),  # a ring has neighbors as near as others
        ):
            other = found(points, jobs)
            if not same(other / unit, plain, 1e-6):
                raise FoundError(
                    Failure.UNSTABLE, f"bandwidth {plain:.6g} is {other / unit:.6g} with another value of {what}"
                )


def check_memory(rng: np.random.Generator) -> None:
    """A selection allocates no more than was forecast."""
    n, r = int(rng.integers(500, 3000)), int(rng.integers(1, 30))
    X = rng.standard_normal((n, r))
    forecast = geolap.forecast((n, r)).memory
    tracemalloc.start()
    try:
        geolap.select_bandwidth(X, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if peak > forecast:
        raise FoundError(
            Failure.TOO_MUCH_MEMORY, f"{peak:.3g} bytes for {n} points with {r} features, {forecast:.3g} forecast"
        )


def failure_of(case: dict) -> FoundError | None:
    """The failure of a case, if it has one."""
    try:
        tried(case)
        check_stable(case)
    except FoundError as found:
        return found
    return None


def smaller(case: dict):
    """Simpler cases, one step away."""
    data, parameters = case["data"], case["parameters"]
    for key in parameters:
        if not required(case["call"], key):
            yield case | {"parameters": {k: v for k, v in parameters.items() if k != key}}
    for key, values in (("kind", ["float64"]), ("shape", ["normal"]), ("n", [3, 5, 12]), ("r", [1, 2, 3]), ("seed", [0])):
        for value in values:
            if data[key] != value and (not isinstance(value, int) or key == "seed" or value < data[key]):
                yield case | {"data": data | {key: value}}


def shrunk(case: dict) -> dict:
    """The case made as simple as it gets while it fails in the same way."""
    found = failure_of(case)
    simpler = True
    while simpler:
        simpler = False
        for other in smaller(case):
            now = failure_of(other)
            if now is not None and now.failure is found.failure and now.seen[:30] == found.seen[:30]:
                case, simpler = other, True
                break
    return case
