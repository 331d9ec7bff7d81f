"""The fused kernel itself, in Triton; `geolap.engines.row_sum_kernel` imports it if Triton is installed."""

import triton
import triton.language as tl

__all__ = ["row_sum_kernel"]


@triton.jit
def _added(w, s0, s1, s2, s3, s4, s5, s6, s7):
    """The sums with the row sums of w, w², w⁴, … added: a ladder of eight bandwidths."""
    s0 += tl.sum(w, 1)
    w = w * w
    s1 += tl.sum(w, 1)
    w = w * w
    s2 += tl.sum(w, 1)
    w = w * w
    s3 += tl.sum(w, 1)
    w = w * w
    s4 += tl.sum(w, 1)
    w = w * w
    s5 += tl.sum(w, 1)
    w = w * w
    s6 += tl.sum(w, 1)
    w = w * w
    s7 += tl.sum(w, 1)
    return s0, s1, s2, s3, s4, s5, s6, s7


@triton.jit
def _store(out, n, inside, s0, s1, s2, s3, s4, s5, s6, s7):
    """Eight columns of sums, n apart."""
    tl.store(out, s0, mask=inside)
    tl.store(out + n, s1, mask=inside)
    tl.store(out + 2 * n, s2, mask=inside)
    tl.store(out + 3 * n, s3, mask=inside)
    tl.store(out + 4 * n, s4, mask=inside)
    tl.store(out + 5 * n, s5, mask=inside)
    tl.store(out + 6 * n, s6, mask=inside)
    tl.store(out + 7 * n, s7, mask=inside)


@triton.jit
def row_sum_kernel(
    points,
    squares,
    inverse,
    sums,
    n,
    chunks,
    WIDTH: tl.constexpr,
    TARGETS: tl.constexpr,
    SOURCES: tl.constexpr,
    BOTH: tl.constexpr,
):
    """Sums of one tile of targets over all sources, for one or two ladders of eight rungs."""
    rows = tl.program_id(0) * TARGETS + tl.arange(0, TARGETS)
    inside = rows < n
    width = tl.arange(0, WIDTH)
    stride = chunks * WIDTH
    a0 = tl.zeros((TARGETS,), tl.float32)
    a1, a2, a3, a4, a5, a6, a7 = a0, a0, a0, a0, a0, a0, a0
    b0, b1, b2, b3, b4, b5, b6, b7 = a0, a0, a0, a0, a0, a0, a0, a0
    own = tl.load(squares + rows, mask=inside, other=0.0)
    left = tl.load(points + rows[:, None] * stride + width[None, :], mask=inside[:, None], other=0.0)
    first, second = tl.load(inverse), tl.load(inverse + 1)
    for start in range(0, n, SOURCES):
        columns = start + tl.arange(0, SOURCES)
        there = columns < n
        right = tl.load(points + columns[None, :] * stride + width[:, None], mask=there[None, :], other=0.0)
        product = tl.dot(left, right, input_precision="tf32x3")
        for chunk in range(1, chunks):
            at = chunk * WIDTH + width
            more = tl.load(points + rows[:, None] * stride + at[None, :], mask=inside[:, None], other=0.0)
            right = tl.load(points + columns[None, :] * stride + at[:, None], mask=there[None, :], other=0.0)
            product += tl.dot(more, right, input_precision="tf32x3")
        others = tl.load(squares + columns, mask=there, other=float("inf"))
        sqdist = tl.maximum(own[:, None] + others[None, :] - 2.0 * product, 0.0)
        sqdist = tl.where(rows[:, None] == columns[None, :], float("inf"), sqdist)
        a0, a1, a2, a3, a4, a5, a6, a7 = _added(tl.exp2(-sqdist * first), a0, a1, a2, a3, a4, a5, a6, a7)
        if BOTH:
            b0, b1, b2, b3, b4, b5, b6, b7 = _added(tl.exp2(-sqdist * second), b0, b1, b2, b3, b4, b5, b6, b7)
    _store(sums + rows, n, inside, a0, a1, a2, a3, a4, a5, a6, a7)
    if BOTH:
        _store(sums + 8 * n + rows, n, inside, b0, b1, b2, b3, b4, b5, b6, b7)
