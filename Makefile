# Conveniences; each target is one plain pip command as well (CONTRIBUTING.md).
VENV    := .venv
BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip install --quiet --disable-pip-version-check --prefer-binary --no-compile
WORKERS ?= 2
# everything that the tests of .ci/run can use: PyTorch, JAX, numba-cuda with ptxas, JupyterLab, sphinx
EVERYTHING := $(VENV)/.ci
# each benchmark, readme_table.py apart: it is the last one, and gpu.py, which is make gpu.
# make bench BENCH=--quick tries them and writes nothing
BENCHES := $(filter-out %/readme_table.py %/gpu.py,$(wildcard benchmarks/[a-z]*.py))
STARTED := $(shell date +%s)
LOCKED  := setup.cfg pyproject.toml constraints.txt

.PHONY: demo test test-all lint hunt mutants bench gpu gpu-kernels notebooks gallery site lock wheel clean

demo: $(VENV)/.demo
	@.ci/system-libraries $(if $(DISPLAY)$(WAYLAND_DISPLAY),window)
	$(BIN)/scalarviz rgb

# pip compiled nothing and the tests start many processes: each would compile numba from its sources where the
# environment says PYTHONDONTWRITEBYTECODE=1
test test-all hunt notebooks gallery site: export PYTHONDONTWRITEBYTECODE =

# What a change needs while you think: laws, and one film, still, page, command and window. PYTEST="tests/nn -x"
test: $(VENV)/.test
	@.ci/system-libraries
	@$(BIN)/scalarviz warmup --quiet
	$(BIN)/python -m pytest -q -n $(WORKERS) -m "not ci and not hunt" -o faulthandler_timeout=150 $(PYTEST)

# All tests but hunts, with PyTorch, browsers, notebooks and the compilers of GPU kernels: fifty minutes on two cores
test-all: $(EVERYTHING)
	@.ci/system-libraries window tests
	@$(BIN)/scalarviz warmup --quiet
	SCALARVIZ_TEST_CUDA=1 $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "not hunt" $(PYTEST)

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy scalarviz scenes

# Long walks and fuzzing with a new seed each day for so many minutes, then mutants for as many: make hunt HUNT=120
# A walk may take longer than the ten minutes that a test has elsewhere.
hunt: $(EVERYTHING) build/cover.json.gz
	@.ci/system-libraries window tests
	HUNT=$(or $(HUNT),30) $(BIN)/python -m pytest -q -n $(WORKERS) -m "hunt or hypothesis" -o faulthandler_timeout=0 $(PYTEST)
	$(BIN)/python tests/kit/mutants.py run --workers $(WORKERS) --minutes $(or $(HUNT),30) --samples sample held_out

# Which faults of a stored sample the tests notice; hours, and what is done is not done again. New tests need a new map
# of which test calls which function: rm build/cover.json.gz. make mutants MUTANTS="--samples held_out"
mutants: $(EVERYTHING) build/cover.json.gz
	$(BIN)/python tests/kit/mutants.py run --workers $(WORKERS) $(MUTANTS)

build/cover.json.gz: | $(EVERYTHING)
	@.ci/system-libraries window tests
	$(BIN)/python tests/kit/mutants.py cover --out $@ -- -n $(WORKERS) -m "not hunt"

bench: $(VENV)/.bench
	@.ci/system-libraries tests
	@$(BIN)/scalarviz warmup
	@set -e; for script in $(BENCHES) benchmarks/readme_table.py; do \
	    echo "== $$script ($$(($$(date +%s) - $(STARTED))) s)"; $(BIN)/python $$script $(BENCH); done
	@echo "== all of it took $$(($$(date +%s) - $(STARTED))) s"

# Nothing is installed: make gpu PYTHON=python3 GPU="--only kernels,targets --kernels gpu-kernels"
gpu:
	$(or $(PYTHON),python3) benchmarks/gpu.py $(GPU)

# Kernels for a machine without libNVVM; no GPU is needed: make gpu-kernels ARCHITECTURES=90
gpu-kernels: $(VENV)/.gpu-kernels
	$(BIN)/python benchmarks/gpu.py --write-kernels gpu-kernels --architectures $(or $(ARCHITECTURES),80,90)

notebooks: $(EVERYTHING)
	@.ci/system-libraries
	$(BIN)/python .ci/make_notebooks.py

# All scenes, or those that are named: make gallery SCENES="rgb xor"
gallery: $(EVERYTHING)
	@.ci/system-libraries
	$(BIN)/python .ci/make_gallery.py $(SCENES)

# build/site/index.html: the docs, the lessons, and pages of all scenes, or of SCENES=rgb,xor, which train. With its
# address, each lesson has a QR code: make site ADDRESS=https://school.example/scalarviz/
site: $(VENV)/.site
	@.ci/system-libraries
	$(BIN)/python .ci/make_site.py $(if $(SCENES),--scenes $(SCENES)) $(if $(ADDRESS),--address $(ADDRESS))

lock: $(VENV)/.dev
	$(BIN)/uv pip compile setup.cfg --quiet --universal --python-version 3.11 --upgrade \
	    --extra video --extra data --extra desktop --extra notebook --extra course --extra onnx --extra sweep --extra trees --extra site --extra all --extra test --extra lint --extra ci --extra dev \
	    --no-header --no-annotate --no-emit-index-url --no-emit-find-links -o constraints.txt

# dist/scalarviz-*.whl, which installs without the clone
wheel: $(BIN)/python
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@python=$$(PYTHON="$(PYTHON)" .ci/find-python) && echo "scalarviz: $(VENV) with $$python" && "$$python" -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python $(LOCKED)
	@echo "scalarviz: installing into $(VENV) (about a minute)"
	@$(PIP) -c constraints.txt -e ".[video,data,desktop]"
	@touch $@

$(VENV)/.test $(VENV)/.lint $(VENV)/.site: $(VENV)/.%: $(BIN)/python $(LOCKED)
	@echo "scalarviz: installing [$*] into $(VENV)"
	@$(PIP) -c constraints.txt -e ".[$*]"
	@touch $@

$(EVERYTHING): $(BIN)/python $(LOCKED)
	@echo "scalarviz: installing [ci,oracle,cuda-compile] into $(VENV)"
	@$(PIP) -c constraints.txt -e ".[ci,oracle,cuda-compile]"
	@touch $@ $(VENV)/.test $(VENV)/.lint $(VENV)/.site

$(VENV)/.bench: $(BIN)/python $(LOCKED)
	@$(PIP) -c constraints.txt -e ".[ci,bench,oracle]"
	@touch $@

$(VENV)/.gpu-kernels: $(BIN)/python $(LOCKED)
	@$(PIP) -c constraints.txt -e ".[cuda-compile]"
	@touch $@

$(VENV)/.dev: $(BIN)/python $(LOCKED)
	@$(PIP) -e ".[dev]"
	@touch $@
