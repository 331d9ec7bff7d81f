"""Graphs: which pairs they store, how they are built, extended to new points, and decomposed."""

__all__ = ["forecast", "graph", "health", "multigrid", "neighbors", "smooth_regression", "spectrum"]
