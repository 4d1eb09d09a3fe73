# `make` alone lists what there is to make.
VENV ?= .venv
export VENV
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test lint types contracts check fix docs clean

help: ## this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: ## install, run a batch of real MD jobs on every engine that is found, show the results
	@scripts/prepare
	$(BIN)/python run.py submit examples/demo.yaml --state demo-state

test: ## install what the tests need (Debian packages too, where allowed) and run all of them
	@scripts/packages gromacs prometheus || true
	@scripts/prepare test
	$(BIN)/python -m pytest

lint: ## style and one-door rules
	@scripts/prepare test lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: ## strict types, tests included
	@scripts/prepare test lint
	$(BIN)/mypy

contracts: ## the layers of the house
	@scripts/prepare test lint
	$(BIN)/lint-imports

check: test lint types contracts ## everything that has to hold before a commit

fix: ## mend what can be mended by itself
	@scripts/prepare test lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: ## rewrite the generated parts of docs/
	@scripts/prepare test
	$(BIN)/python -m tests.architecture.pages --write

clean: ## remove the virtual environment and the demo's state
	rm -rf $(VENV) demo-state .mypy_cache .ruff_cache .pytest_cache
