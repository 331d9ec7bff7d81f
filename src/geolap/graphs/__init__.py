"""Graphs: which pairs they store, how they are built, extended to new points, and decomposed."""

__all__: list[str] = []
