# Everything is made below .venv, build and .cache. `make` alone says what there is.

PYTHON ?= python3
CC ?= cc
WORKERS ?= 2
BENCHES ?= $(sort $(filter-out $(addprefix bench/,machine.py streams.py report.py),$(wildcard bench/*.py)))

BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
KERNELS := $(wildcard c_kernels/*.c c_kernels/*.h) build_kernels.py setup.py pyproject.toml

# numba does not notice that a function in another file has changed: a folder for each state of the sources.
# tests/conftest.py names it likewise.
SOURCES_HASH := $(shell find mapdpm -name '*.py' | LC_ALL=C sort | xargs cat | sha256sum | cut -c 1-16)
export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba/$(SOURCES_HASH)
export MPLBACKEND := Agg

.DELETE_ON_ERROR:
.PHONY: help demo test test-slow lint test-c test-firmware firmware test-python test-wheel bench docs pictures clean check-tools

help:
	@echo 'make demo       cluster smart-watch data, see what is found (about a minute the first time)'
	@echo 'make test       everything a change must pass: lint, test-c, test-firmware, test-python, test-wheel'
	@echo 'make test-slow  the statistical tests that take minutes'
	@echo 'make bench      the figures of the documentation'
	@echo 'make firmware   the C library on chips, emulated: sizes, instructions, and the same bits'
	@echo 'make docs       the documentation as a site, build/site/index.html'
	@echo 'make clean      remove what make made'
	@echo 'PYTHON=python3.12 make ... chooses the Python; any from 3.10 on'

demo: .venv/installed
	@mkdir -p build
	@$(BIN)/mapdpm demo --picture build/mapdpm_demo.png

test: lint test-c test-firmware test-python test-wheel
	@echo 'make test: all passed'

lint: .venv/tested
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy --no-error-summary
	@[ ! -e .git ] || [ "$$(git config core.hooksPath)" = .githooks ] || echo 'lint: a hook refuses long subjects of commits: git config core.hooksPath .githooks'

test-c: check-tools
	$(MAKE) --no-print-directory -C c_kernels test

# Machines whose tools are not there are left out, and named; CI has all but RISC-V.
test-firmware: check-tools
	$(PYTHON) c_kernels/firmware/firmware.py --ci

firmware: check-tools
	$(MAKE) --no-print-directory -C c_kernels firmware

test-python: .venv/tested
	@mkdir -p $(NUMBA_CACHE_DIR) && find .cache/numba -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} +
	$(BIN)/python -m pytest -q -n $(WORKERS) -m 'not slow' --doctest-modules mapdpm tests

test-wheel: .venv/tested
	$(BIN)/python tests/project/wheel_check.py

test-slow: .venv/tested
	$(BIN)/python -m pytest -q -n $(WORKERS) -m slow --hypothesis-profile=slow tests

bench: .venv/tested
	@mkdir -p build/bench
	@set -e; for script in $(BENCHES); do echo "== $$script"; out=build/bench/$$(basename $$script .py).jsonl; \
		$(BIN)/python "$$script" >"$$out"; cat "$$out"; done
	$(BIN)/python bench/report.py build/bench/*.jsonl --pictures build/bench

docs: .venv/tested
	$(BIN)/python -m sphinx -W --keep-going -q docs build/site
	@echo 'build/site/index.html'

pictures: .venv/tested
	$(BIN)/python docs/draw.py

clean:
	rm -rf .venv .cache build dist *.egg-info mapdpm/backends/*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	-$(MAKE) --no-print-directory -C c_kernels clean

# The package is installed as an editable one: Python files are those of the tree, and the compiled modules are made
# anew whenever something they are made of has changed.
.venv/bin/python: | check-tools
	@echo 'making .venv'
	@rm -rf .venv && $(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python $(KERNELS)
	@echo 'compiling and installing mapdpm in .venv'
	@$(PIP) install -e '.[plot]'
	@touch $@

.venv/tested: .venv/bin/python $(KERNELS)
	@echo 'compiling and installing mapdpm, and what its tests need, in .venv'
	@$(PIP) install -e '.[test,lint]'
	@touch .venv/installed $@

check-tools:
	@missing() { echo "$$1 is missing; on Debian and Ubuntu: apt-get install $$2" >&2; failed=1; }; \
	failed=0; \
	if ! command -v $(PYTHON) >/dev/null 2>&1; then missing '$(PYTHON)' python3; \
	elif ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then \
	  missing 'Python 3.10 or newer ($(PYTHON) is older; PYTHON=... names another)' python3; \
	else \
	  $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing 'the module venv of $(PYTHON)' python3-venv; \
	  $(PYTHON) -c 'import pathlib, sys, sysconfig; p = pathlib.Path(sysconfig.get_path("include"), "Python.h"); sys.exit(not p.exists())' \
	    || missing 'Python.h of $(PYTHON)' python3-dev; \
	fi; \
	command -v $(firstword $(CC)) >/dev/null 2>&1 || missing 'a C compiler ($(CC))' build-essential; \
	exit $$failed
