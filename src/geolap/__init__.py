"""geolap: graph Laplacians at the scale that the geometry of the data asks for."""

from . import datasets
from .consistency import DistortionCurve, distortion
from .kernel import convert_bandwidth
from .selection import Minimum, Selection, Status
from .selectors import GeometricConsistency, select_bandwidth

__all__ = [
    "DistortionCurve",
    "GeometricConsistency",
    "Minimum",
    "Selection",
    "Status",
    "convert_bandwidth",
    "datasets",
    "distortion",
    "select_bandwidth",
]

__version__ = "0.1.0"
