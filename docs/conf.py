"""Sphinx configuration.  ``make docs`` builds the site from these pages and the docstrings into docs/_build/html."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import geolap
from geolap.choices import RULES

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))  # for gallery_order.py

# The API page lists the rules that are registered.
rules = "".join(f"   {rule.selector}\n" for name, rule in RULES.items() if name != "gc")
page = (HERE / "_templates" / "api.rst").read_text(encoding="utf-8")
(HERE / "api.rst").write_text(page.replace("   {{ rules }}\n", rules), encoding="utf-8")

project = "geolap"
author = "The geolap developers"
copyright = "the geolap developers"
version = release = geolap.__version__
built_as = os.environ.get("GEOLAP_DOCS_VERSION", "main")  # a folder of the site: main, or a release

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "hunt.md"]  # a part of promises.md
default_role = "py:obj"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
templates_path = ["_templates"]

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False  # the class template lists them

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",  # the others are shown, not run
    "within_subsection_order": "gallery_order.GalleryOrder",
    "capture_repr": (),
    "default_thumb_file": str(HERE / "images" / "idea_light.png"),
    "download_all_examples": False,
    "abort_on_example_error": True,
    "thumbnail_size": (400, 280),
}

mathjax = find_spec("sphinx-mathjax-offline")
html_theme = "pydata_sphinx_theme"
html_title = "geolap"
html_static_path = ["_static", *(f"{place}/static" for place in mathjax.submodule_search_locations)]
mathjax_path = "mathjax/tex-chtml.js"  # formulas need no network
html_css_files = ["style.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_sidebars = {"quick_start": [], "changelog": []}  # pages without subpages
html_theme_options = {
    "logo": {"text": "geolap", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "switcher": {"json_url": "https://geolap.github.io/geolap/versions.json", "version_match": built_as},
    "check_switcher": False,  # the list is published with the site
    "navbar_end": ["version-switcher", "theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
