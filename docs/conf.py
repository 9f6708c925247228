"""Sphinx: ``make docs``."""

import sys
import warnings
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE / "extensions")]

project = "sosbands"
author = "The sosbands developers"
copyright = author
release = version = installed("sosbands")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    # Of this folder:
    "docstrings",
    "evidence",
    "mathml",
]
exclude_patterns = ["_build", "generated/evidence", "generated/real*", "paper", "extensions"]
templates_path = ["_templates"]
default_role = "literal"  # `name` in a docstring
highlight_language = "none"
nitpicky = True

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings say it
autosummary_generate = True
numpydoc_show_class_members = False  # the template lists them

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
}
warnings.filterwarnings("error", module="sosbands")  # in the examples, too

html_theme = "pydata_sphinx_theme"
html_title = "sosbands"
html_static_path = ["_static"]
html_css_files = ["sosbands.css"]
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
html_sidebars = {"start": [], "changelog": []}
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
