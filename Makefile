# SPDX-License-Identifier: Apache-2.0
# `make run` sets everything up and runs the main job, `make test` all tests; `make check` is the quick loop.
.DEFAULT_GOAL := help
BIN := .venv/bin
SOURCES := $(shell find rtl sim runtime python/bindings tests benches apps examples -name '*.[ch]' -o -name '*.[ch]pp')
PYTHON := $(wildcard python spec tests benches examples tools/*.py)
unexport PYTHONDONTWRITEBYTECODE  # each process would compile all modules and tests anew

.PHONY: help setup run check test test-rest test-long format stub examples site tune clean

help:  ## what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup:  ## .venv with the command thalweg
	@tools/setup run

run: setup  ## set up, then LAMMPS, unchanged, on a simulated torus of eight FPGAs
	@$(BIN)/python examples/lammps/run.py

check:  ## formatting, lint, types, generated files, quick tests; minutes
	@tools/setup test
	@$(BIN)/clang-format --dry-run --Werror $(SOURCES)
	@$(BIN)/ruff format --check --quiet $(PYTHON)
	@$(BIN)/ruff check --quiet $(PYTHON)
	@$(BIN)/mypy
	@$(BIN)/python spec/generate.py --check
	@$(BIN)/pytest -q -n 2 tests/python --ignore tests/python/run -m "not long and not slow and not serial"

test:  ## everything but the long tests; of costly tests, some cases
	@tools/setup test
	@tools/test

test-rest:  ## what CI runs after it: the cases that it has not drawn, and C++ under the sanitizers
	@tools/setup test
	@tools/test rest

test-long:  ## the long tests; SYSTEM=NAME: those of one system
	@tools/setup test
	@tools/test long $(SYSTEM)

format:  ## format C++ and Python in place
	@tools/setup test
	@$(BIN)/clang-format -i $(SOURCES)
	@$(BIN)/ruff check --quiet --fix $(PYTHON)
	@$(BIN)/ruff format --quiet $(PYTHON)

stub:  ## write the extensions' .pyi after a change to the bindings
	@tools/setup test
	@for folder in python/bindings/*/; do name=systems.$$(basename $$folder)._sim; [ $$name = systems.core._sim ] && name=_core; \
	  $(BIN)/python -m nanobind.stubgen -q -m thalweg.$$name -o python/thalweg/$$(echo $$name | tr . /).pyi || exit; done

examples:  ## run the examples in README and docs, and write what they print into them; minutes
	@tools/setup run
	@$(BIN)/python tools/examples.py README.md docs/*.md examples/*/README.md

site:  ## install MkDocs with the tests' tools, and build the documentation site in build/site; a broken link is an error
	@tools/setup test
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

tune:  ## measure anew which algorithms are the fastest on the presets (clusters/tuning); minutes
	@tools/setup run
	@for file in clusters/tuning/*.toml; do name=$$(basename $$file .toml); \
	  $(BIN)/thalweg tune --cluster $$name -o clusters/tuning/$$name.toml || exit; done

clean:  ## remove everything that was built or installed here
	rm -rf .venv build dist .cache .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find python -name '_*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
