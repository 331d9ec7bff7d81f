# make demo   choose a bandwidth for scikit-learn's digits
# make test   the whole test suite
# make lint   style and types
# make docs   the documentation, into docs/_build/html
# make reproduction  the paper's figures and tables, into docs (about an hour)
# make browser  Chromium for the tests of reports, from Debian's packages unless there is one
# make bench  speed, as ratios against a plain reference
# Each sets up .venv by itself.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo test lint docs reproduction browser bench clean

demo: $(STAMP)-core
	$(BIN)/python examples/plot_digits.py

test: $(STAMP)-dev
	$(BIN)/python -m pytest -q

lint: $(STAMP)-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP)-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -j auto docs docs/_build/html

reproduction: $(STAMP)-dev
	$(BIN)/geolap reproduce all --output docs

browser:
	{ command -v chromium && command -v chromedriver; } >/dev/null || \
		{ apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y chromium chromium-driver >/dev/null; }

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
	$(BIN)/python -m pip install --quiet -e '.[plot]'
	touch $@

$(STAMP)-dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[dev]'
	touch $@ $(STAMP)-core

$(STAMP)-docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e '.[docs]'
	touch $@ $(STAMP)-core

clean:
	rm -rf .venv dist build docs/_build docs/api docs/auto_examples .pytest_cache .mypy_cache .ruff_cache
