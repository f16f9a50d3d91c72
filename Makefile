# Two commands do all the set-up: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
DEV_STAMP := .venv/.installed-dev
# The usual PyTorch for Linux brings gigabytes of CUDA, which are of use with an NVIDIA GPU alone.
TORCH ?= $(if $(and $(filter Linux,$(shell uname -s)),$(if $(shell command -v nvidia-smi),,none)),cpu,default)

# constraints.txt is the lock, for what is installed and for what builds it (pip reads the second name from 25.3 on). It holds
# versions without hashes: pip refuses hashes beside an editable package, and PyTorch's CPU build is not PyPI's file.
PIP := env PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt $(BIN)/pip --disable-pip-version-check
COMPILE := $(BIN)/uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 --no-header --annotation-style line
# `make lock UPGRADE=` keeps what still fits; UPGRADE="--upgrade-package NAME" refreshes one package.
UPGRADE ?= --upgrade

# Each process has one core. Compiled modules are kept, even where a container's environment says otherwise.
PYTEST := env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 $(BIN)/python -m pytest

.PHONY: run test fast slow lint lock sbom audit forms bench soak faults strangers clean

run: $(STAMP)
	$(BIN)/touchstone run

test: lint fast slow

lint: $(DEV_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Refreshes the versions that everything above, the image and a local Label Studio are installed in.
lock: $(BIN)/uv
	$(COMPILE) $(UPGRADE) --all-extras pyproject.toml --output-file constraints.txt >/dev/null
	$(BIN)/python -c "from annotation.label_studio.install import PACKAGES; print(*PACKAGES, sep='\n')" \
		| $(COMPILE) $(UPGRADE) - --output-file annotation/label_studio/constraints.txt >/dev/null

# The bill of materials: each installed package with version, licence and what it requires. Same packages, same bytes.
SBOM ?= sbom.json
sbom: $(DEV_STAMP)
	$(BIN)/cyclonedx-py environment --output-reproducible --no-validate --gather-license-texts --pyproject pyproject.toml \
		--mc-type application --output-file $(SBOM) $(BIN)/python

# Whether vulnerabilities of these versions are known: 0 none, 1 those printed, 2 not checked.
audit: $(DEV_STAMP)
	PYTHON=$(BIN)/python tests/audit

# What a developer runs all day.
fast: $(DEV_STAMP)
	$(PYTEST) -n auto --dist loadfile --no-loadscope-reorder -m "not slow and not bench"

# Real parts: Prefect server, Label Studio, Chromium, killed processes, HTTP faults.
slow: $(DEV_STAMP)
	tests/system-packages
	$(PYTEST) -n 3 --dist loadfile --no-loadscope-reorder -m "slow"

# A screenshot of every annotation form, to be looked at.
forms: $(DEV_STAMP)
	$(BIN)/python -m tests.forms .touchstone-tests/forms .touchstone-tests

bench: $(DEV_STAMP)
	$(BIN)/python tests/bench/bench_annotate.py
	$(BIN)/python tests/bench/bench_busy.py
	$(BIN)/python tests/bench/bench_dedupe.py
	$(BIN)/python tests/bench/bench_documents.py
	$(BIN)/python tests/bench/bench_engine.py
	$(BIN)/python tests/bench/bench_fsync.py
	$(BIN)/python tests/bench/bench_keywords.py
	$(BIN)/python tests/bench/bench_likelihood.py
	$(BIN)/python tests/bench/bench_mix.py
	$(BIN)/python tests/bench/bench_profile.py
	$(BIN)/python tests/bench/bench_push.py .touchstone-tests
	$(BIN)/python tests/bench/bench_rebuild.py
	$(BIN)/python tests/bench/bench_replace.py
	$(BIN)/python tests/bench/bench_retrieve.py
	$(BIN)/python tests/bench/bench_slots.py
	$(BIN)/python tests/bench/bench_dialogues.py

# An endpoint at fault for an hour, then processes that are killed at random moments.
soak: $(DEV_STAMP)
	$(BIN)/python -m tests.soak --minutes 60
	$(PYTEST) -m "slow" tests/test_flows_run_kills.py -k random_moments -s --kills 25
	$(PYTEST) -m "slow" tests/test_flows_families_refutebench_kills.py -s --kills 25
	$(PYTEST) -m "slow" tests/test_flows_rebuild_kills.py -s --kills 50

# Every operation of a command on files fails, in each way that it can: 50,000 scenarios and more, a day on two cores.
faults: $(DEV_STAMP)
	tests/system-packages
	$(BIN)/python -m tests.faults
	$(BIN)/python -m tests.faults.damage
	$(BIN)/python -m tests.faults.at_once

# 20,000 files and 1,000 configurations that strangers might send: half an hour on two cores.
strangers: $(DEV_STAMP)
	$(BIN)/python -m tests.strangers

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
ifeq ($(TORCH),cpu)
	@echo "No NVIDIA GPU: installing PyTorch's CPU build. For the other one: make clean, then make run TORCH=default"
	$(PIP) install --no-deps --retries 1 --timeout 15 \
		--extra-index-url https://download.pytorch.org/whl/cpu torch
endif
	@echo "Installing about 195 packages, 2.5 GB on the disk: two minutes, or ten if the network is slow"
	$(PIP) install -e .
	touch $@

$(BIN)/uv:
	$(MAKE) $(STAMP)

$(DEV_STAMP): $(STAMP)
	$(PIP) install --quiet -e ".[dev,dask,office,s3]"
	touch $@

clean:
	rm -rf .venv out .touchstone .touchstone-tests build *.egg-info
