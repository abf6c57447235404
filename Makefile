# `make help` lists the targets.

.DEFAULT_GOAL := help
SHELL := /bin/sh

BIN := .venv/bin
INSTALLED := .venv/.installed
PYTEST := $(BIN)/python -m pytest -n 2

.PHONY: help install run test quick check format lint types imports docs bench fuzz lock clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(INSTALLED)  ## Make .venv with everything, and the system packages where that is allowed

$(INSTALLED): requirements/dev.txt requirements/debian.txt pyproject.toml tools/setup.sh
	sh tools/setup.sh
	touch $(INSTALLED)

run: install  ## Chat with the bundled skills; without a terminal, ask one question
	@$(BIN)/prowess doctor
	@echo
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/prowess chat; \
	else $(BIN)/prowess chat --print "/repo-survey How would you look at this folder?"; fi

test: install  ## Run every test
	$(PYTEST)

quick: install  ## Run the tests that are quick, for while you work
	$(PYTEST) -q -m "not slow"

check: install  ## The whole gate: format, lint, types, imports, tests, docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports --no-logo
	$(PYTEST)
	$(BIN)/python tools/requirements.py --check
	$(BIN)/python tools/problems.py --check
	$(BIN)/python tools/reference.py --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: install  ## Format and mend what can be mended by a machine
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: install  ## Look for mistakes in style
	$(BIN)/ruff check .

types: install  ## Check types
	$(BIN)/basedpyright

imports: install  ## Check the direction of imports
	$(BIN)/lint-imports --no-logo

docs: install  ## Make the generated pages and build the docs in site/
	$(BIN)/python tools/requirements.py
	$(BIN)/python tools/problems.py
	$(BIN)/python tools/reference.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: install  ## Measure beside peers and floors, and write bench/RESULTS.md (takes long; CORPUS=folder of real skills)
	$(BIN)/python -m bench.startup
	$(BIN)/python -m bench.hostile
	$(BIN)/python -m bench.discovery
	$(BIN)/python -m bench.disclosure
	$(BIN)/python -m bench.sync
	$(BIN)/python -m bench.execution
	$(BIN)/python -m bench.turn
	$(BIN)/python -m bench.recall $(CORPUS)

fuzz: install  ## Throw random folders and bytes at the reader for some minutes (FUZZ_EFFORT=…, FUZZ_SECONDS=…)
	sh tools/fuzz.sh

lock: install  ## Pin the newest dependencies, with hashes
	$(BIN)/uv pip compile pyproject.toml --group dev --all-extras --upgrade --generate-hashes --no-emit-index-url --no-header --no-annotate -q -o requirements/dev.txt
	$(BIN)/uv pip compile pyproject.toml --group fuzz --upgrade --generate-hashes --no-emit-index-url --no-header --no-annotate -q -o requirements/fuzz.txt

clean:  ## Remove what was made here
	rm -rf .venv .bench .fuzz site dist
