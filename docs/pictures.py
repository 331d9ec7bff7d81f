"""Draw the pictures of the README and of the first pages: python docs/pictures.py

A spiral at a bandwidth that is too small, right, and too large, with the distortion D(ε) beneath, once for a light page and
once for a dark one; and the distortion of the digits.
"""

from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from PIL import Image
from sklearn.datasets import load_digits

import geolap

FOLDER = Path(__file__).parent / "images"
INK = {"light": ("#1b1f24", "#8a929c", "#0072B2", "#D55E00"), "dark": ("#e8eaed", "#8a929c", "#56B4E9", "#F0903C")}


def spiral(n=1200, noise=0.1, seed=3):
    """Points along two and a half turns, evenly spread over its length, with noise."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(1.2, 5.6 * np.pi / 2 + 4.2, 4000)
    curve = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)]) / 5.0
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    at = np.sort(rng.uniform(0.0, length[-1], n))
    points = np.column_stack([np.interp(at, length, curve[:, k]) for k in range(2)])
    return points + noise * rng.standard_normal(points.shape)


def draw_idea(colors):
    ink, gray, blue, orange = colors
    X = spiral()
    selection = geolap.select_bandwidth(X, n_sample=None, random_state=0)
    eps = selection.bandwidth
    scenes = [
        (eps / 12.0, "too small", "points have no neighbors", 1.0, "right"),
        (eps, "ε̂", "neighbors along the curve", 0.16, "center"),
        (4.0 * eps, "too large", "the next turn counts as near", 0.02, "left"),
    ]
    figure = plt.figure(figsize=(9, 5.1), layout="constrained")
    figure.patch.set_alpha(0.0)
    grid = figure.add_gridspec(2, 3, height_ratios=[1.75, 1.0])
    for column, (at, name, meaning, opacity, _) in enumerate(scenes):
        ax = figure.add_subplot(grid[0, column])
        graph = geolap.GraphLaplacian(at, self_weights=False).fit(X).graph_.to_networkx(least_weight=0.15)
        edges = np.array([(i, j) for i, j in graph.edges], dtype=int).reshape(-1, 2)
        weights = np.array([w for *_, w in graph.edges(data="weight")])
        color = orange if column == 1 else blue
        lines = LineCollection(X[edges], colors=color, linewidths=0.9 if column == 0 else 0.7, alpha=opacity * weights)
        ax.add_collection(lines)
        ax.plot(*X.T, ".", color=ink, ms=1.3)
        ax.set_title(f"ε = {at:.2g}, {name}" if column != 1 else f"ε̂ = {at:.2g}", color=color, fontsize=11, weight="bold")
        ax.text(0.5, -0.04, meaning, transform=ax.transAxes, ha="center", va="top", color=ink, fontsize=10)
        ax.set_aspect("equal")
        ax.set_axis_off()
    ax = figure.add_subplot(grid[1, :])
    ax.loglog(selection.bandwidths, selection.scores, color=ink, lw=1.6)
    for column, (at, name, _, _, side) in enumerate(scenes):
        height = np.exp(np.interp(np.log(at), np.log(selection.bandwidths), np.log(selection.scores)))
        color = orange if column == 1 else blue
        ax.plot(at, height, "o", color=color, ms=8, zorder=3)
        ax.annotate(
            name,
            (at, height),
            (0, 9 if side == "center" else -16),
            textcoords="offset points",
            ha=side,
            color=color,
            fontsize=11,
        )
    ax.set_xlabel("bandwidth ε", color=ink)
    ax.set_ylabel("distortion D(ε)", color=ink)
    ax.set_ylim(0.06, 1.1)
    ax.set_yticks([0.1, 0.2, 0.5, 1.0], ["0.1", "0.2", "0.5", "1"])
    ax.set_yticks([], minor=True)
    ax.set_xlim(0.01, selection.bandwidths[-1])
    ax.patch.set_alpha(0.0)
    for edge in ("top", "right"):
        ax.spines[edge].set_visible(False)
    for edge in ("bottom", "left"):
        ax.spines[edge].set_color(gray)
    ax.tick_params(which="both", colors=gray)
    return figure


def draw_digits():
    figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
    geolap.select_bandwidth(load_digits().data, random_state=0).plot(ax)
    ax.set_title("Handwritten digits, 1797 images of 8×8 pixels", loc="left", fontsize=10)
    return figure


if __name__ == "__main__":
    draw_digits().savefig(FOLDER / "digits.png", dpi=150)
    for page, colors in INK.items():
        whole = BytesIO()
        draw_idea(colors).savefig(whole, dpi=150)
        few_colors = Image.open(whole).quantize(96, method=Image.Quantize.FASTOCTREE)
        few_colors.save(FOLDER / f"idea_{page}.png", optimize=True)
