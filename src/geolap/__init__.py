"""geolap: graph Laplacians at the scale set by the geometry of the data.

Nothing is loaded before it is used (PEP 562), so that ``import geolap`` and ``geolap --help`` take no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .choices import RULES

__version__ = "0.1.0"

# The public names, in the order of the flow: where each lives.
_PUBLIC = {
    "datasets": (),
    "kernel": ("convert_bandwidth",),
    "laplacian": ("LocalScale",),
    "evaluation": ("distortion",),
    "consistency": ("DistortionCurve",),
    "selection": ("Selection", "Minimum", "Status", "Verdict", "UnresolvedWarning"),
    "neighborhoods": ("Neighborhoods",),
    "calibration": ("Calibration",),
    "sentences": ("Remark",),
    "selectors": ("select_bandwidth",),
    "selectors.comparison": ("compare_bandwidths", "Comparison"),
    "graphs.partition": ("ClusterStatus",),
    "graphs.health": ("graph_health", "GraphHealth", "health_curve", "HealthCurve"),
    "dimension": ("intrinsic_dimension", "dimension_range", "dimension_curve", "DimensionEstimate", "DimensionCurve"),
    "graphs.scale": ("neighbor_scale", "regional_scale"),
    "forecasting": ("forecast",),
    "engines": ("Cost",),
    "estimators.laplacian": ("GraphLaplacian",),
    "estimators.maps": ("LaplacianEigenmap", "DiffusionMap"),
    "estimators.coordinates": ("independent_coordinates", "IndependentCoordinates", "CoordinateSet"),
    "estimators.riemannian": ("riemannian_metric", "RiemannianMetric"),
    "estimators.relaxation": ("relax", "Relaxation"),
    "estimators.named_coordinates": ("explain_coordinates", "NamedCoordinates"),
    "estimators.clusters": ("LaplacianClustering",),
    "estimators.labels": ("LaplacianClassifier", "LaplacianRegressor"),
    "selectors.joint_search": ("ConsistencySearch", "Gain"),
    "experiments": (),
    "display": (),
    "anndata": (),
}
_HOME = {name: module for module, names in _PUBLIC.items() for name in names}
_HOME |= {rule.selector: f"selectors.{rule.module}" for rule in RULES.values()}

__all__ = [*_HOME, "anndata", "datasets"]

if TYPE_CHECKING:  # the same names for readers that do not run the code; a test compares both
    from . import anndata as anndata
    from . import datasets as datasets
    from . import display as display
    from . import experiments as experiments
    from .calibration import Calibration as Calibration
    from .consistency import DistortionCurve as DistortionCurve
    from .dimension import DimensionCurve as DimensionCurve
    from .dimension import DimensionEstimate as DimensionEstimate
    from .dimension import dimension_curve as dimension_curve
    from .dimension import dimension_range as dimension_range
    from .dimension import intrinsic_dimension as intrinsic_dimension
    from .engines import Cost as Cost
    from .estimators.clusters import LaplacianClustering as LaplacianClustering
    from .estimators.coordinates import CoordinateSet as CoordinateSet
    from .estimators.coordinates import IndependentCoordinates as IndependentCoordinates
    from .estimators.coordinates import independent_coordinates as independent_coordinates
    from .estimators.labels import LaplacianClassifier as LaplacianClassifier
    from .estimators.labels import LaplacianRegressor as LaplacianRegressor
    from .estimators.laplacian import GraphLaplacian as GraphLaplacian
    from .estimators.maps import DiffusionMap as DiffusionMap
    from .estimators.maps import LaplacianEigenmap as LaplacianEigenmap
    from .estimators.named_coordinates import NamedCoordinates as NamedCoordinates
    from .estimators.named_coordinates import explain_coordinates as explain_coordinates
    from .estimators.relaxation import Relaxation as Relaxation
    from .estimators.relaxation import relax as relax
    from .estimators.riemannian import RiemannianMetric as RiemannianMetric
    from .estimators.riemannian import riemannian_metric as riemannian_metric
    from .evaluation import distortion as distortion
    from .forecasting import forecast as forecast
    from .graphs.health import GraphHealth as GraphHealth
    from .graphs.health import HealthCurve as HealthCurve
    from .graphs.health import graph_health as graph_health
    from .graphs.health import health_curve as health_curve
    from .graphs.partition import ClusterStatus as ClusterStatus
    from .graphs.scale import neighbor_scale as neighbor_scale
    from .graphs.scale import regional_scale as regional_scale
    from .kernel import convert_bandwidth as convert_bandwidth
    from .laplacian import LocalScale as LocalScale
    from .neighborhoods import Neighborhoods as Neighborhoods
    from .selection import Minimum as Minimum
    from .selection import Selection as Selection
    from .selection import Status as Status
    from .selection import UnresolvedWarning as UnresolvedWarning
    from .selection import Verdict as Verdict
    from .selectors import select_bandwidth as select_bandwidth
    from .selectors.comparison import Comparison as Comparison
    from .selectors.comparison import compare_bandwidths as compare_bandwidths
    from .selectors.cross_validation import CrossValidation as CrossValidation
    from .selectors.distances import MedianDistance as MedianDistance
    from .selectors.distances import NeighborDistance as NeighborDistance
    from .selectors.geometric_consistency import GeometricConsistency as GeometricConsistency
    from .selectors.joint_search import ConsistencySearch as ConsistencySearch
    from .selectors.joint_search import Gain as Gain
    from .selectors.kernel_sum import KernelSum as KernelSum
    from .selectors.local_continuity import LocalContinuity as LocalContinuity
    from .selectors.multiscale_svd import MultiscaleSVD as MultiscaleSVD
    from .selectors.reconstruction import Reconstruction as Reconstruction
    from .selectors.semigroup import Semigroup as Semigroup
    from .selectors.singer import SingerRate as SingerRate
    from .sentences import Remark as Remark
else:

    def __getattr__(name: str) -> Any:
        if name in _HOME:
            value = getattr(import_module(f".{_HOME[name]}", __name__), name)
        elif name in _PUBLIC:
            value = import_module(f".{name}", __name__)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
