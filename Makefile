# The commands people use; each works in a fresh clone, from any folder (make -C DIR run).
.DEFAULT_GOAL := help
SHELL := /bin/bash
.PHONY: help run setup check test bench bench-read bench-write bench-api bench-scale fuzz chaos screenshots clean

BIN := .venv/bin
ARGS ?=
SEED ?=
PYTEST_ARGS ?=
# Tests on real links and processes meet a busy machine: one that fails is run once more, and named in the summary (R).
AGAIN ?= --reruns 1 --reruns-delay 2 -raR

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name what; do printf '  make %-11s %s\n' "$$name" "$$what"; done

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
	@AGAIN="$(AGAIN)" scripts/test $(PYTEST_ARGS)

test-compose: ## docker-compose.yml on a real engine: up, browser, four workers, kill, upgrade; skipped where none answers
	@scripts/bootstrap --tests
	$(BIN)/pytest $(AGAIN) tests/compose -rs -s $(PYTEST_ARGS)

fuzz: ## 10,000 made-up requests, alone and in sequences, against a real API; FUZZ_SEED=7 for others
	@scripts/bootstrap --tests
	FUZZ_CASES=10000 $(BIN)/pytest tests/integration/api/test_openapi.py --timeout 3600 $(PYTEST_ARGS)

bench: ## speed and fidelity, as ratios against a baseline of the same run
	@scripts/bootstrap
	$(BIN)/python -m bench $(ARGS)

screenshots: ## every page of the dashboard, light and dark, wide and narrow, into var/screenshots
	@scripts/bootstrap --tests
	$(BIN)/python scripts/screenshots $(ARGS)

bench-fidelity: ## how true the link and the times are, for each kind of box that this machine can have
	@scripts/bootstrap
	$(BIN)/python -m bench fidelity link link-kernel capture theory aa $(ARGS)

bench-read: ## 10,000,000 trials: heatmaps, pages of trials and trends at the API; 12 GB, kept where LASTBYTE_BENCH_DATA says
	@scripts/bootstrap
	$(BIN)/python -m bench read $(ARGS)

bench-write: ## storing a trial, creating a campaign of 20,000, importing by COPY
	@scripts/bootstrap
	$(BIN)/python -m bench write $(ARGS)

bench-api: ## requests a second beside a bare FastAPI route and beside pgbench
	@scripts/bootstrap
	$(BIN)/python -m bench api $(ARGS)

bench-scale: ## trials a second with 1, 2 and 4 workers; what 1,000 vantages need
	@scripts/bootstrap
	$(BIN)/python -m bench scale $(ARGS)

chaos: ## kill, cut and stop every part in random order for about half an hour; SEED=7 repeats an order
	@scripts/bootstrap --tests
	LASTBYTE_CHAOS_FAULTS=60 LASTBYTE_CHAOS_SEED=$(SEED) $(BIN)/pytest -s --timeout 7200 tests/chaos $(PYTEST_ARGS)

clean: ## remove caches of tools; not your data (var/), the environment (.venv/) or what was built (~/.cache/lastbyte)
	rm -rf .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -path ./.venv -prune -o -name __pycache__ -type d -print0 | xargs -0 -r rm -rf

.venv/bin/python:
	@scripts/bootstrap
