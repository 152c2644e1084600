# `make demo` and `make test` do all their own set-up on a fresh machine.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test lint types imports unit bench bench-full bench-peers clean

$(VENV)/.base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[all,dev]'
	@touch $(VENV)/.base $@

demo: $(VENV)/.base
	@$(BIN)/recollect demo

test: lint types imports unit

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests benchmarks training tools
	$(BIN)/ruff format --check src tests benchmarks training tools

types: $(VENV)/.dev
	$(BIN)/pyright

imports: $(VENV)/.dev
	$(BIN)/lint-imports

unit: $(VENV)/.dev
	$(BIN)/pytest

# BENCH="--only lean,hooks" for some of them, BENCH=--resume after a run that was cut short
bench: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py --short $(BENCH)

bench-full: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py --full $(BENCH)

bench-peers: $(VENV)/.dev
	$(BIN)/python benchmarks/run.py --peers $(BENCH)

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis benchmarks/.cache
