"""The order of the gallery: from the first thing to try to what needs other machines."""

ORDER = (
    "plot_digits.py",
    "plot_displays.py",
    "plot_swiss_roll.py",
    "plot_torus_metric.py",
    "plot_few_labels.py",
    "plot_choose_parameters.py",
    "plot_single_cells.py",
    "million_points.py",
    "gpu.py",
    "dask_cluster.py",
)


class GalleryOrder:
    """Sorts files by their place in `ORDER`."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, name):
        return ORDER.index(name)
