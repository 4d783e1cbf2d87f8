"""Skip the tests of the built book before Python 3.11, because the book's theme needs 3.11."""

import sys

collect_ignore = ["test_book.py"] if sys.version_info < (3, 11) else []
