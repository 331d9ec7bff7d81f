"""geolap: graph Laplacians at the scale that the geometry of the data asks for.

Nothing is loaded before it is used (PEP 562), so that ``import geolap`` and ``geolap --help`` take no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# The public names, in the order of the flow: where each lives.
_PUBLIC = {
    "datasets": (),
    "kernel": ("convert_bandwidth",),
    "laplacian": ("LocalScale",),
    "consistency": ("distortion", "DistortionCurve"),
    "selection": ("Selection", "Minimum", "Status"),
    "selectors": (
        "select_bandwidth",
        "GeometricConsistency",
        "Reconstruction",
        "CrossValidation",
        "KernelSum",
        "Semigroup",
        "MultiscaleSVD",
        "LocalContinuity",
        "SingerRate",
        "MedianDistance",
        "NeighborDistance",
    ),
    "comparison": ("compare_bandwidths", "Comparison"),
    "health": ("graph_health", "GraphHealth", "health_curve", "HealthCurve"),
    "dimension": ("intrinsic_dimension", "dimension_range", "dimension_curve", "DimensionEstimate", "DimensionCurve"),
    "local_scale": ("neighbor_scale",),
    "regional": ("regional_scale",),
    "forecasts": ("forecast",),
    "engines": ("Cost",),
    "graph_laplacian": ("GraphLaplacian",),
    "embedding": ("LaplacianEigenmap", "DiffusionMap"),
    "riemannian": ("riemannian_metric", "RiemannianMetric"),
    "semi_supervised": ("LaplacianClassifier", "LaplacianRegressor"),
    "parameter_search": ("ConsistencySearch", "Gain"),
    "experiments": (),
    "plots": (),
    "report": (),
    "anndata": (),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = [*_HOME, "anndata", "datasets"]

if TYPE_CHECKING:  # the same names for readers that do not run the code; a test compares both
    from . import anndata as anndata
    from . import datasets as datasets
    from . import experiments as experiments
    from . import plots as plots
    from . import report as report
    from .comparison import Comparison as Comparison
    from .comparison import compare_bandwidths as compare_bandwidths
    from .consistency import DistortionCurve as DistortionCurve
    from .consistency import distortion as distortion
    from .dimension import DimensionCurve as DimensionCurve
    from .dimension import DimensionEstimate as DimensionEstimate
    from .dimension import dimension_curve as dimension_curve
    from .dimension import dimension_range as dimension_range
    from .dimension import intrinsic_dimension as intrinsic_dimension
    from .embedding import DiffusionMap as DiffusionMap
    from .embedding import LaplacianEigenmap as LaplacianEigenmap
    from .engines import Cost as Cost
    from .forecasts import forecast as forecast
    from .graph_laplacian import GraphLaplacian as GraphLaplacian
    from .health import GraphHealth as GraphHealth
    from .health import HealthCurve as HealthCurve
    from .health import graph_health as graph_health
    from .health import health_curve as health_curve
    from .kernel import convert_bandwidth as convert_bandwidth
    from .laplacian import LocalScale as LocalScale
    from .local_scale import neighbor_scale as neighbor_scale
    from .parameter_search import ConsistencySearch as ConsistencySearch
    from .parameter_search import Gain as Gain
    from .regional import regional_scale as regional_scale
    from .riemannian import RiemannianMetric as RiemannianMetric
    from .riemannian import riemannian_metric as riemannian_metric
    from .selection import Minimum as Minimum
    from .selection import Selection as Selection
    from .selection import Status as Status
    from .selectors import CrossValidation as CrossValidation
    from .selectors import GeometricConsistency as GeometricConsistency
    from .selectors import KernelSum as KernelSum
    from .selectors import LocalContinuity as LocalContinuity
    from .selectors import MedianDistance as MedianDistance
    from .selectors import MultiscaleSVD as MultiscaleSVD
    from .selectors import NeighborDistance as NeighborDistance
    from .selectors import Reconstruction as Reconstruction
    from .selectors import Semigroup as Semigroup
    from .selectors import SingerRate as SingerRate
    from .selectors import select_bandwidth as select_bandwidth
    from .semi_supervised import LaplacianClassifier as LaplacianClassifier
    from .semi_supervised import LaplacianRegressor as LaplacianRegressor
else:

    def __getattr__(name):
        if name in _HOME:
            value = getattr(import_module(f".{_HOME[name]}", __name__), name)
        elif name in _PUBLIC:
            value = import_module(f".{name}", __name__)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__():
    return sorted({*globals(), *__all__})
