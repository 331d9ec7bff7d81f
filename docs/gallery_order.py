"""The order of the gallery: the first examples to try come first, those that need special hardware last."""

ORDER = (
    "plot_digits.py",
    "plot_displays.py",
    "plot_swiss_roll.py",
    "plot_coordinates.py",
    "plot_parts.py",
    "plot_relaxation.py",
    "plot_named_coordinates.py",
    "plot_calibration.py",
    "plot_torus_metric.py",
    "plot_clusters.py",
    "plot_few_labels.py",
    "plot_molecules.py",
    "plot_sparse_counts.py",
    "plot_any_metric.py",
    "plot_choose_parameters.py",
    "plot_single_cells.py",
    "million_points.py",
    "gpu.py",
    "dask_cluster.py",
)


class GalleryOrder:
    """Sorts files by their position in `ORDER`."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name):
        return ORDER.index(name)
