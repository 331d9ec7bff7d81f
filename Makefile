# make demo     choose a bandwidth for scikit-learn's digits; data and report into demo
# make quick    the tests that take a minute; they need neither torch, scanpy nor a browser
# make test     the whole test suite
# make oldest   the quick tests with the oldest versions that pyproject.toml allows
# make fuzz     the hunt for failures, into docs/hunt.md; make fuzz FUZZ='--minutes 60' goes on for as long
# make lint     style and types
# make docs     the documentation, into docs/_build/html; SPHINX='-D plot_gallery=0' does not run the examples
# make package  wheel and sdist, into dist; checked
# make reproduction  the paper's figures and tables, into docs (about an hour)
# make browser  Chromium for the tests of reports, from Debian's packages unless there is one
# make bench    speed, as ratios against a plain reference
# make bench-peers  speed beside other packages
# Each sets up .venv by itself.

# Tests start many processes, which take the bytecode that others have left.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
# Tests run in two processes, which take over from each other what is left.
PYTEST := -m pytest -q -n 2 --dist worksteal
QUICK := -m 'not slow and not browser' --ignore tests/test_anndata.py --ignore tests/test_device.py --ignore tests/test_device_graphs.py tests

.PHONY: demo quick test oldest fuzz lint docs package reproduction browser bench bench-peers clean

demo: $(STAMP)-core
	mkdir -p demo
	cd demo && ../$(BIN)/geolap demo --output digits.csv --report digits.html

quick: $(STAMP)-quick
	$(BIN)/python $(PYTEST) $(QUICK)

test: $(STAMP)-dev
	$(BIN)/python $(PYTEST)

# Deprecations are what new versions say to old ones, and nothing that the code could mend.
oldest: | $(BIN)/python
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-oldest
	$(BIN)/uv pip install --quiet --python .venv-oldest --resolution lowest-direct -e '.[quick]'
	.venv-oldest/bin/python $(PYTEST) -W ignore::DeprecationWarning $(QUICK)

FUZZ ?= --calls 20000 --files 500 --writes 200 --tasks 100 --minutes-of-interrupts 10
fuzz: $(STAMP)-dev
	cd tests && OPENBLAS_NUM_THREADS=1 ../$(BIN)/python -m fuzz $(FUZZ) --table ../docs/hunt.md

lint: $(STAMP)-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP)-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -j auto $(SPHINX) docs docs/_build/html

package: | $(BIN)/python
	$(BIN)/python -m pip install --quiet build twine
	rm -rf dist build
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*
	$(BIN)/python -m venv build/clean
	build/clean/bin/python -m pip install --quiet dist/*.whl
	cd build && clean/bin/python ../.ci/check_package.py

reproduction: $(STAMP)-dev
	$(BIN)/geolap reproduce all --output docs

browser:
	{ command -v chromium && command -v chromedriver; } >/dev/null || \
		{ apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y chromium chromium-driver >/dev/null; }

bench-peers: $(STAMP)-dev
	$(BIN)/python benchmarks/peers.py

bench: $(STAMP)-dev
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/estimators.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/limits.py

$(BIN)/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

$(STAMP)-core: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[cli,plot,report]'
	touch $@

$(STAMP)-quick: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[quick]'
	touch $@ $(STAMP)-core

$(STAMP)-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@ $(STAMP)-quick $(STAMP)-core

$(STAMP)-docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	touch $@ $(STAMP)-core

clean:
	rm -rf .venv .venv-oldest demo dist build docs/_build docs/api docs/auto_examples .pytest_cache .mypy_cache .ruff_cache
