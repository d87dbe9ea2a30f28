PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

.PHONY: demo test check docs bench soak clean

demo: .venv/.run
	@$(BIN)/cranfield demo

test: .venv/.dev
	@$(BIN)/python -m pytest

check: .venv/.dev
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports >/dev/null || $(BIN)/lint-imports
	@$(BIN)/mkdocs build --strict --quiet

docs: .venv/.dev
	@$(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

bench: .venv/.dev
	@$(BIN)/python benchmarks/evaluate.py

# the long forms of the tests: many more random files, runs and mutations
soak: .venv/.dev
	@CRANFIELD_SOAK=1 $(BIN)/python -m pytest tests

clean:
	rm -rf .venv site build src/*.egg-info

.venv/.run: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) install --editable .
	@touch $@

.venv/.dev: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) install --editable '.[dev]'
	@touch $@ .venv/.run
