"""How Sphinx makes the site: see ``.ci/make_site.py``, which puts the sources together and calls it."""

from scalarviz import __version__

project, author = "scalarviz", "The scalarviz developers"
copyright = author
version = release = __version__
html_static_path = ["static"]
html_css_files = ["front.css", "lessons.css"]
html_js_files = [("questions.js", {"defer": "defer"})]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
myst_enable_extensions = ["html_image"]
nb_execution_mode = "off"  # the notebooks hold their outputs
nb_mime_priority_overrides = [("html", "text/html", 0)]
suppress_warnings = ["ref.python"]  # "Run" is meant where two modules offer it
napoleon_use_ivar = True  # an attribute that is a property too is described once
autodoc_typehints = "none"  # the docstrings say them
html_theme = "furo"
html_title = "scalarviz"
html_copy_source = False
html_show_sphinx = False
