# Every target sets up what it needs: a bare Debian with python3 (3.11 or newer), python3-venv, make and git is enough.
PYTHON ?= python3
BIN := .venv/bin
# System packages that only some tests need; those tests are skipped by name where they are missing.
SYSTEM_PACKAGES := chromium-headless-shell fonts-dejavu-core ghostscript openssl redis-server

.PHONY: install demo test test-long test-system lint bench bench-harvest bench-search bench-cluster bench-long fuzz api-check pictures floors docs docs-check clean

install: .venv/installed

.venv/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Topicrawl needs Python 3.11 or newer")'
	@echo 'Setting up .venv: some 600 MB, a minute or two the first time.'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,fast]'
	touch $@

demo: install
	$(BIN)/topicrawl demo --out out/demo

test: install
	$(BIN)/pytest

# The tests that take many seconds, and those that draw by lot or kill, at full length.
test-long: install
	TOPICRAWL_LONG=1 $(BIN)/pytest -m 'long or longer or hypothesis' tests

test-system:
	$(if $(SYSTEM_PACKAGES),apt-get update -q && apt-get install -y -q $(SYSTEM_PACKAGES))
	$(MAKE) test

lint: install
	$(BIN)/ruff check src tests bench tools
	$(BIN)/ruff format --check src tests bench tools
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: install
	$(BIN)/python tools/make_reference.py

docs-check: install
	$(BIN)/python tools/make_reference.py --check

.venv-bench/installed: pyproject.toml
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[bench,fast]'
	touch $@

bench: .venv-bench/installed
	.venv-bench/bin/python bench/speed.py
	.venv-bench/bin/python bench/speed.py --plain
	.venv-bench/bin/python bench/frontier_speed.py

# All strategies on the recorded webs in $TOPICRAWL_WEBS; goes on where it was stopped.
bench-harvest: install
	$(BIN)/python bench/harvest.py

# Indexing and searching: speed and merging on the recorded webs in $TOPICRAWL_WEBS, then a hundred readers beside a crawl.
bench-search: install
	$(BIN)/python bench/search.py
	$(BIN)/python bench/search_load.py

# A frontier in Redis: speed, bytes a URL, restarts, workers, and the long test of kills. Needs redis-server.
bench-cluster: install
	$(BIN)/python bench/cluster.py

# A crawl of 300,000 pages: is it as fast and as small in the end as in the beginning? Takes half an hour.
bench-long: install
	$(BIN)/python bench/long.py

# Broken input for everything that reads what strangers wrote; FUZZ_SECONDS in all.
FUZZ_SECONDS ?= 300
fuzz: install
	$(BIN)/python tools/fuzz.py $(FUZZ_SECONDS)

.venv-api/installed:
	$(PYTHON) -m venv .venv-api
	.venv-api/bin/python -m pip install --quiet --disable-pip-version-check 'schemathesis>=4,<5'
	touch $@

# Requests of all kinds, made from the description of the HTTP interface: no answer may be an error of the server.
api-check: install .venv-api/installed
	$(BIN)/python tools/check_api.py .venv-api/bin/schemathesis

# The picture in the README and the guide. Needs chromium-headless-shell.
pictures: install
	$(BIN)/python tools/make_pictures.py

# After a change for the better: the floors that the tests hold strategies to, raised to what is reached now.
floors: install
	$(BIN)/python tools/raise_floors.py

clean:
	rm -rf .venv .venv-api .venv-bench out build dist
