# `make help` lists the targets.

.DEFAULT_GOAL := help
SHELL := /bin/sh

BIN := .venv/bin
INSTALLED := .venv/.installed
PYTEST := $(BIN)/python -m pytest -n 3 --dist worksteal
# Their libraries alone take seconds to load, or they lead whole conversations.
NOT_QUICK := agent bench surfaces/frameworks surfaces/mcp surfaces/web/test_browser.py surfaces/web/test_many_servers.py copies/torture test_packaging.py

.PHONY: help install run test quick check format lint types imports docs dist bench fuzz lock clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(INSTALLED)  ## Make .venv with everything, and the system packages where that is allowed

$(INSTALLED): requirements/dev.txt requirements/debian.txt pyproject.toml tools/setup.sh
	@sh tools/setup.sh >&2
	@touch $(INSTALLED)

run: install  ## Open the web app; its first line of output is the address (PORT=9000 for another port)
	@if [ -t 1 ]; then set -- --open; fi; exec $(BIN)/prowess serve $(if $(PORT),--port $(PORT)) "$$@"

test: install  ## Run every test
	$(PYTEST)

quick: install  ## Run the tests that are quick, for while you work
	$(BIN)/python -m pytest -n auto --dist worksteal -q -m "not slow" $(addprefix --ignore=tests/,$(NOT_QUICK))

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

dist: install  ## Build the wheel and the source archive in dist/
	$(BIN)/hatchling build

bench: install  ## Measure beside peers and floors, and write bench/RESULTS.md (takes long; QUICK=1 a little; CORPUS=folder of real skills)
	$(if $(QUICK),BENCH_QUICK=1 )$(BIN)/python -m bench $(CORPUS)

fuzz: install  ## Throw random folders and bytes at the reader for some minutes (FUZZ_EFFORT=…, FUZZ_SECONDS=…)
	sh tools/fuzz.sh

lock: install  ## Pin the newest dependencies, with hashes
	$(BIN)/uv pip compile pyproject.toml --group dev --all-extras --python-version 3.11 --upgrade --generate-hashes --no-emit-index-url --no-header --no-annotate -q -o requirements/dev.txt
	$(BIN)/uv pip compile pyproject.toml --group fuzz --python-version 3.11 --upgrade --generate-hashes --no-emit-index-url --no-header --no-annotate -q -o requirements/fuzz.txt
	$(BIN)/uv pip compile --group bench --python-version 3.11 --upgrade --generate-hashes --no-emit-index-url --no-header --no-annotate -q -o requirements/bench.txt

clean:  ## Remove what was made here
	rm -rf .venv .bench .fuzz site dist
