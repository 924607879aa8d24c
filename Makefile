# `make up` and `make test` are all a newcomer needs; each installs what is missing.
.DEFAULT_GOAL := help
.PHONY: help install install-test install-bench up down status test coverage check bench bench-sampling dtdl bpf lock docs clean

PYTHON := .venv/bin/python
# If it is set in the environment, every process compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

help:  ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 24

install:
	@./install.sh --quiet

install-test:
	@tests/install.sh --quiet

install-bench:
	@tests/install.sh --quiet --bench

up: install  ## start the stack, probe this machine, load its twin, start monitoring
	@.venv/bin/supertwin up

down:  ## stop what `make up` started, and nothing else
	@if [ -x .venv/bin/supertwin ]; then .venv/bin/supertwin down; fi

status: install  ## what runs, since when, and how often it was restarted
	@.venv/bin/supertwin status

# Ends with the recipe's shell: so a SIGTERM to make alone also ends the tests.
ENDS_WITH_MAKE := setpriv --pdeathsig TERM --

# Two phases of four workers, also on two cores: most of the time goes into waiting for
# servers and for the clock. The second phase has the tests that a busy machine would
# disturb; together, four of them use a third of two cores.
SERIAL = -m serial $$(grep -rl --include='test_*.py' mark.serial tests)

test: install-test  ## every test, on a stack of its own
	@$(ENDS_WITH_MAKE) $(PYTHON) -m pytest -n 4 --dist loadfile --durations=20 \
	    -m "not serial"; \
	parallel=$$?; \
	$(ENDS_WITH_MAKE) $(PYTHON) -m pytest -n 4 --dist loadfile --durations=20 \
	    $(SERIAL) && exit $$parallel

coverage: install-test  ## run every test, print the share of lines and branches that they reach
	@$(PYTHON) -m coverage erase
	@$(ENDS_WITH_MAKE) $(PYTHON) -m coverage run -m pytest -n 4 --dist loadfile \
	    --durations=20 -m "not serial"; \
	parallel=$$?; \
	$(ENDS_WITH_MAKE) $(PYTHON) -m coverage run -m pytest -n 4 --dist loadfile \
	    --durations=20 $(SERIAL); \
	serial=$$?; \
	$(PYTHON) -m coverage combine --quiet && $(PYTHON) -m tests.coverage_totals && \
	exit $$((parallel | serial))

check: install-test  ## format, lint, words and types
	@$(PYTHON) -m ruff format --check .
	@git ls-files '*.py' '*.md' '*.js' '*.html' '*.rq' '*.ttl' '*.sh' | \
	    xargs $(PYTHON) -m codespell_lib --dictionary tests/words.txt
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m mypy

bench: install-bench  ## measure speed and size; ONLY="queries pinning" for parts
	@$(PYTHON) -m bench $(addprefix --only ,$(ONLY))

bench-sampling: install-bench  ## sampling compared with pcp2influxdb; FORM=--full takes hours
	@$(PYTHON) -m bench.sampling $(FORM)

dtdl: install-test  ## the official DTDL parser's verdict on every machine
	@$(PYTHON) -m tests.dtdl $(FILES)

PROCESSES := sampler_bridge/sources/processes
BPF_SOURCES := $(addprefix $(PROCESSES)/,tasks.bpf.c tasks.h)
PROBES := sampler_bridge/sources/probes
PROBE_SOURCES := $(addprefix $(PROBES)/,probes.bpf.c probes.h)

# The same object in every folder.
BPF_FLAGS := -g -O2 -Wall -target bpf -fdebug-compilation-dir=.

bpf:  ## compile what reads processes in the kernel again (needs clang, llvm, libbpf-dev)
	clang $(BPF_FLAGS) "-I/usr/include/$$(uname -m)-linux-gnu" \
	    "-DDIGEST=\"$$(cat $(BPF_SOURCES) | sha256sum | cut -c1-64)\"" \
	    -c $(PROCESSES)/tasks.bpf.c -o $(PROCESSES)/tasks.bpf.o
	llvm-strip -g $(PROCESSES)/tasks.bpf.o
	clang $(BPF_FLAGS) "-I/usr/include/$$(uname -m)-linux-gnu" \
	    "-DDIGEST=\"$$(cat $(PROBE_SOURCES) | sha256sum | cut -c1-64)\"" \
	    -c $(PROBES)/probes.bpf.c -o $(PROBES)/probes.bpf.o
	llvm-strip -g $(PROBES)/probes.bpf.o

LOCKS := deploy/locks
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --custom-compile-command "make lock"

lock:  ## pin the Python packages again (needs uv)
	$(COMPILE) pyproject.toml --extra build -o $(LOCKS)/python/run.lock
	$(COMPILE) pyproject.toml --extra build --extra test \
	    -c $(LOCKS)/python/run.lock -o $(LOCKS)/python/test.lock
	$(COMPILE) $(LOCKS)/uv/requirements.in -o $(LOCKS)/uv/requirements.lock
	$(COMPILE) $(LOCKS)/node/requirements.in -o $(LOCKS)/node/requirements.lock
	$(COMPILE) $(LOCKS)/chrontext/requirements.in -o $(LOCKS)/chrontext/requirements.lock

docs: install  ## write the pages that come from the code; docs/built/ is not committed
	@.venv/bin/supertwin docs

clean: down  ## remove what was installed here; the state in .state stays
	rm -rf .venv .tools docs/built .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
