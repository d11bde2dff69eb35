# Everything a newcomer needs: `make demo` and `make test`; each sets up what it needs.
VENV ?= .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.ready
# Pinned, and a build for the CPU: an open range may bring gigabytes.
TORCH := 2.13.0
# Byte code is written for what is imported, and for nothing else.
PIP := $(PY) -m pip install --quiet --no-compile
export OPENBLAS_NUM_THREADS ?= 2

# Where the built documentation is served, if anywhere: `make release SITE=https://…`.
SITE ?=

.PHONY: setup demo test test-kernels test-slow test-all test-oldest test-pythons fuzz check bench docs \
  release browser clean

setup: $(STAMP)

$(PY):
	python3 -m venv $(VENV)
	$(PIP) --upgrade pip

# Torch is named again beside the rest: what asks for another one fails here, and brings nothing.
$(STAMP): pyproject.toml | $(PY)
	$(PIP) torch==$(TORCH)
	$(PIP) --editable ".[all,testing]" --group test torch==$(TORCH)
	touch $(STAMP) $(VENV)/.demo

$(VENV)/.check: $(STAMP)
	$(PIP) --group check
	touch $@

$(VENV)/.docs: $(STAMP)
	$(PIP) --group docs
	touch $@

$(VENV)/.release: $(STAMP)
	$(PIP) --group release
	touch $@

# The demo needs no engine but threads, and is not kept waiting for the large ones.
$(VENV)/.demo: pyproject.toml | $(PY)
	$(PIP) --editable ".[plot]"
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
	    tests/unit $(addprefix --ignore=tests/unit/,files activations datasets report studies/train) || exit 1; \
	done

test-slow: setup browser $(VENV)/.release
	$(PY) -m pytest -n 2 -m slow

test-all: test test-slow

# Ten thousand damaged files of every format; any one again with FUZZ="--format npz --mutant 1234".
fuzz: setup
	PYTHONPATH=tests $(PY) -m fuzzing $(FUZZ)

# The fast suite on the lowest versions that pyproject.toml claims, and on every Python it claims.
test-oldest:
	python3 -m checks.versions oldest

test-pythons:
	python3 -m checks.versions pythons --torch $(TORCH)

check: $(VENV)/.check
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/deptry src
	$(VENV)/bin/codespell

bench: setup
	$(PY) -m benchmarks

docs: $(VENV)/.docs browser
	$(VENV)/bin/sphinx-build -W -n -q -b html docs docs/_build/html
	UPTO_SITE=docs/_build/html $(PY) -m pytest -q tests/site

# Builds and checks what would be uploaded, and uploads nothing.
release: $(VENV)/.release
	$(PY) -m checks.release --site "$(SITE)"

clean:
	rm -rf $(VENV) .venvs dist docs/_build docs/api .pytest_cache .mypy_cache .ruff_cache .hypothesis
