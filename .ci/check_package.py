"""The installed package has its data files, and works with nothing but what it requires."""

from importlib.resources import files

import geolap

root = files("geolap")
missing = [name for name in ("py.typed", "display/report/page.css", "display/report/page.js") if not (root / name).is_file()]
assert not missing, f"The package must hold {missing}."
print(geolap.select_bandwidth(geolap.datasets.make_sphere(200, random_state=0).data, random_state=0))
