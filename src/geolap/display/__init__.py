"""Results as pictures, notebook cards and reports.  Displays know results; results know no display."""

__all__: list[str] = []
