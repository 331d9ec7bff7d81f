"""The values printed in the paper.  No other file of the package holds a published value.

Perrault-Joncas & Meila, "Improved Graph Laplacian via Geometric Self-Consistency".  The names of the rules are ours: ``te``,
``cv``, ``rec``, ``gc_inverse`` and ``gc``.
"""

__all__ = [
    "BANDWIDTHS",
    "BY_DIMENSION",
    "COIL_CLMR",
    "COIL_MINIMUM",
    "COIL_SEARCHED",
    "CV_OVER_GC",
    "DIGIT1_AT_5",
    "ERRORS",
    "RANGES",
    "SETS",
]

SETS = ("digit1", "usps", "coil", "bci", "g241c", "g241d")

# Table 1: bandwidths; for te and cv the mean and the spread over the 12 splits.
BANDWIDTHS = {
    "digit1": {"te": 0.67, "cv": 0.80, "rec": 0.64, "gc_inverse": 0.74, "gc": 0.74},
    "usps": {"te": 1.24, "cv": 1.25, "rec": 1.68, "gc_inverse": 2.42, "gc": 1.10},
    "coil": {"te": 49.79, "cv": 69.65, "rec": 78.37, "gc_inverse": 216.95, "gc": 116.38},
    "bci": {"te": 3.4, "cv": 3.2, "rec": 3.31, "gc_inverse": 3.19, "gc": 5.61},
    "g241c": {"te": 8.3, "cv": 8.8, "rec": 3.79, "gc_inverse": 7.37, "gc": 7.38},
    "g241d": {"te": 5.7, "cv": 6.4, "rec": 3.77, "gc_inverse": 7.35, "gc": 7.36},
}
# Table 1: (spread, lowest, highest) over the splits.
RANGES = {
    "digit1": {"te": (0.08, 0.57, 0.78), "cv": (0.45, 0.47, 1.99)},
    "usps": {"te": (0.15, 1.04, 1.59), "cv": (0.86, 0.50, 3.20)},
    "coil": {"te": (6.61, 42.82, 60.36), "cv": (31.16, 50.55, 148.96)},
    "bci": {"te": (3.1, 1.2, 8.9), "cv": (2.5, 1.2, 8.2)},
    "g241c": {"te": (2.5, 6.3, 14.6), "cv": (3.3, 4.4, 14.9)},
    "g241d": {"te": (0.24, 5.6, 6.3), "cv": (1.15, 4.3, 8.2)},
}
# Table 2, left: classification error in percent.
ERRORS = {
    "digit1": {"cv": 3.32, "rec": 2.16, "gc_inverse": 2.11, "gc": 2.11},
    "usps": {"cv": 5.18, "rec": 4.83, "gc_inverse": 12.00, "gc": 3.89},
    "coil": {"cv": 7.02, "rec": 8.03, "gc_inverse": 16.31, "gc": 8.81},
    "bci": {"cv": 49.22, "rec": 49.17, "gc_inverse": 50.25, "gc": 48.67},
    "g241c": {"cv": 13.31, "rec": 23.93, "gc_inverse": 12.77, "gc": 12.77},
    "g241d": {"cv": 8.67, "rec": 18.39, "gc_inverse": 8.76, "gc": 8.76},
}
# Table 2, right, as printed: bandwidths for d' = 1, 2, 3.
BY_DIMENSION = {
    "digit1": {"gc_inverse": (0.74, 0.29, 0.30), "gc": (0.74, 0.77, 0.78)},
    "usps": {"gc_inverse": (2.42, 2.31, 3.88), "gc": (1.10, 1.16, 1.18)},
    "coil": {"gc_inverse": (116.0, 87.4, 128.0), "gc": (187.0, 179.0, 187.0)},
    "bci": {"gc_inverse": (3.32, 3.48, 3.65), "gc": (5.34, 5.34, 5.34)},
    "g241c": {"gc_inverse": (7.38, 7.38, 7.38), "gc": (7.38, 9.83, 9.37)},
    "g241d": {"gc_inverse": (7.35, 7.35, 7.35), "gc": (7.35, 9.33, 9.78)},
}
# Caption of Table 2: Digit1 with d' = 5.
DIGIT1_AT_5 = {"gc": 1.162, "gc_inverse": 0.797}
# Figure 2 and its text: COIL's minimum for d' = 1, the searched range, the CLMR range for K > 1.
COIL_MINIMUM, COIL_SEARCHED, COIL_CLMR = 53.1, (24.0, 482.0), (100.0, 300.0)
# Text: cross-validation takes 2 to 6 times as long as GC.
CV_OVER_GC = (2.0, 6.0)
