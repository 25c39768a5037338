# Everything here works on a machine with Python >= 3.11, make and a package index.
# Another Python: make PYTHON=python3.13 test

PYTHON ?= python3
# Each Python has an environment of its own, so that the other one stays.
VENV ?= .venv$(if $(filter-out python3,$(PYTHON)),-$(notdir $(PYTHON)))
WORKERS ?= 2
PYTHONS ?= python3.12 python3.13
SAMPLE ?= 140
BIN = $(VENV)/bin
ANY_RELEASE = tests/cli/test_cli.py tests/public/test_docstrings.py tests/laws/test_laws.py tests/endurance/test_threads.py tests/runtime/test_client.py
SOURCES = minijax tests tools chapters site

# The tests of a chapter, make check CH=4, or of a file: make check FILE=minijax/core/forward.py
CH ?= 1
FILE ?=
# make fuzz MINUTES=5 SEED=1: random programs; PROCESSES at once
MINUTES ?= 5
SEED ?= $(shell date +%s)
PROCESSES ?= 2
# The share of programs that may show a fault; CI allows one in fifty, until the rate is zero.
ALLOW ?= 0
# make oracle TESTS=tests/remat refreshes the answers to some tests
TESTS ?= tests

# make mutants N=300 SEED=1 changes that many rules, one at a time
N ?= 300

.PHONY: help everything tour check quick test history fuzz edges oracle mutants used lint bench book read reading browse update test-all-pythons sample-all-pythons clean
.DELETE_ON_ERROR:

help:
	@echo "make tour              watch minijax differentiate, and a network learn to read"
	@echo "make check CH=4        one chapter's tests: under a minute, without JAX"
	@echo "make check FILE=minijax/core/forward.py   the tests that reach a file: likewise"
	@echo "make quick             a sample of all tests: under three minutes"
	@echo "make test              lint, then compare everything with real JAX"
	@echo "make history           run each of 600 programs among the others: the same as alone?"
	@echo "make fuzz MINUTES=5    random programs against JAX, then laws without it; findings: build/fuzz"
	@echo "make edges             compare every function at the ends of its domain: ten minutes"
	@echo "make oracle            store JAX's answers anew, which the tests compare with"
	@echo "make mutants N=300     change rules, one at a time: do the tests notice?"
	@echo "make used              say which statements users' programs execute: half an hour"
	@echo "make bench             measure our speed against real JAX's"
	@echo "make book              build the book's site; all that it shows is run and checked"
	@echo "make read              serve the book, and open it in the browser"
	@echo "make browse            read the built book in a real browser (needs chromium and npm)"
	@echo "make reading           say how long each chapter takes to read"
	@echo "make update            store what the book's examples print now"
	@echo "make lint              style, types, and the chapter order"
	@echo "make endurance         threads, Ctrl-C, kills, and 10,000 programs: half an hour"
	@echo "make test-all-pythons  the tests on every Python there is of: $(PYTHONS)"
	@echo "make sample-all-pythons  a sample of the tests on each of these"
	@echo "make clean             remove what the others made"

# One virtual environment. A target installs the extras it needs, again whenever pyproject.toml has
# changed: $(VENV)/installed-X is as new as the last installation of the extra X.
$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "minijax needs Python 3.11 or newer: make PYTHON=python3.13 ...")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed-%: pyproject.toml | $(VENV)/made
	@echo "Installing minijax[$*] into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@$(BIN)/python -m compileall -q minijax  # an import is quick, even if Python may write no bytecode
	@touch $@

# All extras, one after another: then several targets can run at a time.
everything:
	@for extra in tour test lint book; do $(MAKE) --no-print-directory $(VENV)/installed-$$extra || exit 1; done

tour: $(VENV)/installed-tour
	$(BIN)/python -m minijax tour

lint: $(VENV)/installed-lint $(VENV)/installed-test
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

# As many of these tests as 45 seconds hold. JAX's answers are stored: they need no JAX.
check: $(VENV)/installed-test
	$(BIN)/python -m tools.check $(or $(FILE),$(CH)) -n $(WORKERS)

quick: $(VENV)/installed-test
	$(BIN)/python -m pytest -q -n $(WORKERS) -p tools.sampling --sample $(SAMPLE)

# Each day another thirtieth of the stored answers is compared with what JAX answers.
# What failed runs once more, alone: tests of threads and signals depend on how busy the machine is.
test: lint
	MINIJAX_ORACLE=daily $(BIN)/python -m pytest -q -n $(WORKERS) || \
	MINIJAX_ORACLE=daily $(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none

# What ran before in a process changes nothing: each program among the others, and in a fresh process.
history: $(VENV)/installed-test
	$(BIN)/python -m tests.history --all

# Random programs, from a seed: first against JAX, then minijax's own laws. What they find is shrunk.
fuzz: $(VENV)/installed-test
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --seed $(SEED) --processes $(PROCESSES) --allow $(ALLOW)
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --seed $(SEED) --processes $(PROCESSES) --allow $(ALLOW) --laws

# Functions x edges x modes x dtypes, eagerly and compiled. A part: make edges ONLY="ndtri|sinc",
# or every 12th function, the first of which a hexadecimal number says: make edges PART=7f3a OF=12
edges: $(VENV)/installed-test
	JAX_PLATFORMS=cpu MINIJAX_ORACLE=live $(BIN)/python -m tests.edges --show --only "$(ONLY)" --part "$(PART)" --of $(or $(OF),1) \
		$(if $(DTYPES),--dtypes $(DTYPES))

oracle: $(VENV)/installed-test
	MINIJAX_ORACLE=refresh $(BIN)/python -m pytest -q -n $(WORKERS) $(TESTS)
	$(BIN)/python -m tests.oracle $(if $(filter tests,$(TESTS)),--new)

# Does a test fail if a rule is changed? About ten minutes for a first look at what tests reach.
mutants: $(VENV)/installed-test
	JAX_PLATFORMS=cpu $(BIN)/python -m tools.mutation -n $(N) --seed $(SEED)

# Which statements of the library users' programs reach. More programs: make used PROGRAMS="a.py b.py"
used: $(VENV)/installed-test
	$(BIN)/python -m tools.used $(PROGRAMS)

bench: $(VENV)/installed-test
	$(BIN)/python -m tests.benchmarks --book

# The book's site, in build/site: its examples are run, and what has changed ends the build.
book: $(VENV)/installed-book
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=site:. $(BIN)/python -m mkdocs build
	PYTHONPATH=site:. $(BIN)/python -m weaver.links build/site

read: $(VENV)/installed-book
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=site:. $(BIN)/python -m mkdocs serve --open

# The words, the listing lines and the minutes of each chapter.
reading: $(VENV)/installed-test
	$(BIN)/python -m tools.reading

# Read the built book in a real browser; needs chromium and npm.
browse: book
	cd tests/browser && npm ci --no-audit --no-fund --loglevel=error && node check.mjs ../../build/site $$(command -v chromium || command -v chromium-browser)
	$(BIN)/python -m minijax theatre minijax.numpy:sum --args 'f32[3]' --grad --output build/theatre.html
	$(BIN)/python -m minijax explain minijax.numpy:std --args 'f32[3]' --grad --output build/explain.html
	cd tests/browser && node explain.mjs ../../build/explain.html $$(command -v chromium || command -v chromium-browser)
	cd tests/browser && node plays.mjs ../../build/site ../../build/theatre.html $$(command -v chromium || command -v chromium-browser)

# Store what the book's examples print now.
update: $(VENV)/installed-book
	PYTHONPATH=site:. $(BIN)/python -m weaver update

# On each Python first everything, against the JAX that is pinned; then, with the newest jaxlib there
# is, the tests that hold for any release of JAX.
test-all-pythons:
	$(call on_each_python,test-here test-newest)

# CI lints and tests on one Python, and asks the others whether a sample of the tests passes.
sample-all-pythons:
	$(call on_each_python,sample-here)

# A Python counts if it is on the path or among pyenv's, and can make a virtual environment.
test-all-pythons sample-all-pythons: export PATH := $(subst $() ,:,$(wildcard $(HOME)/.pyenv/versions/*/bin) $(PATH))
define on_each_python
	@for python in $(PYTHONS); do \
	  if $$python -c 'import ensurepip' 2>/dev/null; then \
	    for target in $(1); do \
	      $(MAKE) PYTHON=$$python VENV=.venv-$$(basename $$python)-$${target#*-} $$target || exit 1; \
	    done; \
	  else \
	    echo "$$python is not here: skipped"; \
	  fi; \
	done
endef

.PHONY: test-here sample-here test-newest
test-here: $(VENV)/installed-test
	$(BIN)/python --version
	$(BIN)/python -m pytest -q -n $(WORKERS)

sample-here: $(VENV)/installed-test
	$(BIN)/python --version
	$(BIN)/python -m pytest -q -n $(WORKERS) -p tools.sampling --sample $(SAMPLE)

test-newest: $(VENV)/installed-test
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade jax 'jaxlib<0.13'
	$(BIN)/python -m minijax doctor
	$(BIN)/python -m pytest -q -n $(WORKERS) -k "not against_jax" $(ANY_RELEASE)

# Threads, Ctrl-C, kills, and 10,000 programs: half an hour. The test suite has short versions.
.PHONY: endurance
endurance: $(VENV)/installed-test
	$(BIN)/python -m tests.endurance.interrupts 200
	$(BIN)/python -m tests.endurance.kills 100
	$(BIN)/python -m tests.endurance.memory 10000
	$(BIN)/python -m tests.endurance.threads 600

clean:
	rm -rf build dist .venv .venv-* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
