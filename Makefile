# Needs Python 3.11 or newer and make. Everything else goes into .venv, at the versions of requirements.lock.

PYTHON ?= python3
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
BIN := .venv/bin
PYTEST = $(BIN)/python -m pytest -q -p tools.kernels -n $(JOBS) --dist loadfile

# What a notebook's outputs depend on: the library, the ledger, the figures' style and the installed versions.
LIBRARY := $(shell find ldp_lib tools/execute.py -type f -not -name '*.pyc')
NOTEBOOKS := $(wildcard notebooks/*.ipynb)
EXECUTED := $(NOTEBOOKS:%=_build/source/%)

# As jupyter-book, without a grammar of international addresses that jsonschema would build in two seconds.
JUPYTER_BOOK = import sys; sys.modules["rfc3987_syntax"] = None; from jupyter_book.cli.main import main; main()

# These need the built site.
ON_SITE = $(wildcard tests/site/test_*site.py)

# What `make test` runs as on another processor as well; `make portable` runs everything, under each setting apart.
QUICK = tests/core/test_exact.py tests/core/test_digits.py notebooks/jrr.ipynb

# One thread for each process: notebooks and tests already run side by side.
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PYDEVD_DISABLE_FILE_VALIDATION = 1

# A hundred processes import the library: it is compiled once.
unexport PYTHONDONTWRITEBYTECODE

# Jupyter, IPython and matplotlib write to the home folder; where that cannot be, they get one in _build.
PROBE := $(shell mktemp -d "$$HOME/.ldp_lib.XXXXXX" 2>/dev/null)
ifeq ($(PROBE),)
export HOME := $(CURDIR)/_build/home
$(shell mkdir -p '$(HOME)')
else
$(shell rmdir '$(PROBE)')
endif

.PHONY: help book pdf site executed test browser chapters library thorough check access portable portable-sample lint types lab lab-check assignments assignments-check bench rerun clean atlas proofs audit fuzz mutants faults installs dist coverage graph
.DELETE_ON_ERROR:

help:
	@echo 'make book           execute the notebooks and build the site in _build/html'
	@echo 'make pdf            print that site as one PDF in _build/pdf, and link it on the first page; minutes'
	@echo 'make test           lint, types, library tests, notebooks against their stored outputs, the site in a browser'
	@echo 'make thorough       the long tests, of which make test tries a sample; after make book; half an hour'
	@echo 'make check          lint, types and a sample of the fast tests, in a minute'
	@echo 'make portable       tests and notebooks as on other processors, locales, fonts, Pythons and versions; hours'
	@echo 'make lab            open JupyterLab on the notebooks'
	@echo 'make assignments    release.zip for students and instructor.zip, in _build/assignments'
	@echo 'make assignments-check  grade every solution and wrong answer through nbgrader; minutes'
	@echo 'make lab-check      what a reader does in JupyterLab, in a browser; the site as built for several hosts'
	@echo 'make access         axe-core on every built page: barriers for keyboards and screen readers; minutes'
	@echo 'make bench          measure speed against other libraries'
	@echo 'make graph          trace what rests on what: results, claims, functions, tests; ten minutes'
	@echo 'make coverage       count how often intervals hold the truth, for the page of that name; many minutes'
	@echo 'make proofs         prove budgets at random parameters; audit, fuzz, mutants, faults, installs: other ways to try it;'
	@echo '                    the page hardening of the book shows their counts'
	@echo 'make atlas          verify all certificates of the atlas of small domains; a minute'
	@echo 'make dist           the sdist and the wheel in _build/dist, the same bytes each time'
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
	@# The lock is whole, so nothing is looked for. uv takes a fifth of pip's time; where it gets no files, pip tries.
	@# What pip would compile with one processor, all do.
	@{ $(BIN)/python -m pip install --quiet --require-hashes -r tools/installer.lock && \
	    $(BIN)/uv pip install --quiet --require-hashes -r requirements.lock --no-deps --python $(BIN)/python; } 2>/dev/null || \
	    $(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock --no-deps --no-compile || { \
	    echo 'The packages could not be installed. With a network, call make again: it begins anew.'; exit 1; }
	@$(BIN)/python -m pip check --quiet
	@$(BIN)/python -m compileall -q -j $(JOBS) -x '/tests?/' .venv/lib || true
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# The site is built from the executed notebooks, so what is published is what ran.
book: .venv/ready
	@mkdir -p _build/source/notebooks
	@$(MAKE) --no-print-directory --keep-going -j$(JOBS) executed
	@$(MAKE) --no-print-directory site

site:
	@ln -sfn ../../book _build/source/book
	@ln -sf ../../_config.yml ../../_toc.yml _build/source/
	@# --all: Sphinx repeats no warning for a page that it has read before.
	@$(BIN)/python -c '$(JUPYTER_BOOK)' build _build/source --path-output . --all -W -n --keep-going --quiet

# What is printed is the site as it was built; the first page links to the PDF once it is there.
pdf: book browser
	@$(BIN)/python tools/pdf.py _build/html _build/pdf/ldp-book.pdf

executed: $(EXECUTED)

_build/source/notebooks/%.ipynb: notebooks/%.ipynb $(LIBRARY) requirements.lock
	@echo "executing $<"
	@$(BIN)/python tools/execute.py $< $@

# nbval executes each notebook once; what ran is what the site is built from, and what `make book` then finds done.
test: lint
	@$(MAKE) --no-print-directory -j3 browser types chapters
	@$(MAKE) --no-print-directory -j3 site library portable-sample
	@# A page that lays itself out anew is waited for: one browser more than there are processors.
	@$(PYTEST) -n $$(($(JOBS) + 1)) -m 'not thorough' $(ON_SITE)

# Where there is none yet, one is installed while the chapters run.
browser: .venv/ready
	@$(BIN)/python tests/browser.py

chapters:
	@$(PYTEST) --nbval -p tools.keep_executed notebooks

# Beside the site, which takes one processor while it is built.
library:
	@$(PYTEST) -m 'not thorough' $(ON_SITE:%=--ignore=%) tests

thorough: lint types browser
	@$(PYTEST) -m thorough tests

# In one process, which imports once: there are others enough.
portable-sample:
	@$(BIN)/python tools/portable.py --jobs 0 --only all-at-once -- --nbval $(QUICK)

check: lint types
	@$(PYTEST) -m 'not brief and not slow and not thorough' $(ON_SITE:%=--ignore=%) tests

portable: .venv/ready
	@$(BIN)/python tools/portable.py $(ARGS)

lint: .venv/ready
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: .venv/ready
	@$(BIN)/mypy

lab: .venv/ready
	@echo 'JupyterLab opens in your browser, with the chapters in their order; change what you like. Ctrl-C here ends it.'
	@$(BIN)/jupyter lab --config=tools/lab_config.py $(if $(filter 0,$(shell id -u)),--allow-root)

# Every page in both themes, on a desk and on a phone; `make test` tries one page of each kind.
access: browser
	@$(PYTEST) tests/site/all_pages.py

lab-check: browser
	@$(PYTEST) -n 0 tests/lab_session.py tests/built_elsewhere.py

rerun: .venv/ready
	@test -f 'notebooks/$(NB).ipynb' || { echo 'Name a notebook: make rerun NB=slug, one of: $(NOTEBOOKS:notebooks/%.ipynb=%)'; exit 1; }
	@$(BIN)/python tools/execute.py notebooks/$(NB).ipynb notebooks/$(NB).ipynb

assignments: .venv/ready
	@$(BIN)/python tools/problem_sets.py build _build/assignments

assignments-check: .venv/ready
	@$(BIN)/python -W ignore tools/problem_sets.py check $(SETS)

bench: .venv/ready
	@$(BIN)/python benchmarks/run.py

# How often each interval of the library holds the truth, by simulation; many minutes.
coverage: .venv/ready
	@$(BIN)/python tools/interval_coverage.py

# What each chapter and each test calls, for the pictures at the chapters' ends; all, or what ONLY names.
graph: .venv/ready
	@JOBS=$(JOBS) $(BIN)/python tools/rests_on.py $(ONLY)

# What the page hardening counts. `make mutants SAMPLE=` tries all mutants, in many hours.
# Every certificate of the atlas, by the file that imports nothing of the library; `make test` tries a sample.
atlas: .venv/ready
	@$(BIN)/python tools/atlas.py verify

proofs audit fuzz faults installs: .venv/ready
	@$(BIN)/python tools/hardening.py $@

dist: .venv/ready
	@$(BIN)/python tools/installs.py build

SAMPLE ?= 300
SEED ?= 1
mutants: .venv/ready
	@$(BIN)/python -m pip install --quiet --no-deps --require-hashes --upgrade --target _build/mutants/packages -r tools/mutants.lock
	@$(BIN)/python tools/mutants.py cover
	@$(BIN)/python tools/mutants.py run --seed $(SEED) $(if $(SAMPLE),--sample $(SAMPLE))
	@$(BIN)/python tools/mutants.py page
	@$(BIN)/python tools/hardening.py $@

clean:
	rm -rf _build .pytest_cache .ruff_cache .hypothesis
	find . -name .venv -prune -o -name __pycache__ -prune -exec rm -rf {} +
