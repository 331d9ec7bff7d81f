"""The fused kernel itself, in Triton; `geolap.engines.row_sum_kernel` imports it if Triton is installed."""

import triton
import triton.language as tl

__all__ = ["row_sum_kernel"]


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
        w = tl.exp2(-sqdist * first)
        a0 += tl.sum(w, 1)
        w = w * w
        a1 += tl.sum(w, 1)
        w = w * w
        a2 += tl.sum(w, 1)
        w = w * w
        a3 += tl.sum(w, 1)
        w = w * w
        a4 += tl.sum(w, 1)
        w = w * w
        a5 += tl.sum(w, 1)
        w = w * w
        a6 += tl.sum(w, 1)
        w = w * w
        a7 += tl.sum(w, 1)
        if BOTH:
            w = tl.exp2(-sqdist * second)
            b0 += tl.sum(w, 1)
            w = w * w
            b1 += tl.sum(w, 1)
            w = w * w
            b2 += tl.sum(w, 1)
            w = w * w
            b3 += tl.sum(w, 1)
            w = w * w
            b4 += tl.sum(w, 1)
            w = w * w
            b5 += tl.sum(w, 1)
            w = w * w
            b6 += tl.sum(w, 1)
            w = w * w
            b7 += tl.sum(w, 1)
    out = sums + rows
    tl.store(out, a0, mask=inside)
    tl.store(out + n, a1, mask=inside)
    tl.store(out + 2 * n, a2, mask=inside)
    tl.store(out + 3 * n, a3, mask=inside)
    tl.store(out + 4 * n, a4, mask=inside)
    tl.store(out + 5 * n, a5, mask=inside)
    tl.store(out + 6 * n, a6, mask=inside)
    tl.store(out + 7 * n, a7, mask=inside)
    if BOTH:
        tl.store(out + 8 * n, b0, mask=inside)
        tl.store(out + 9 * n, b1, mask=inside)
        tl.store(out + 10 * n, b2, mask=inside)
        tl.store(out + 11 * n, b3, mask=inside)
        tl.store(out + 12 * n, b4, mask=inside)
        tl.store(out + 13 * n, b5, mask=inside)
        tl.store(out + 14 * n, b6, mask=inside)
        tl.store(out + 15 * n, b7, mask=inside)
