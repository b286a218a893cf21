# Needs Python 3.11 or newer and make. Everything else goes into .venv, at the versions of requirements.lock.

PYTHON ?= python3
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
BIN := .venv/bin

# What a notebook's outputs depend on: the library, the ledger, the figures' style and the installed versions.
LIBRARY := $(shell find ldp_lib tools/execute.py -type f -not -name '*.pyc')
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
EXECUTED := $(NOTEBOOKS:%=_build/source/%)

# One thread for each process: notebooks and tests already run side by side.
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PYDEVD_DISABLE_FILE_VALIDATION = 1

.PHONY: help book executed test lint lab bench rerun clean
.DELETE_ON_ERROR:

help:
	@echo 'make book           execute the notebooks and build the site in _build/html'
	@echo 'make test           lint, library tests, notebooks against their stored outputs, the site in a browser'
	@echo 'make lab            open JupyterLab on the notebooks'
	@echo 'make bench          measure speed against other libraries'
	@echo 'make lint           check style and formatting'
	@echo 'make rerun NB=slug  execute notebooks/slug.ipynb and store its outputs'
	@echo 'make clean          remove what was built; .venv stays'

# The environment is made anew when the lock changes, so that it holds nothing else.
.venv/ready: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	         "Name another one: make PYTHON=python3.12"; exit 1; }
	@echo 'Setting up .venv (some minutes the first time).'
	@$(PYTHON) -m venv --clear .venv || { \
	    echo 'Python could not make a virtual environment; on Debian and Ubuntu, install python3-venv.'; exit 1; }
	@$(BIN)/python -m pip install --quiet -r requirements.lock
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# The site is built from the executed notebooks, so what is published is what ran.
book: .venv/ready
	@mkdir -p _build/source/notebooks
	@ln -sfn ../../book _build/source/book
	@ln -sf ../../_config.yml ../../_toc.yml _build/source/
	@$(MAKE) --no-print-directory --keep-going -j$(JOBS) executed
	@# --all: Sphinx repeats no warning for a page that it has read before.
	@$(BIN)/jupyter-book build _build/source --path-output . --all -W -n --keep-going --quiet

executed: $(EXECUTED)

_build/source/notebooks/%.ipynb: notebooks/%.ipynb $(LIBRARY) requirements.lock
	@echo "executing $<"
	@$(BIN)/python tools/execute.py $< $@

test: lint book
	@$(BIN)/python tests/browser.py
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --nbval -q

lint: .venv/ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

lab: .venv/ready
	@$(BIN)/jupyter lab --notebook-dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

rerun: .venv/ready
	@test -f 'notebooks/$(NB).ipynb' || { echo 'Name a notebook: make rerun NB=slug, one of: $(NOTEBOOKS:notebooks/%.ipynb=%)'; exit 1; }
	@$(BIN)/python tools/execute.py notebooks/$(NB).ipynb notebooks/$(NB).ipynb

bench: .venv/ready
	@$(BIN)/python benchmarks/run.py

clean:
	rm -rf _build .pytest_cache .ruff_cache .hypothesis
	find . -name .venv -prune -o -name __pycache__ -prune -exec rm -rf {} +
