PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
BUILD := pyproject.toml setup.py $(wildcard src/core/*.[ch])

.PHONY: demo test check docs bench soak fuzz clean

demo: .venv/.run
	@$(BIN)/cranfield demo -o build/demo

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

# ours and other tools' time and memory; all workloads take some minutes and 1.2 GB in build/
WORKLOADS ?= ABCDES
REPEAT ?= 5
bench: .venv/.dev
	@$(BIN)/python -m benchmarks --workloads $(WORKLOADS) --repeat $(REPEAT)

# the long forms of the tests: many more random files, runs and mutations
soak: .venv/.dev
	@CRANFIELD_SOAK=1 $(BIN)/python -m pytest tests

# the compiled core with odd files and dicts, under sanitizers: that many seconds for each target
FUZZ_SECONDS ?= 60
fuzz: .venv/.run
	@$(BIN)/python fuzz/run.py --seconds $(FUZZ_SECONDS)

clean:
	rm -rf .venv site build src/*.egg-info

.venv/.run: $(BUILD)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) install --editable '.[lab,plots,web]'
	@$(BIN)/python -m compileall -q src/cranfield
	@touch $@

.venv/.dev: $(BUILD)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(PIP) install --editable '.[dev,plots]'
	@$(BIN)/python -m compileall -q src/cranfield
	@touch $@ .venv/.run
