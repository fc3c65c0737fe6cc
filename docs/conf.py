"""The documentation as a site: ``sphinx-build -W -n -b html docs site``, with extra ``docs``."""

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS / "extensions"), str(DOCS.parent / "src")]

from frameworks import CLASSES, MOCKED  # noqa: E402 - from the folder above

from antiloop import __version__ as release  # noqa: E402 - from the clone, installed or not

project = "antiloop"
author = "The antiloop authors"
copyright = author  # noqa: A001 - the name that Sphinx asks for
version = release
needs_sphinx = "8.2"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "api_pages",
    "api_links",
    "page_tree",
]
root_doc = "README"
exclude_patterns = ["examples", "extensions"]
nitpicky = True
nitpick_ignore = [("py:obj", name) for name in CLASSES]  # more is said in api_links.py

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a section may begin two levels down, as code hosts show it

default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
napoleon_numpy_docstring = False
napoleon_use_rtype = False
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_mock_imports = MOCKED

html_theme = "furo"
html_title = f"antiloop {release}"
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["extensions/static"]
html_css_files = ["site.css"]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
