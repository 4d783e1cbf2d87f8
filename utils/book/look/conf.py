"""Configure Sphinx for the book. If a setting differs between builds, `utils.book.site` passes it as a `-D` option."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

project = "Attention, by hand"
author = "the coginst authors"
copyright = "the coginst authors, MIT licence"
html_title = project
language = "en"

extensions = ["myst_nb"]
source_suffix = {".ipynb": "myst-nb", ".md": "myst-nb"}
nitpicky = True
exclude_patterns = []

nb_execution_mode = "off"  # the notebooks already contain their outputs
nb_merge_streams = True
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

html_theme = "sphinx_book_theme"
html_favicon = "static/icon.svg"
html_static_path = ["static"]
html_css_files = ["explore.css", "book.css"]
html_js_files = [("explore.js", {"defer": ""}), ("live.js", {"defer": ""}), ("book.js", {"defer": ""})]
html_copy_source = False
html_show_sourcelink = False
# For a summary, the search fetches the result's page. book.js disables summaries if the site is opened as a file.
html_show_search_summary = True
html_last_updated_fmt = None
html_use_index = False
html_theme_options = {
    "home_page_in_toc": True,
    "show_navbar_depth": 1,
    "show_toc_level": 2,
    "use_download_button": False,
    "use_source_button": False,
    "navigation_with_keys": False,
    "back_to_top_button": False,
    # The sidebar already contains all links.
    **dict.fromkeys(("navbar_start", "navbar_center", "navbar_end", "navbar_persistent"), ()),
}
mathjax_path = "mathjax/tex-mml-chtml.js"
# The Tab key stops at each formula that has a context menu, so the menu is disabled.
mathjax3_config = {"options": {"enableMenu": False}}
html_context = {"default_mode": "auto"}  # follows the light or dark setting of the reader's system


def setup(app: Sphinx) -> None:
    """Connect `remove_empty_headings`. Sphinx calls this function after it has read the configuration."""
    app.connect("html-page-context", remove_empty_headings)


def remove_empty_headings(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Turn empty table headers into plain cells, so that a screen reader does not announce them as headers."""
    context["body"] = re.sub(r"<th( [^>]*)?>\s*(<p></p>)?\s*</th>", "<td></td>", context.get("body", ""))
