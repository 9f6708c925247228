# Every target prepares its own part of .venv; only Python ≥ 3.11, pip and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test statistical bench bench-full lint format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.stamp-base ## a first band, in a minute
	$(BIN)/python examples/demo.py

# One BLAS thread for each of the two test processes.
test: export OMP_NUM_THREADS := 1
test: export OPENBLAS_NUM_THREADS := 1
test: export MKL_NUM_THREADS := 1
test: export VECLIB_MAXIMUM_THREADS := 1
test: $(VENV)/.stamp-test ## all tests, with branch coverage
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term $(ARGS)

statistical: export OMP_NUM_THREADS := 1
statistical: export OPENBLAS_NUM_THREADS := 1
statistical: $(VENV)/.stamp-test ## coverage of every calibration, counted over 2000 data sets
	$(BIN)/python -m pytest -n 2 tests/statistical --replications 2000 $(ARGS)

bench: $(VENV)/.stamp-bench ## speed and quality against the alternatives
	$(BIN)/python -m benchmarks $(ARGS)

bench-full: $(VENV)/.stamp-bench ## the same, all sizes
	$(BIN)/python -m benchmarks --full $(ARGS)

lint: $(VENV)/.stamp-lint ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.stamp-lint ## rewrite the code in the project's style
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

clean: ## remove the environment, caches and builds
	rm -rf $(VENV) build dist .coverage .coverage.* .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.stamp-base: REQUIREMENT = .
$(VENV)/.stamp-test: REQUIREMENT = .[test]
$(VENV)/.stamp-lint: REQUIREMENT = .[lint]
$(VENV)/.stamp-bench: REQUIREMENT = .[sdp,jax,bench]
$(VENV)/.stamp-base $(VENV)/.stamp-test $(VENV)/.stamp-lint $(VENV)/.stamp-bench: \
		pyproject.toml | $(BIN)/python
	$(INSTALL) -e "$(REQUIREMENT)"
	touch $@
