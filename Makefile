PYTHON ?= python3
BIN := .venv/bin
LOWEST := .venv-lowest/bin
BUILD := pyproject.toml setup.py $(wildcard src/core/*.[ch])
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal

.PHONY: demo test test-all test-lowest check docs bench soak fuzz clean

demo: .venv/.run
	@$(BIN)/cranfield demo -o build/demo

# some minutes; needs neither Java, chromium nor PostgreSQL
test: .venv/.test
	@$(PYTEST) -m fast --junitxml build/test.xml

# everything, as CI runs it
test-all: .venv/.all
	@$(PYTEST) --junitxml build/test-all.xml

# the fast tests with the lowest versions that pyproject.toml allows, in an environment of their own
test-lowest: .venv-lowest/.test
	@$(PYTEST:$(BIN)/%=$(LOWEST)/%) -m fast

check: .venv/.check
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports >/dev/null || $(BIN)/lint-imports
	@$(BIN)/mkdocs build --strict --quiet
	@$(BIN)/python -m tests.budget

docs: .venv/.check
	@$(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

# ours and other tools' time and memory; all workloads take some minutes and 1.2 GB in build/
WORKLOADS ?= ABCDES
REPEAT ?= 5
bench: .venv/.all
	@$(BIN)/python -m benchmarks --workloads $(WORKLOADS) --repeat $(REPEAT)

# the long forms of tests, in parts of less than an hour: all that this commit has not passed yet, one, or a list of them
PART ?= all
soak: .venv/.all
	@$(BIN)/python -m tests.soak $(PART)

# the compiled core with odd files and dicts, under sanitizers: that many seconds for each target
FUZZ_SECONDS ?= 60
fuzz: .venv/.run
	@$(BIN)/python fuzz/run.py --seconds $(FUZZ_SECONDS)

clean:
	rm -rf .venv .venv-lowest site build src/*.egg-info

# each installs what it needs and no more
.venv/.run: EXTRAS := lab,plots,web
.venv/.check: EXTRAS := check
.venv/.test: EXTRAS := test
.venv/.all: EXTRAS := test-all
.venv/.run .venv/.check .venv/.test .venv/.all: $(BUILD)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip --disable-pip-version-check install --editable '.[$(EXTRAS)]'
	@$(BIN)/python -m compileall -q src/cranfield
	@touch $@

.venv-lowest/.test: $(BUILD)
	@test -x $(LOWEST)/python || $(PYTHON) -m venv .venv-lowest
	@$(LOWEST)/python -m pip --disable-pip-version-check install uv
	@$(LOWEST)/uv pip install --python $(LOWEST)/python --resolution lowest-direct --editable '.[test]'
	@$(LOWEST)/python -m compileall -q src/cranfield
	@touch $@
