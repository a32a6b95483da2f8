# SPDX-License-Identifier: BSD-3-Clause. Copyright (c) 2026 The rbuf authors.
"""What Sphinx is to make of the documents: see docs/Makefile.am."""

project = "rbuf"
author = "The rbuf authors"
copyright = "2026 The rbuf authors"
extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
smartquotes = False  # options begin with two hyphens
html_theme = "alabaster"
html_theme_options = {"description": "Open MPI over InfiniBand and RoCE, without a registration cache",
                      "page_width": "1200px", "sidebar_width": "240px"}
html_sidebars = {"**": ["about.html", "searchbox.html", "navigation.html"]}
html_copy_source = False
exclude_patterns = ["parameters.rst"]  # a part of rbuf.md
man_make_section_directory = False
man_pages = [
    ("rbuf", "rbuf", "Open MPI transport for InfiniBand and RoCE that needs no registration cache", "", 7),
    ("rbuf-bench", "rbuf-bench", "time of messages between MPI ranks by size", "", 1),
    ("rbuf-compare", "rbuf-compare", "rbuf-bench over several transports in one run", "", 1),
    ("rbuf-plot", "rbuf-plot", "draw what rbuf-bench and rbuf-compare have measured", "", 1),
    ("rbuf-tune", "rbuf-tune", "measure a machine and choose rbuf's parameters for it", "", 1),
]
