# Paths are relative and programs run as `python -m`, so a folder with a space in its name works too.
# Another Python: make lab PYTHON=python3.12      Options of a command: make lab ARGS=--no-browser
PYTHON ?= python3
PY := .venv/bin/python
READY := .venv/.ready

.PHONY: lab test build bench browser-test test-nbgrader lock

lab: $(READY)           # build the course and open JupyterLab at lesson 00
	@$(PY) -m utils.instructor.cli lab $(ARGS)

test: $(READY)          # everything: unit tests, solved and untouched notebooks, the browser
	@bash .ci/install-browser && $(PY) -m pytest -n 2 --dist loadfile $(ARGS)

build: $(READY)         # solutions/*.md -> course/
	@$(PY) -m utils.instructor.cli build $(ARGS)

bench: $(READY)         # every figure that the README quotes
	@set -e; for script in bench/*.py; do echo "== $$script"; $(PY) "$$script"; done

browser-test: $(READY)  # only the tests that need Chromium
	@bash .ci/install-browser && $(PY) -m pytest tests/test_browser*.py $(ARGS)

test-nbgrader: $(READY) # what nbgrader makes of the lessons, in an environment of its own
	@.ci/nbgrader $(ARGS)

lock: $(READY)          # pyproject.toml -> requirements.lock: newest versions that hold for Python >= 3.10 on every system
	@mkdir -p build && $(PY) -m uv pip compile pyproject.toml -o build/lock --upgrade --quiet --universal --python-version 3.10 --extra dev --no-header --no-annotate
	@{ grep '^#' requirements.lock; grep -Ev '^(nvidia|cuda|triton)[-=]' build/lock; } > build/lock.new && mv build/lock.new requirements.lock

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 10) or sys.exit("This course needs Python 3.10 or later, and $(PYTHON) is %d.%d. Name a newer one: make lab PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --disable-pip-version-check -r requirements.lock -e .
	@touch $@
