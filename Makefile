# Everything a newcomer needs: `make demo`, `make test`. Needs python3 (>= 3.11, with venv) and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= auto

# Test workers are processes; one thread each keeps them from fighting for the cores.
# The kernel cache is shared, so that each Numba kernel is compiled once.
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 VISH_NUM_THREADS=1 \
            NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/numba-cache

.PHONY: help install demo test lint format docs bench peers clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

install: $(STAMP)  ## create .venv with the library and all its extras

$(STAMP): pyproject.toml Makefile
	@command -v $(PYTHON) >/dev/null || \
	  { echo "$(PYTHON) is missing: install Python 3.11 or newer (Debian: apt-get install python3 python3-venv)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is $$($(PYTHON) -V 2>&1): VISH needs 3.11 or newer; try make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "$(PYTHON) has no venv module: on Debian, apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[all,dev]'
	@touch $@

demo: install  ## fit real flights and show the result
	$(BIN)/python -m vish.demo

test: install  ## run the test suite in parallel
	$(TEST_ENV) $(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup $(ARGS)

lint: install  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install  ## let ruff rewrite the files
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: install  ## build the documentation, pictures included, into docs/_build
	$(TEST_ENV) $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

bench: install  ## measure speed, beside peers, as ratios in one run
	$(BIN)/python -m benchmarks $(ARGS)

peers: install  ## install the libraries that `make bench` and `vish paper` compare with
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[peers]'

clean:  ## remove the environment and everything built
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache docs/_build docs/_pictures docs/api/generated
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
