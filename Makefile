# Two commands on a fresh machine that has python3 (3.11 or newer) and make:
#   make demo    sets up and runs the main job
#   make test    sets up and runs the checks that CI runs
# Everything is written inside this folder: .venv/ and .cache/.

PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/.setup
# Unlike VAR ?=, an exported := also wins over a cache that the caller's environment names outside this folder.
export PIP_CACHE_DIR := $(CURDIR)/.cache/pip
export UV_CACHE_DIR := $(CURDIR)/.cache/uv
export npm_config_cache := $(CURDIR)/.cache/npm
export HYPOTHESIS_STORAGE_DIRECTORY := $(CURDIR)/.cache/hypothesis
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The interpreter is the one that made .venv; uv must neither fetch another nor take the caller's active environment.
export UV_PYTHON_DOWNLOADS := never
unexport VIRTUAL_ENV

# uv's own version is locked like any other; a first setup reads it from there.
UV := $(BIN)/uv
UV_PINNED = $$(sed -n 's/^\(uv==[^ ]*\).*/\1/p' requirements.lock)
# --python-version is the oldest that we support; --no-header because a header would repeat this command with local paths;
# --no-config and --no-emit-* keep registry addresses out of the committed files.
COMPILE := $(UV) --no-config pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url --no-emit-find-links pyproject.toml

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test long bench zoo shops simulate nightly newest-aiohttp lock upgrade format clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

setup: $(SETUP) ## Make .venv from the lock (done first by the others)

demo: $(SETUP) ## Show payments, refunds, a dispute and an outage
	@$(BIN)/paydouble demo

test: $(SETUP) ## Run the checks of CI; STEPS="ruff mypy" runs some
	@$(BIN)/python tools/check.py $(STEPS)

long: $(SETUP) ## Run the tests that take too long for `make test`
	@$(BIN)/python tools/check.py long

bench: $(SETUP) ## Run the benchmarks and print their table
	@$(BIN)/python -m benchmarks

zoo: $(SETUP) ## Run the machine on shops with one mistake each
	@$(BIN)/python tests/zoo

shops: $(SETUP) ## Run the machine on shops written without knowledge of it
	@$(BIN)/python tests/shops

SEEDS ?= 100000
simulate: $(SETUP) ## Simulate the shell; SEEDS=1000 plays fewer seeds
	@$(BIN)/python tests/simulation/play.py --seeds $(SEEDS)

nightly: $(SETUP) ## Run the long checks; PARTS="fuzz soak" runs some
	@$(BIN)/python tools/nightly.py $(PARTS)

lock: $(SETUP) ## Update both lock files for a changed pyproject.toml
	$(COMPILE) --all-extras --group dev --output-file requirements.lock
	$(COMPILE) --extra fast --extra metrics --no-annotate --constraint requirements.lock --output-file requirements-runtime.lock

upgrade: COMPILE += --upgrade
upgrade: lock ## Update both lock files to the newest versions

newest-aiohttp: $(SETUP) ## Run the server's tests with the newest aiohttp
	@$(UV) venv --quiet --clear --python $(BIN)/python .cache/newest
	@$(UV) pip install --quiet --python .cache/newest/bin/python --require-hashes --requirements requirements.lock
	@$(UV) pip install --quiet --python .cache/newest/bin/python --upgrade aiohttp
	@$(UV) pip install --quiet --python .cache/newest/bin/python --no-deps --no-build-isolation --editable .
	@.cache/newest/bin/python -c 'import aiohttp; print("aiohttp", aiohttp.__version__)'
	@.cache/newest/bin/python -m pytest -q -n 2 tests/server tests/api tests/faults tests/delivery

format: $(SETUP) ## Format the code, and fix what ruff can fix
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

clean: ## Remove everything that these commands made
	rm -rf .venv .cache dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(SETUP): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "make: no $(PYTHON) here; install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: $(PYTHON) is $$($(PYTHON) -V 2>&1); Python 3.11 or newer is needed, name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "make: $(PYTHON) has no venv module; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@[ -x $(BIN)/python ] || { echo "setup: making .venv with $$($(PYTHON) -V)"; $(PYTHON) -m venv .venv; }
	@[ -x $(UV) ] || { echo "setup: installing $(UV_PINNED)"; $(BIN)/python -m pip install --quiet "$(UV_PINNED)"; }
	@echo "setup: installing the lock into .venv"
	@$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@
