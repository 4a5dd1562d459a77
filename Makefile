# Names for what a developer runs. Belongs here: one command line per name.
# Does not: installing (.ci/set-up), or anything that the package itself can do.
# `make test ARGS="-k recall"` passes options on; `make PYTHON=python3.12 ...` picks the interpreter.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo test test-long dev lint bench lock clean

ARGS ?=
PYTHON ?=
BENCH ?= walk_overhead
export PYTHON
INSTALLED := .venv/.installed

# The stamp holds the folder it was made in; in a copied or moved checkout it counts for nothing.
ifneq ($(shell cat $(INSTALLED) 2>/dev/null),$(CURDIR))
.PHONY: $(INSTALLED)
endif

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

$(INSTALLED): requirements.lock pyproject.toml .ci/set-up
	@sh .ci/set-up

demo: $(INSTALLED) ## a sample conversation in, facts out, one superseded: needs no key and no database
	@.venv/bin/memory-pipeline demo $(ARGS)

test: $(INSTALLED) ## the tests, on a real PostgreSQL that they bring along
	@.venv/bin/pytest -n 2 -m "not long" memory_pipeline_tests $(ARGS)

test-long: $(INSTALLED) ## every test, also those that take long
	@.venv/bin/pytest -n 2 --hypothesis-profile=explore memory_pipeline_tests $(ARGS)

dev: $(INSTALLED) ## database, Dagster UI and daemon, until Ctrl-C
	@.venv/bin/memory-pipeline dev $(ARGS)

lint: $(INSTALLED) ## ruff, mypy and the rules of the architecture
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy
	@.venv/bin/pytest memory_pipeline_tests/test_architecture.py

bench: $(INSTALLED) ## what an episode costs beside the model; BENCH=... for other measurements
	@.venv/bin/python -m memory_pipeline_tests.bench.$(BENCH) $(ARGS)

lock: $(INSTALLED) ## write requirements.lock anew; ARGS=--upgrade for newer releases
	@.venv/bin/uv pip compile pyproject.toml --quiet --universal --generate-hashes --no-header \
		--no-annotate --python-version 3.11 --extra local --extra heuristics --extra dev \
		--output-file requirements.lock $(ARGS)

clean: ## stop the embedded server, remove .venv and caches; stored memory stays
	@if [ -x .venv/bin/memory-pipeline ]; then .venv/bin/memory-pipeline down || true; fi
	rm -rf .venv .mypy_cache .ruff_cache .hypothesis dist
	rm -rf storage history schedules logs .logs_queue .nux .telemetry  # Dagster's files of runs
