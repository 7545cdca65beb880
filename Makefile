# Each target does all its set-up: it needs Python 3.11 or newer and a package index, nothing else.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
# Tests of one file stay in one process: many share what they compile.
PARALLEL := -n auto --dist loadfile
INSTALLED := $(VENV)/.installed

.PHONY: help demo test test-slow bench lint format docs baselines mutants clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

demo: $(INSTALLED) ## compile a trained network and let a simulated chip classify digits
	PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/demo.sh

test: $(INSTALLED) ## run the tests, but for the slow ones
	$(BIN)/python -m pytest $(PARALLEL)

test-slow: $(INSTALLED) ## run all tests, one after another: some measure times
	$(BIN)/python -m pytest -m 'slow or not slow'

bench: $(INSTALLED) ## measure compiled networks and the compiler; ARGS="--networks resnet18 --json FILE"
	$(BIN)/python -m bench $(ARGS)

lint: $(INSTALLED) ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(INSTALLED) ## mend the style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(INSTALLED) ## write the generated pages of the reference
	$(BIN)/python docs/generate_reference.py

baselines: $(INSTALLED) ## record the proxies that the tests compare with, and print what changed; WHY="..." if worse
	$(BIN)/python tests/proxy_baselines.py --update --why "$(WHY)"

mutants: $(INSTALLED) ## break every pass in many ways, and print what the guard and the numerical check notice
	PYTHONPATH=tests $(BIN)/python tests/mutation/mutation_table.py

clean: ## remove the environment and everything that was generated
	rm -rf $(VENV) build dist out *.egg-info .pytest_cache .ruff_cache .hypothesis

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@
