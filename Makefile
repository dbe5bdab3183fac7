# The commands people use; each works in a fresh clone, from any folder (make -C DIR run).
.DEFAULT_GOAL := help
SHELL := /bin/bash
.PHONY: help run setup check test bench clean

BIN := .venv/bin
ARGS ?=
PYTEST_ARGS ?=

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name what; do printf '  make %-7s %s\n' "$$name" "$$what"; done

run: ## bring what is missing, start everything, Ctrl-C stops it; ARGS="--api-port 8001" goes to lastbyte up
	@scripts/run $(ARGS)

setup: ## only bring what is missing: packages, .venv, clients, origins
	@scripts/bootstrap

check: .venv/bin/python ## format, lint, types, import contracts, unit tests; in seconds
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/unit

test: ## everything that must hold: check, then integration, browser and kill -9 tests
	@scripts/bootstrap --tests
	@$(MAKE) --no-print-directory check
	$(BIN)/pytest tests/integration tests/e2e tests/chaos $(PYTEST_ARGS)

bench: ## speed and fidelity, as ratios against a baseline of the same run
	@scripts/bootstrap
	$(BIN)/python -m bench $(ARGS)

clean: ## remove caches of tools; not your data (var/), the environment (.venv/) or what was built (~/.cache/lastbyte)
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -path ./.venv -prune -o -name __pycache__ -type d -print0 | xargs -0 -r rm -rf

.venv/bin/python:
	@scripts/bootstrap
