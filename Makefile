# Two commands for a machine with Python 3.11 or newer and make: `make play` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help play test lint types floors check long lan crash faults soak bench snapshots picture clean

help:
	@echo "make play       a table against three computer players"
	@echo "make test       all tests; says what it skipped and why"
	@echo "make check      lint, types, floors and tests"
	@echo "make long       the tests that take long"
	@echo "make lan        networks of our own, guests by ssh, brokers; as root"
	@echo "make crash      a host killed 200 times in the middle of games"
	@echo "make faults     500 faults of the network, 100,000 pieces of junk, readers that are deaf"
	@echo "make soak       20 tables for ten minutes; QE_SOAK_SECONDS for less"
	@echo "make bench      how fast it is"
	@echo "make snapshots  draws the reference pictures of the screens anew"
	@echo "make picture    makes the picture in the README anew"
	@echo "make clean      removes the virtual environment and what was built"

play: $(VENV)/play
	$(BIN)/qe play

test: $(VENV)/dev
	$(BIN)/pytest -n 3 --dist worksteal

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev
	$(BIN)/mypy --strict protocol server
	$(BIN)/mypy qe_tui

floors: $(VENV)/dev
	$(BIN)/lint-imports

check: lint types floors test

long: $(VENV)/dev
	QE_LONG=1 $(BIN)/pytest -n 3 --dist worksteal -m long

lan: $(VENV)/dev
	QE_LAN=1 QE_LONG=1 $(BIN)/pytest -n 2 --dist worksteal tests/lan tests/hosting tests/broker

crash: $(VENV)/dev
	QE_KILLS=200 $(BIN)/pytest -s tests/crash

faults: $(VENV)/dev
	QE_FAULTS=500 QE_JUNK=100000 QE_LONG=1 $(BIN)/pytest -s tests/faults tests/server/test_access.py

soak: $(VENV)/dev
	QE_SOAK_SECONDS=$${QE_SOAK_SECONDS:-600} $(BIN)/pytest -s tests/soak

bench: $(VENV)/dev
	$(BIN)/python tests/bench/bench.py

snapshots: $(VENV)/dev
	$(BIN)/pytest -n 3 --snapshot-update tests/qe_tui

picture: $(VENV)/dev
	$(BIN)/python docs/picture.py

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "QE needs Python 3.11 or newer; name one with: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV), once ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/play: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517 --editable .
	@touch $@

$(VENV)/dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --use-pep517 --editable '.[dev]'
	@touch $@ $(VENV)/play

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
