"""Row sums over all pairs in one kernel on a GPU: distances on the tensor cores, square-and-sum in registers.

For each tile of targets, the kernel loops over tiles of all points.  Squared distances come from a three-pass TF32 product
(plain TF32 would lose them to cancellation).  There is one exponential for every eight rungs of a ladder of bandwidths, and
the others come from squaring.  Only the sums leave the registers.  The diagonal is left out exactly.

Single precision: the error of d²/ε² is about 1e-6 (‖x‖/ε)², and eight squarings multiply the rounding of a weight by 256.
"""

from importlib.util import find_spec
from itertools import accumulate

import numpy as np
import torch

from ..kernel import ladders

__all__ = ["fused_row_sums", "has_fused_kernel", "rung_ladders"]

# Rungs that one exponential serves; more squarings would leave fewer than four digits.
RUNGS = 8
# Points along the sides of a tile.
_TARGETS, _SOURCES = 128, 128
# Coordinates in one product.
_WIDTH = 64


def has_fused_kernel() -> bool:
    """Whether Triton is installed."""
    return find_spec("triton") is not None


def rung_ladders(epsilons: np.ndarray) -> list[tuple[float, list[tuple[int, int]]]]:
    """Groups of bandwidths that one exponential serves: the widest of each, and (column, squarings) of all."""
    return [
        (ladder.bandwidths[0], list(zip(ladder.columns, accumulate(ladder.squarings), strict=True)))
        for ladder in ladders(epsilons, longest=RUNGS - 1)
    ]


def fused_row_sums(X: torch.Tensor, epsilons: np.ndarray) -> np.ndarray:
    """Σ_{j≠i} W_ij (N, m) of the points X (N, r), a centered tensor on a GPU, as a NumPy array."""
    from .row_sum_triton import row_sum_kernel  # only where `has_fused_kernel` is true

    n, r = X.shape
    width = max(16, 2 ** int(np.ceil(np.log2(min(r, _WIDTH)))))
    chunks = -(-r // width)
    points = torch.zeros((n, width * chunks), dtype=torch.float32, device=X.device)
    points[:, :r] = X
    squares = (points.double() ** 2).sum(dim=1).float()
    groups = rung_ladders(epsilons)
    result = np.empty((n, len(epsilons)))
    for first in range(0, len(groups), 2):
        pair = groups[first : first + 2]
        inverse = torch.tensor([np.log2(np.e) / eps**2 for eps, _ in pair] * (3 - len(pair)), device=X.device)
        sums = torch.empty((2 * RUNGS, n), dtype=torch.float32, device=X.device)
        row_sum_kernel[(-(-n // _TARGETS),)](
            points,
            squares,
            inverse.float(),
            sums,
            n,
            chunks,
            WIDTH=width,
            TARGETS=_TARGETS,
            SOURCES=_SOURCES,
            BOTH=len(pair) == 2,
            num_warps=8,
            num_stages=2,
        )
        for ladder, (_, members) in enumerate(pair):
            for column, rung in members:
                result[:, column] = sums[ladder * RUNGS + rung].double().cpu().numpy()
    return result
