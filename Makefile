# Everything a newcomer needs: `make demo` and `make test`; each sets up what it needs.
VENV ?= .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.ready
export OPENBLAS_NUM_THREADS ?= 2

.PHONY: setup demo test test-kernels test-slow test-all check bench docs browser clean

setup: $(STAMP)

$(PY):
	python3 -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip

$(STAMP): pyproject.toml | $(PY)
	$(PY) -m pip install --quiet torch==2.13.0 # first and pinned: an open range may bring gigabytes
	$(PY) -m pip install --quiet --editable ".[all,testing]" --group dev
	touch $(STAMP) $(VENV)/.demo

# The demo needs no engine but threads, and is not kept waiting for the large ones.
$(VENV)/.demo: pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --editable ".[report,plot]"
	touch $(VENV)/.demo

demo: $(VENV)/.demo
	$(VENV)/bin/upto demo --output report.html

# The browser of the page tests; where it may not be installed, those tests say why they skip.
browser:
	@command -v chromium >/dev/null || (command -v apt-get >/dev/null && \
	  apt-get update -qq && apt-get install -y -qq chromium >/dev/null 2>&1) || true

test: setup browser
	$(PY) -m pytest -n 2 -m "not slow"

# Results must not depend on the machine: the tests with arithmetic in them, by a kernel that fuses
# multiplications and additions and by one that does not. Every x86 processor of today runs both.
# Left out is what computes little, or by torch, which chooses kernels of its own.
KERNELS := Nehalem Haswell
test-kernels: setup
	@case "$$(uname -m)" in x86_64 | amd64) ;; \
	  *) echo "test-kernels is skipped: $(KERNELS) are kernels of x86, and this is $$(uname -m)."; exit 0 ;; \
	esac; \
	for kernel in $(KERNELS); do \
	  echo "With the OpenBLAS kernel $$kernel:"; \
	  OPENBLAS_CORETYPE=$$kernel $(PY) -m pytest -n 2 -q -m "not slow" tests/oracles tests/properties \
	    tests/unit $(addprefix --ignore=tests/unit/,load report train) || exit 1; \
	done

test-slow: setup browser
	$(PY) -m pytest -n 2 -m slow

test-all: test test-slow

check: setup
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/deptry src
	$(VENV)/bin/codespell

bench: setup
	$(PY) -m benchmarks

docs: setup
	$(VENV)/bin/sphinx-build -W -n -q -b html docs docs/_build/html

clean:
	rm -rf $(VENV) docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis
