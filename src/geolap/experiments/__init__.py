"""The paper's experiments.  So far its TE rule: the oracle that looks at the test labels."""

from .oracle import test_error_bandwidth

__all__ = ["test_error_bandwidth"]
