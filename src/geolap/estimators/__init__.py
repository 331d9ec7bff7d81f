"""Estimators on a graph, after scikit-learn: Laplacians, maps, labels, and the metric of a map."""

__all__: list[str] = []
