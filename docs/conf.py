"""Settings of Sphinx. `make docs` copies the pages, writes those of the reference, and builds: see tools/docs.py."""

project = "mpigrad"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "mpigrad"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
myst_heading_anchors = 3
