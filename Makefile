# Every target prepares its own part of .venv; only Python ≥ 3.11, pip and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test coverage test-numerics test-interop test-browser statistical crossings fuzz-files bench bench-dask bench-full paper paper-full \
	real published settings docs lint format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.stamp-demo ## a first band, a picture of it and a page about it, in a minute
	$(BIN)/sosbands demo

# One BLAS thread for each of the two test processes.
test coverage: export OMP_NUM_THREADS := 1
test coverage: export OPENBLAS_NUM_THREADS := 1
test coverage: export MKL_NUM_THREADS := 1
test coverage: export VECLIB_MAXIMUM_THREADS := 1
test: $(VENV)/.stamp-test ## all tests
	$(BIN)/python -m pytest -n 2 $(ARGS)

coverage: $(VENV)/.stamp-test ## the same, and which branches they reach: a quarter longer
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term $(ARGS)

test-numerics: export OMP_NUM_THREADS := 1
test-numerics: export OPENBLAS_NUM_THREADS := 1
test-numerics: $(VENV)/.stamp-test ## the same answer whatever the order, the units and the processor
	$(BIN)/python -m pytest -n 2 tests/numerics $(ARGS)

test-interop: export OMP_NUM_THREADS := 1
test-interop: export OPENBLAS_NUM_THREADS := 1
test-interop: $(VENV)/.stamp-interop ## bands around LightGBM, XGBoost and CatBoost, and on Dask
	$(BIN)/python -m pytest tests/interop $(ARGS)

# The browser is looked for first, so that nothing is touched if it is absent.
test-browser: export OMP_NUM_THREADS := 1
test-browser: export OPENBLAS_NUM_THREADS := 1
test-browser: ## the report in a real, headless Chromium
	@command -v chromium > /dev/null && command -v chromedriver > /dev/null || { \
		echo "test-browser needs Chromium: apt-get install chromium chromium-driver" >&2; exit 1; }
	@$(MAKE) --no-print-directory $(VENV)/.stamp-browser
	$(BIN)/python -m pytest tests/browser $(ARGS)

statistical: export OMP_NUM_THREADS := 1
statistical: export OPENBLAS_NUM_THREADS := 1
statistical: $(VENV)/.stamp-test ## coverage of every calibration, counted over 2000 data sets
	$(BIN)/python -m pytest -n 2 tests/statistical --replications 2000 $(ARGS)

crossings: export OMP_NUM_THREADS := 1
crossings: export OPENBLAS_NUM_THREADS := 1
crossings: $(VENV)/.stamp-test ## every fit of the tests at 100 000 points: no band may cross another
	$(BIN)/python -m pytest -n 2 tests/estimator tests/conformal tests/learning tests/properties \
		--crossings 100000 $(ARGS)

fuzz-files: export OMP_NUM_THREADS := 1
fuzz-files: export OPENBLAS_NUM_THREADS := 1
fuzz-files: $(VENV)/.stamp-test ## 20 000 changed model files: none may crash, hang or run anything
	$(BIN)/python tests/persistence/fuzz $(ARGS)

bench: $(VENV)/.stamp-bench ## speed and quality against the alternatives
	$(BIN)/python -m benchmarks $(ARGS)

bench-dask: $(VENV)/.stamp-interop ## tables beyond one machine's memory: about half an hour
	$(BIN)/python -m benchmarks.far $(ARGS)

bench-full: $(VENV)/.stamp-bench ## the same, all sizes
	$(BIN)/python -m benchmarks --full $(ARGS)

paper: $(VENV)/.stamp-bench ## every figure of the paper, in a reduced size
	$(BIN)/python -m experiments $(ARGS)

paper-full: $(VENV)/.stamp-bench ## the same, in the size of the paper
	$(BIN)/python -m experiments --full $(ARGS)

real: $(VENV)/.stamp-bench ## every method on the CSV files of a folder: make real DATA=FOLDER
	$(BIN)/python -m experiments.real --data $(DATA) $(ARGS)

published: $(VENV)/.stamp-bench ## our defaults on published splits: make published DATA=FOLDER RAW=FOLDER
	$(BIN)/python -m experiments.published --data $(DATA) --raw $(RAW) $(ARGS)

settings: $(VENV)/.stamp-bench ## what each default is worth, on development sets: make settings DATA=FOLDER
	$(BIN)/python -m experiments.settings --data $(DATA) $(ARGS)

docs: $(VENV)/.stamp-docs ## the documentation, in docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -n docs docs/_build/html $(ARGS)

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
		.mypy_cache .pytest_cache .ruff_cache docs/_build docs/auto_examples docs/generated \
		experiments/figures
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.stamp-demo: REQUIREMENT = .[report]
$(VENV)/.stamp-test: REQUIREMENT = .[test]
$(VENV)/.stamp-lint: REQUIREMENT = .[lint]
$(VENV)/.stamp-bench: REQUIREMENT = .[sdp,jax,bench]
$(VENV)/.stamp-browser: REQUIREMENT = .[browser]
$(VENV)/.stamp-interop: REQUIREMENT = .[interop]
$(VENV)/.stamp-docs: REQUIREMENT = .[docs]
$(VENV)/.stamp-demo $(VENV)/.stamp-test $(VENV)/.stamp-lint $(VENV)/.stamp-bench \
		$(VENV)/.stamp-browser $(VENV)/.stamp-interop $(VENV)/.stamp-docs: pyproject.toml | $(BIN)/python
	$(INSTALL) -e "$(REQUIREMENT)"
	touch $@
