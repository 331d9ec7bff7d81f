"""geolap: graph Laplacians at the scale that the geometry of the data asks for."""

from . import anndata, datasets
from .comparison import Comparison, compare_bandwidths
from .consistency import DistortionCurve, distortion
from .dimension import DimensionCurve, DimensionEstimate, dimension_curve, dimension_range, intrinsic_dimension
from .embedding import DiffusionMap, LaplacianEigenmap
from .engines import Cost
from .forecast import forecast
from .graph_laplacian import GraphLaplacian
from .health import GraphHealth, HealthCurve, graph_health, health_curve
from .kernel import convert_bandwidth
from .laplacian import LocalScale
from .local_scale import neighbor_scale
from .parameter_search import ConsistencySearch, Gain
from .regional import regional_scale
from .riemannian import RiemannianMetric, riemannian_metric
from .selection import Minimum, Selection, Status
from .selectors import (
    CrossValidation,
    GeometricConsistency,
    KernelSum,
    LocalContinuity,
    MedianDistance,
    MultiscaleSVD,
    NeighborDistance,
    Reconstruction,
    Semigroup,
    SingerRate,
    select_bandwidth,
)
from .semi_supervised import LaplacianClassifier, LaplacianRegressor

__all__ = [
    "Comparison",
    "ConsistencySearch",
    "Cost",
    "CrossValidation",
    "DiffusionMap",
    "DimensionCurve",
    "DimensionEstimate",
    "DistortionCurve",
    "Gain",
    "GeometricConsistency",
    "GraphHealth",
    "GraphLaplacian",
    "HealthCurve",
    "KernelSum",
    "LaplacianClassifier",
    "LaplacianEigenmap",
    "LaplacianRegressor",
    "LocalContinuity",
    "LocalScale",
    "MedianDistance",
    "Minimum",
    "MultiscaleSVD",
    "NeighborDistance",
    "Reconstruction",
    "RiemannianMetric",
    "Selection",
    "Semigroup",
    "SingerRate",
    "Status",
    "anndata",
    "compare_bandwidths",
    "convert_bandwidth",
    "datasets",
    "dimension_curve",
    "dimension_range",
    "distortion",
    "forecast",
    "graph_health",
    "health_curve",
    "intrinsic_dimension",
    "neighbor_scale",
    "regional_scale",
    "riemannian_metric",
    "select_bandwidth",
]

__version__ = "0.1.0"
