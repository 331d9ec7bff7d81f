"""The device engine: all pairs on the device that holds the points, written over torch.

The points are a torch tensor, on a GPU or on the CPU; the results are small NumPy arrays.  Exact in the sense of the
tiled engine: the sums run over all pairs.

- Row sums: in double precision, tile by tile; on a GPU with more than 20 000 points by a fused kernel
  (`geolap.engines.row_sum_kernel`) in single precision, with distances on the tensor cores.
- Local metrics: Σ_j w (x_j − c)(x_j − c)ᵀ, with w = W² for the tangent basis and w = P for H, is for all evaluation points
  and bandwidths together a matrix product with the moments x xᵀ, x, 1 of the points, chunk by chunk, in double precision.

If the device runs out of memory, tiles are halved and the work continues.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch

from ..data.points import in_unit, tensor_in_unit_box
from ..kernel import LOWEST_EXPONENT, Ladder, gaussian, ladders
from ..laplacian import LocalScale
from ..runtime.threads import in_order, thread_count
from .base import NO_NEIGHBORS, ExactEngine, LocalMetrics
from .row_sum_kernel import fused_row_sums, has_fused_kernel

__all__ = ["HELD_CPU", "HELD_GPU", "DeviceEngine", "local_moments", "nearest_squares", "squared_distances"]

# Beyond this many points on a GPU, the fused kernel computes row sums.
_MANY = 20_000
# Numbers in one of the large arrays of a tile: 1 GiB on a GPU, 32 MiB on a CPU.
HELD_GPU, HELD_CPU = 2**27, 2**22
# Squared distances below this share of the squares that they are the difference of are found by differences of points.
_DIGITS = 1e-4
# Up to this dimension matrices are fully diagonalized; beyond it, powers of the matrix are used.
_FEW_DIMENSIONS = 32
# Squarings of C, products with a block of vectors, and the vectors in the block beyond those needed.
_SQUARINGS, _PRODUCTS, _MORE = 6, 3, 4
# Points whose distances to all others are held at once.
_ROWS_AT_ONCE = 64
# Eigenproblems that are solved together.
_TOGETHER = 2**14
# Residual over the eigengap at which a tangent direction is good enough.
_ANGLE = 1e-6


class DeviceEngine(ExactEngine):
    """Sums over all pairs, on the device of the points."""

    def __init__(
        self, X: torch.Tensor, *, cutoff: float | None = None, n_jobs: int | None = None, scale: LocalScale | None = None
    ) -> None:
        self._X, self._unit = tensor_in_unit_box(X)
        self._device = self._X.device
        self._held = HELD_CPU if self._device.type == "cpu" else HELD_GPU
        self._cutoff, self._scale, self._n_jobs = cutoff, scale, n_jobs
        self._rho = self._tensor(np.ones(len(self._X)) if scale is None else scale.rho)

    def mean_distance(self) -> float:
        n = len(self._X)
        return float(torch.sqrt(2.0 * n / (n - 1) * self._X.var(dim=0, unbiased=False).sum())) * self._unit

    def nearest(self, targets: np.ndarray) -> np.ndarray:
        def of(rows: torch.Tensor) -> torch.Tensor:
            least = torch.full((len(rows),), torch.inf, dtype=torch.float64, device=self._device)
            for columns in self._chunks(len(rows)):
                sqdist, same = self._sqdist(rows, columns)
                sqdist[same] = torch.inf
                least = torch.minimum(least, sqdist.min(dim=1).values)
            return torch.sqrt(least) * self._unit

        return self._by_rows(of, targets)

    def row_sums(self, bandwidths: np.ndarray, targets: np.ndarray | None = None) -> np.ndarray:
        epsilons = in_unit(bandwidths, self._unit)
        plain = targets is None and self._cutoff is None and self._scale is None
        if plain and self._device.type == "cuda" and len(self._X) > _MANY and has_fused_kernel():
            return fused_row_sums(self._X, epsilons)
        steps = ladders(epsilons)

        def of(rows: torch.Tensor) -> torch.Tensor:
            sums = torch.zeros((len(rows), len(epsilons)), dtype=torch.float64, device=self._device)
            for columns in self._chunks(len(rows)):
                sqdist, _ = self._sqdist(rows, columns)
                places = torch.arange(columns.start, columns.stop, device=self._device)
                sqdist[rows[:, None] == places] = torch.inf
                for column, W in self._weights(sqdist, steps):
                    sums[:, column] += W.sum(dim=1)
            return sums

        return self._by_rows(of, np.arange(len(self._X)) if targets is None else targets)

    def _metrics(self, sample: np.ndarray, bandwidths: np.ndarray, density: torch.Tensor, dim: int) -> LocalMetrics:
        epsilons = in_unit(bandwidths, self._unit)
        m, r = len(epsilons), self._X.shape[1]

        def of(rows: torch.Tensor) -> torch.Tensor:
            H, effective, drift = self._group_metrics(rows, epsilons, density, dim)
            return torch.cat([H.reshape(len(rows), -1), effective, drift], dim=1)

        # Two matrices (r, r) for every evaluation point and bandwidth.
        found = self._by_rows(of, sample, most=max(1, self._held // (2 * m * r * r)))
        H, effective, drift = np.split(found, [m * dim**2, m * dim**2 + m], axis=1)
        return LocalMetrics(H.reshape(-1, m, dim, dim), effective, drift)

    def _group_metrics(
        self, rows: torch.Tensor, epsilons: np.ndarray, density: torch.Tensor, dim: int
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """H (c, m, dim, dim), effective neighbors (c, m) and drift (c, m) of a group of evaluation points."""
        c, m, r = len(rows), len(epsilons), self._X.shape[1]
        steps = ladders(epsilons)
        upper = torch.triu_indices(r, r, device=self._device)
        q = upper.shape[1] + r + 1
        tangent = torch.zeros((m * c, q), dtype=torch.float64, device=self._device)
        metric, first = torch.zeros_like(tangent), torch.zeros((m * c, r + 1), dtype=torch.float64, device=self._device)
        at_center = torch.zeros(c, dtype=torch.float64, device=self._device)
        density_here = torch.zeros((m, c), dtype=torch.float64, device=self._device)
        for columns in self._chunks(max(m * c, q)):
            points = self._X[columns]
            moments = torch.hstack([points[:, upper[0]] * points[:, upper[1]], points, torch.ones_like(points[:, :1])])
            sqdist, same = self._sqdist(rows, columns)
            at_center += same.sum(dim=1)
            density_here += (density[columns].T[:, None, :] * same).sum(dim=2)
            sqdist[same] = torch.inf
            W = torch.empty((m, c, len(points)), dtype=torch.float64, device=self._device)
            for column, weights in self._weights(sqdist, steps):
                W[column] = weights
            flat = W.reshape(m * c, -1)
            first += flat @ moments[:, -r - 1 :]
            tangent += flat.square() @ moments
            metric += (W * density[columns].T[:, None, :]).reshape(m * c, -1) @ moments

        origin = self._X[rows].repeat(m, 1)
        center_count = at_center.repeat(m)
        neighbors = first[:, -1]
        total = center_count + neighbors
        effective = total**2 / (center_count + tangent[:, -1])
        offset = (first[:, :-1] - origin * neighbors[:, None]) / total[:, None]
        C = _second_moment(tangent, origin + offset, upper)
        C += center_count[:, None, None] * (offset[:, :, None] * offset[:, None, :])
        V = _leading_vectors(C, dim, offset, self._n_jobs)
        total = metric[:, -1] + density_here.reshape(-1)
        B = _second_moment(metric, origin, upper) / total[:, None, None]
        mean = (metric[:, -r - 1 : -1] - origin * metric[:, -1:]) / total[:, None]
        B[neighbors < NO_NEIGHBORS], mean[neighbors < NO_NEIGHBORS] = 0.0, 0.0
        local = (self._tensor(epsilons)[:, None] * self._rho[rows]).reshape(-1)
        H = (2.0 / local[:, None, None] ** 2) * (V @ B @ V.mT)
        drift = 2.0 / local * torch.linalg.norm((V @ mean[:, :, None])[:, :, 0], dim=1)
        return H.reshape(m, c, dim, dim).transpose(0, 1), effective.reshape(m, c).T, drift.reshape(m, c).T

    def _sqdist(self, rows: torch.Tensor, columns: slice) -> tuple[torch.Tensor, torch.Tensor]:
        """Squared distances over ρ_i ρ_j, and a mask of pairs at the same place."""
        sqdist = squared_distances(self._X[rows], self._X[columns])
        same = sqdist == 0
        return (sqdist if self._scale is None else sqdist / (self._rho[rows][:, None] * self._rho[columns])), same

    def _weights(self, sqdist: torch.Tensor, steps: list[Ladder]) -> Iterator[tuple[int, torch.Tensor]]:
        """Walk down all ladders: yields (column, W)."""
        for ladder in steps:
            W = sqdist
            for column, eps, squarings in zip(ladder.columns, ladder.bandwidths, ladder.squarings, strict=True):
                if squarings == 0:
                    W = torch.exp(torch.clamp(sqdist * (-1.0 / eps**2), min=LOWEST_EXPONENT))
                for _ in range(squarings):
                    W = W * W
                yield column, W if self._cutoff is None else W * (sqdist <= (self._cutoff * eps) ** 2)

    def _chunks(self, n_rows: int) -> list[slice]:
        """Slices of all points, as long as fits in memory for a tile of ``n_rows`` rows."""
        n = len(self._X)
        size = max(64, self._held // max(n_rows, 1))
        return [slice(start, min(start + size, n)) for start in range(0, n, size)]

    def _by_rows(
        self, function: Callable[[torch.Tensor], torch.Tensor], indices: np.ndarray, most: int = 2048
    ) -> np.ndarray:
        """``function`` of some rows at a time, as one NumPy array; with smaller tiles if memory runs out."""
        all_rows = torch.as_tensor(np.asarray(indices), device=self._device)
        while True:
            try:
                return np.concatenate([function(rows).cpu().numpy() for rows in all_rows.split(most)])
            except torch.OutOfMemoryError as error:
                if self._held <= 2**16:
                    raise MemoryError(
                        f"The device needs free memory in addition to the points ({error}): free memory there, or pass the "
                        "points as a NumPy array."
                    ) from error
                self._held //= 2
                most = max(1, most // 2)
                torch.cuda.empty_cache()

    def _there(self, degrees: np.ndarray) -> torch.Tensor:
        return self._tensor(degrees)

    def _tensor(self, array: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(np.asarray(array, dtype=np.float64), device=self._device)


def squared_distances(A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
    """‖a − b‖² (n, m) of points (n, r) and (m, r): by a matrix product, and by differences where that would lose digits."""
    a, b = A.square().sum(dim=1), B.square().sum(dim=1)
    size = a[:, None] + b
    sqdist = torch.addmm(size, A, B.T, alpha=-2.0)
    row, column = (sqdist <= size.mul_(_DIGITS)).nonzero(as_tuple=True)
    held = HELD_CPU if A.device.type == "cpu" else HELD_GPU // 4
    for some in torch.arange(len(row), device=A.device).split(max(1, held // A.shape[1])):
        sqdist[row[some], column[some]] = (A[row[some]] - B[column[some]]).square().sum(dim=1)
    return sqdist


def nearest_squares(X: torch.Tensor, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k points nearest to some (n, k) at other places, and squared distances to them, ascending."""
    sqdist = squared_distances(X[torch.as_tensor(rows, device=X.device)], X)
    found = torch.where(sqdist > 0, sqdist, torch.inf).topk(k, dim=1, largest=False)
    return found.indices.cpu().numpy(), found.values.cpu().numpy()


def local_moments(
    X: torch.Tensor, sample: np.ndarray, epsilons: np.ndarray, least: float, *, rho: np.ndarray | None, most: int | None
) -> np.ndarray:
    """ZᵀZ (n, m, r, r) of `geolap.local_pca` at the sampled points, over weights of at least ``least``."""
    scales = None if rho is None else torch.as_tensor(rho, device=X.device)
    moments = torch.empty((len(sample), len(epsilons), X.shape[1], X.shape[1]), dtype=torch.float64, device=X.device)
    for start in range(0, len(sample), _ROWS_AT_ONCE):
        rows = sample[start : start + _ROWS_AT_ONCE].tolist()
        sqdist = squared_distances(X[rows], X)
        if scales is not None:
            sqdist /= scales[rows, None] * scales
        if most is not None and most + 1 < len(X):
            sqdist[sqdist > sqdist.kthvalue(most + 1, dim=1, keepdim=True).values] = torch.inf
        for column, eps in enumerate(epsilons):
            w = gaussian(sqdist, float(eps))
            w = torch.where(w >= least, w, 0.0)
            for place, (i, p) in enumerate(zip(rows, w / w.sum(dim=1, keepdim=True), strict=True), start=start):
                A = X - X[i]  # of all points: to pick those with a weight would wait for the device
                Z = p[:, None] * (A - p @ A)
                moments[place, column] = Z.T @ Z
    return moments.cpu().numpy()


def _second_moment(M: torch.Tensor, center: torch.Tensor, upper: torch.Tensor) -> torch.Tensor:
    """Σ w (x − c)(x − c)ᵀ (n, r, r) from centers (n, r) and moments (n, q): Σ w x xᵀ (upper triangle), Σ w x, Σ w."""
    r = center.shape[1]
    A = torch.empty((len(M), r, r), dtype=M.dtype, device=M.device)
    A[:, upper[0], upper[1]] = M[:, : -r - 1]
    A[:, upper[1], upper[0]] = M[:, : -r - 1]
    first, total = M[:, -r - 1 : -1], M[:, -1]
    A -= first[:, :, None] * center[:, None, :] + center[:, :, None] * first[:, None, :]
    A += total[:, None, None] * (center[:, :, None] * center[:, None, :])
    return A


def _leading_vectors(C: torch.Tensor, dim: int, guess: torch.Tensor, n_jobs: int | None = None) -> torch.Tensor:
    """The ``dim`` leading eigenvectors of each symmetric matrix (n, r, r), as rows (n, dim, r).

    Beyond a few dimensions: C to the 64th power by squaring, a few products with a block of vectors, and the best
    combination of these.  If that has not converged (leading eigenvalues nearly tie), the matrix is fully diagonalized.
    """
    size = C.diagonal(dim1=1, dim2=2).sum(dim=1)
    C = C / torch.where(size > 0, size, 1.0)[:, None, None]
    r = C.shape[1]
    if r <= max(_FEW_DIMENSIONS, dim + _MORE):
        return _eigh(C)[1][:, :, -dim:].flip(2).mT
    power = C
    for _ in range(_SQUARINGS):
        power = power @ power
        power = power / torch.clamp(power.diagonal(dim1=1, dim2=2).sum(dim=1), min=1e-300)[:, None, None]
    generator = torch.Generator().manual_seed(0)
    block = torch.randn((r, dim + _MORE), generator=generator, dtype=torch.float64).to(C.device).repeat(len(C), 1, 1)
    block[:, :, 0] += guess * 1e3
    for _ in range(_PRODUCTS):
        block = _gram_schmidt(power @ _gram_schmidt(block))
    theta, U = _eigh(block.mT @ C @ block)
    V = (block @ U).flip(2)[:, :, :dim]
    theta = theta.flip(1)
    residual = torch.linalg.norm(C @ V - V * theta[:, None, :dim], dim=1).max(dim=1).values
    poor = residual > torch.clamp(_ANGLE * (theta[:, dim - 1] - theta[:, dim]), min=1e-14)
    if poor.any():
        parts = np.array_split(C[poor].cpu().numpy(), thread_count(n_jobs))
        full = np.concatenate(
            [vectors[:, :, : -dim - 1 : -1] for _, vectors in in_order(np.linalg.eigh, parts, n_jobs=n_jobs)]
        )
        V[poor] = torch.as_tensor(full, device=C.device)
    return V.mT


def _eigh(C: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Eigenvalues and vectors of symmetric matrices (n, r, r), as many at once as the solvers of GPUs take."""
    values, vectors = zip(*(torch.linalg.eigh(part) for part in C.split(_TOGETHER)), strict=True)
    return torch.cat(values), torch.cat(vectors)


def _gram_schmidt(block: torch.Tensor) -> torch.Tensor:
    """Gram–Schmidt on the columns of each block (n, r, b): a few small products, because a batched QR is slow."""
    columns: list[torch.Tensor] = []
    for v in block.unbind(dim=2):
        for _ in range(2):
            for u in columns:
                v = v - (u * v).sum(dim=1, keepdim=True) * u
        columns.append(v / torch.clamp(torch.linalg.norm(v, dim=1, keepdim=True), min=1e-300))
    return torch.stack(columns, dim=2)
