# Conveniences; each target is one plain pip command as well (CONTRIBUTING.md).
VENV    := .venv
BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip install --quiet --disable-pip-version-check --prefer-binary --no-compile
WORKERS ?= 2
# make test ORACLE=1 adds PyTorch, for the live comparison; CUDA=1 numba-cuda and ptxas, with the tests that are marked
# cuda; SLOW=1 the tests that are marked slow
comma   := ,
EXTRAS  := test$(if $(ORACLE),$(comma)oracle)$(if $(CUDA),$(comma)cuda-compile)
TESTED  := $(VENV)/.$(subst $(comma),-,$(EXTRAS))
# each benchmark, readme_table.py apart: it is the last one, and gpu.py, which is make gpu.
# make bench BENCH=--quick tries them and writes nothing
BENCHES := $(filter-out %/readme_table.py %/gpu.py,$(wildcard benchmarks/[a-z]*.py))
STARTED := $(shell date +%s)
LOCKED  := setup.cfg pyproject.toml constraints.txt

.PHONY: demo test bench gpu gpu-kernels notebooks gallery site lock clean

demo: $(VENV)/.demo
	@.ci/system-libraries $(if $(DISPLAY)$(WAYLAND_DISPLAY),window)
	@$(if $(DISPLAY)$(WAYLAND_DISPLAY),,$(BIN)/scalarviz warmup)
	$(BIN)/scalarviz rgb

# pip compiled nothing and the tests start hundreds of processes: each would compile numba and PyTorch from their sources
# where the environment says PYTHONDONTWRITEBYTECODE=1
test notebooks gallery site: export PYTHONDONTWRITEBYTECODE =

test: $(TESTED)
	@.ci/system-libraries window tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy scalarviz scenes
	SCALARVIZ_TEST_CUDA=$(if $(CUDA),1,0) $(BIN)/python -m pytest -q -n $(WORKERS) $(if $(SLOW),,-m "not slow") $(PYTEST)

bench: $(VENV)/.bench
	@.ci/system-libraries
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

notebooks: $(TESTED)
	@.ci/system-libraries
	$(BIN)/python .ci/make_notebooks.py

# All scenes, or those that are named: make gallery SCENES="rgb xor"
gallery: $(TESTED)
	@.ci/system-libraries
	$(BIN)/python .ci/make_gallery.py $(SCENES)

# build/site/index.html: the docs, the lessons and a player of every scene
site: $(TESTED)
	@.ci/system-libraries
	$(BIN)/python .ci/make_site.py

lock: $(VENV)/.dev
	$(BIN)/uv pip compile setup.cfg --quiet --universal --python-version 3.11 --upgrade \
	    --extra video --extra data --extra desktop --extra notebook --extra onnx --extra sweep --extra trees --extra site --extra all --extra test --extra dev \
	    --no-header --no-annotate --no-emit-index-url --no-emit-find-links -o constraints.txt

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@python=$$(PYTHON="$(PYTHON)" .ci/find-python) && echo "scalarviz: $(VENV) with $$python" && "$$python" -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python $(LOCKED)
	@echo "scalarviz: installing into $(VENV) (about a minute)"
	@$(PIP) -c constraints.txt -e ".[video,data,desktop]"
	@touch $@

$(TESTED): $(BIN)/python $(LOCKED)
	@echo "scalarviz: installing [$(EXTRAS)] into $(VENV)"
	@$(PIP) -c constraints.txt -e ".[$(EXTRAS)]"
	@touch $@

$(VENV)/.bench: $(BIN)/python $(LOCKED)
	@$(PIP) -c constraints.txt -e ".[video,data,bench,oracle,sweep]"
	@touch $@

$(VENV)/.gpu-kernels: $(BIN)/python $(LOCKED)
	@$(PIP) -c constraints.txt -e ".[cuda-compile]"
	@touch $@

$(VENV)/.dev: $(BIN)/python $(LOCKED)
	@$(PIP) -e ".[dev]"
	@touch $@
