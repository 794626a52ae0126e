# Everything runs in its own .venv, made on first use; only Python 3.11+, git and make are needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The papers' experiments, a second distribution; the source distribution of rankwise does without them.
EXPERIMENTS := $(wildcard experiments/pyproject.toml)
EDITABLE_EXPERIMENTS := $(if $(EXPERIMENTS),--editable experiments)

.PHONY: help demo test test-all attack test-torch test-dask test-browser test-lowest lint format bench docs figures clean
.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rankwise needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip

# One stamp per extra: installed again only when a pyproject.toml changes. Several with commas are resolved at once.
COMMA := ,
$(VENV)/installed-%: pyproject.toml $(EXPERIMENTS) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]' $(EDITABLE_EXPERIMENTS)
	@touch $@ $(patsubst %,$(VENV)/installed-%,$(subst $(COMMA), ,$*))

demo: $(VENV)/installed-demo ## learn from exact and interval labels on built-in data; table and picture
	@$(BIN)/rankwise demo

test: $(VENV)/installed-test-all ## tests and doctests, without the slow ones
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not attack" --ignore=tests/browser

test-all: $(VENV)/installed-test-all ## all tests and doctests, the slow ones too
	$(BIN)/python -m pytest -n 2 -m "not attack" --hypothesis-profile=thorough --ignore=tests/browser

attack: $(VENV)/installed-test-all ## hostile files, labels, tables, interrupts, threads and kills; prints the counts
	$(BIN)/python -m pytest -m attack tests/attack tests/serve

# PyTorch is large: nothing but this target installs it. This version is the lower bound in pyproject.toml.
$(VENV)/installed-torch: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,torch]' torch==2.13.0
	@touch $@

test-torch: $(VENV)/installed-torch ## tests and doctests of rankwise.torch; installs PyTorch
	$(BIN)/python -c 'import torch'
	$(BIN)/python -m pytest -n 2 tests/torch src/rankwise/torch

test-dask: $(VENV)/installed-test,dask ## tests and doctests of rankwise.dask, on clusters of real processes; installs Dask
	$(BIN)/python -m pytest -m "not slow" tests/dask src/rankwise/dask

# axe-core looks for what keeps people out; the tests that need it say so where npm is missing.
AXE := $(VENV)/axe/node_modules/axe-core/axe.min.js
$(AXE): | $(BIN)/python
	-@command -v npm >/dev/null && npm install --silent --no-audit --no-fund --prefix $(VENV)/axe axe-core@4 >/dev/null

test-browser: $(VENV)/installed-browser $(AXE) ## the pages in headless Chromium; without one it says why and does nothing
	@if tests/browser/chromium.sh; then RANKWISE_BROWSER=required RANKWISE_AXE=$(AXE) $(BIN)/python -m pytest tests/browser; fi

test-lowest: ## all tests with the oldest versions that pyproject.toml allows, in a venv of its own
	test -x $(VENV)-lowest/bin/python || $(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test]' $(EDITABLE_EXPERIMENTS) --constraint tests/lowest.txt
	$(VENV)-lowest/bin/python -m pytest -n 2 -m "not attack" --ignore=tests/browser

lint: $(VENV)/installed-lint ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/installed-lint ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed-bench ## speed and accuracy beside scikit-learn, river and Vowpal Wabbit
	$(BIN)/python -m benchmarks

docs: $(VENV)/installed-docs ## the documentation as pages in site/, warnings are errors
	$(BIN)/python docs/tools/prepare.py build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python docs/tools/check.py site

figures: $(VENV)/installed-docs ## draw the pictures of the documentation again
	$(BIN)/python docs/figures.py

clean: ## remove what the other targets made
	rm -rf $(VENV) $(VENV)-* results site build/docs .pytest_cache .mypy_cache .ruff_cache .hypothesis
