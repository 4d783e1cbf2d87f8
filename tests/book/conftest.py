"""The book is built with Python 3.11 or later, as its theme is; what does not need the theme is tested everywhere."""

import sys

collect_ignore = ["test_book.py"] if sys.version_info < (3, 11) else []
