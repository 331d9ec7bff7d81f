"""geolap: graph Laplacians at the scale that the geometry of the data asks for."""

from . import datasets
from .consistency import DistortionCurve, distortion
from .dimension import DimensionEstimate, dimension_range, intrinsic_dimension
from .kernel import convert_bandwidth
from .selection import Minimum, Selection, Status
from .selectors import (
    GeometricConsistency,
    KernelSum,
    MedianDistance,
    NeighborDistance,
    Reconstruction,
    Semigroup,
    SingerRate,
    select_bandwidth,
)

__all__ = [
    "DimensionEstimate",
    "DistortionCurve",
    "GeometricConsistency",
    "KernelSum",
    "MedianDistance",
    "Minimum",
    "NeighborDistance",
    "Reconstruction",
    "Selection",
    "Semigroup",
    "SingerRate",
    "Status",
    "convert_bandwidth",
    "datasets",
    "dimension_range",
    "distortion",
    "intrinsic_dimension",
    "select_bandwidth",
]

__version__ = "0.1.0"
