"""How Sphinx makes the site: see ``.ci/make_site.py``, which puts the sources together and calls it."""

from scalarviz import __version__

project, author = "scalarviz", "The scalarviz developers"
copyright = author
version = release = __version__
root_doc = "README"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["site"]
myst_heading_anchors = 4
myst_enable_extensions = ["html_image"]
nb_execution_mode = "off"  # the notebooks hold their outputs
nb_mime_priority_overrides = [("html", "text/html", 0)]
autodoc_typehints = "none"  # the docstrings say them
html_theme = "furo"
html_title = "scalarviz"
html_copy_source = False
html_show_sphinx = False
