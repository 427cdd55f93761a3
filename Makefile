# Everything is made below .venv, build and .cache. `make` alone says what there is.

PYTHON ?= python3
CC ?= cc
WORKERS ?= $(shell nproc 2>/dev/null || echo 2)
NO_BENCHES := $(addprefix bench/,machine.py streams.py report.py tables.py uci_sets.py planted_faults.py test_budget.py attack.py resident.py)
BENCHES ?= $(sort $(filter-out $(NO_BENCHES),$(wildcard bench/*.py)))
PAPERS := $(sort $(wildcard bench/papers/*[0-9].py))

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
KERNELS := $(filter-out $(addprefix c_kernels/,checks/% firmware/% fuzz/% tests/%),$(wildcard c_kernels/*.[ch] c_kernels/*/*.[ch])) build_kernels.py setup.py pyproject.toml $(wildcard mapdpm/likelihoods/*.py mapdpm/translation/*.py) mapdpm/special.py

export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba
export MAPDPM_CACHE_DIR := $(CURDIR)/.cache/families
export MPLBACKEND := Agg
# Empty: Python keeps what it compiles. Tests start hundreds of Pythons, and each would compile its packages anew.
export PYTHONDONTWRITEBYTECODE :=

# A part that passed leaves a stamp, and runs again when a file that it reads has changed. c_kernels has its own stamps.
STAMPS := build/stamps
FILES := $(wildcard $(shell git ls-files --cached --others --exclude-standard 2>/dev/null || \
	find . -type f -not -path './.*' -not -path './build/*' -not -path '*/__pycache__/*' -not -name '*.so' -printf '%P\n'))
PAGES := $(filter-out c_kernels/%,$(filter docs/% bench/papers/% %.md,$(FILES)))
READ_PAGES := tests/docs tests/project tests/test_public_names.py tests/backends/test_functions.py tests/stream/test_settings.py tests/web/test_console.py
CODE := $(filter-out $(PAGES) bench/% .ci/%,$(FILES))
SHIPPED := $(filter mapdpm/% c_kernels/% examples/data/% release/% %.in,$(FILES)) README.md $(KERNELS)
# Files in their order, which begins with those that compile most: what comes last takes seconds.
PYTEST = $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# Lines that begin with it have a +, for make hands on its jobs only where a line itself names $(MAKE).
PARALLEL = $(MAKE) --no-print-directory $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) \
	$(if $(findstring jobserver,$(MAKEFLAGS)),,-j $(WORKERS))

.DELETE_ON_ERROR:
.PHONY: help demo test test-all test-rest test-slow lint test-c test-c-all test-firmware test-firmware-all firmware \
	test-python test-python-rest test-wheel test-wheels release-check attack bench papers papers-quick web docs pictures \
	clean check-tools FORCE

help:
	@echo 'make demo       cluster smart-watch data, see what is found (about a minute the first time)'
	@echo 'make test       what a change must pass, in minutes: lint, test-c, test-firmware, test-python'
	@echo 'make test-all   make test, and all else: every compiler, machine, wheel and family, the site (CI runs it)'
	@echo 'make test-slow  the statistical tests that take many minutes'
	@echo 'make attack     every attack of docs/security.md, and how many inputs or tests it had'
	@echo 'make bench      the figures of the documentation'
	@echo 'make papers     every table and figure of the papers, measured: docs/papers.md'
	@echo 'make firmware   the C library on chips, emulated: sizes, instructions, and the same bits'
	@echo 'make web        the page to play with, build/web/index.html: the C library in a browser'
	@echo 'make release-check  build the release from the last commit into build/release, and check it (minutes)'
	@echo 'make docs       the documentation as a site, build/site/index.html'
	@echo 'make clean      remove what make made'
	@echo 'PYTHON=python3.12 make ... chooses the Python; any from 3.11 on'

demo: .venv/installed
	@mkdir -p build
	@$(BIN)/mapdpm demo --picture build/mapdpm_demo.png

# lint first: .venv, which it needs, is made while the C tests run.
test:
	+@$(PARALLEL) lint test-c test-firmware test-python
	@echo 'make test: all passed'

test-all:
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-rest

# What `make test` leaves out. C needs no .venv, so pip waits for its packages meanwhile.
test-rest:
	+@$(PARALLEL) .venv/complete test-c-all test-firmware-all
	+@$(PARALLEL) test-wheel test-python-rest papers-quick
	@echo 'make test-rest: all passed'

lint: .venv/tested
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy --no-error-summary
	@[ ! -e .git ] || [ "$$(git config core.hooksPath)" = .githooks ] || echo 'lint: a hook refuses long subjects of commits: git config core.hooksPath .githooks'

test-c: check-tools
	$(MAKE) --no-print-directory -C c_kernels test

test-c-all: check-tools
	$(MAKE) --no-print-directory -C c_kernels test-all

# Machines whose tools are not there are left out, and named; CI has all but RISC-V.
test-firmware: check-tools
	$(PYTHON) c_kernels/firmware/firmware.py --quick

test-firmware-all: check-tools
	$(PYTHON) c_kernels/firmware/firmware.py --ci

firmware: check-tools
	$(MAKE) --no-print-directory -C c_kernels firmware

test-wheel: $(STAMPS)/wheel
test-wheels: $(STAMPS)/wheels
test-python: $(STAMPS)/pages
test-python-rest: $(STAMPS)/pages-rest
papers-quick: $(STAMPS)/papers

# The tree is built as it is; a release is built from the last commit, and never from a stamp.
$(STAMPS)/wheel: $(STAMPS)/shipped $(SHIPPED) | .venv/complete
	$(BIN)/python -m release.check --tree --quick
	@touch $@

$(STAMPS)/wheels: $(STAMPS)/shipped $(SHIPPED) | .venv/complete
	$(BIN)/python -m release.check --tree
	@touch $@

release-check: .venv/complete
	$(BIN)/python -m release.check

$(STAMPS)/python: $(STAMPS)/code $(CODE) .venv/tested
	@mkdir -p $(NUMBA_CACHE_DIR) && find $(NUMBA_CACHE_DIR) -type f -atime +7 -delete
	$(PYTEST) -m 'not slow and not complete' --doctest-modules mapdpm tests
	@touch $@

$(STAMPS)/python-rest: $(STAMPS)/code $(CODE) .venv/complete
	$(PYTEST) -m 'complete and not slow' --doctest-modules mapdpm tests
	@touch $@

# Where only pages have changed, the tests that read them do. Where the first stamp is new, all of tests/ has just run.
$(STAMPS)/pages: $(STAMPS)/python $(PAGES)
	$(if $(filter $<,$?),@,$(PYTEST) -m 'not slow and not complete' $(READ_PAGES) && )touch $@

$(STAMPS)/pages-rest: $(STAMPS)/python-rest $(PAGES)
	$(if $(filter $<,$?),@,$(PYTEST) -m 'complete and not slow' $(READ_PAGES) && )touch $@

# The short form of what `make papers` measures: fails where a verdict has changed.
$(STAMPS)/papers: $(STAMPS)/code $(CODE) $(filter bench/papers/% bench/machine.py,$(FILES)) .venv/tested
	@set -e; for paper in $(PAPERS); do $(BIN)/python $$paper --quick >/dev/null; done
	$(BIN)/python bench/papers/report.py --check
	@touch $@

# The names of files, for those that are gone: newer only when they have changed.
$(STAMPS)/code: NAMES = $(sort $(CODE))
$(STAMPS)/shipped: NAMES = $(sort $(SHIPPED))
$(STAMPS)/code $(STAMPS)/shipped: FORCE
	@mkdir -p $(@D)
	@echo '$(NAMES)' | cmp -s - $@ || echo '$(NAMES)' >$@

test-slow: .venv/complete
	$(MAKE) --no-print-directory -C c_kernels fuzz RUNS=20000
	$(PYTEST) -m slow --hypothesis-profile=slow tests

attack: .venv/complete
	@$(BIN)/python bench/attack.py

bench: .venv/tested
	@mkdir -p build/bench
	@set -e; for script in $(BENCHES); do echo "== $$script"; out=build/bench/$$(basename $$script .py).jsonl; \
		$(BIN)/python "$$script" >"$$out"; cat "$$out"; done
	$(BIN)/python bench/report.py build/bench/*.jsonl --pictures build/bench

# Exhibits of data need MAPDPM_DATA, the folder of data; without it, their last figures stay.
papers: .venv/tested
	@set -e; for paper in $(PAPERS); do echo "== $$paper"; $(BIN)/python $$paper >/dev/null; done
	$(BIN)/python bench/papers/report.py

# One file, without a server: open it in a browser. It has the rules of the command line, so the package is imported.
web: .venv/installed
	@$(BIN)/python web/build.py build/web/index.html

docs: .venv/complete
	$(BIN)/python -m sphinx -W --keep-going -q docs build/site
	@echo 'build/site/index.html'

pictures: .venv/tested
	$(BIN)/python docs/draw.py

clean:
	rm -rf .venv .cache build dist *.egg-info mapdpm/backends/*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	-$(MAKE) --no-print-directory -C c_kernels clean

# The package is installed as an editable one: Python files are those of the tree, and the compiled modules are made
# anew whenever something they are made of has changed. Python compiles a module when it is first imported: most of those
# of the packages never are.
.venv/bin/python: | check-tools
	@echo 'making .venv'
	@rm -rf .venv && $(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python $(KERNELS)
	@echo 'compiling and installing mapdpm in .venv'
	@$(PIP) install --no-compile -e '.[plot]'
	@touch $@

.venv/tested: .venv/bin/python $(KERNELS)
	@echo 'compiling and installing mapdpm, and what its tests need, in .venv'
	@$(PIP) install --no-compile -e '.[test,lint]'
	@touch .venv/installed $@

.venv/complete: .venv/tested
	@echo 'installing what the complete tests need, in .venv'
	@$(PIP) install --no-compile 'mapdpm[test-all]'
	@touch $@

check-tools:
	@missing() { echo "$$1 is missing; on Debian and Ubuntu: apt-get install $$2" >&2; failed=1; }; \
	failed=0; \
	if ! command -v $(PYTHON) >/dev/null 2>&1; then missing '$(PYTHON)' python3; \
	elif ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then \
	  missing 'Python 3.11 or newer ($(PYTHON) is older; PYTHON=... names another)' python3; \
	else \
	  $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing 'the module venv of $(PYTHON)' python3-venv; \
	  $(PYTHON) -c 'import pathlib, sys, sysconfig; p = pathlib.Path(sysconfig.get_path("include"), "Python.h"); sys.exit(not p.exists())' \
	    || missing 'Python.h of $(PYTHON)' python3-dev; \
	fi; \
	command -v $(firstword $(CC)) >/dev/null 2>&1 || missing 'a C compiler ($(CC))' build-essential; \
	exit $$failed
