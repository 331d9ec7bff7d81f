"""What the user gives, checked once: points, their distances, their weights, and what is odd about their columns."""

__all__: list[str] = []
