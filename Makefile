# One command sets up everything it needs: its own virtual environment, the build, the package. Run again, each takes
# seconds when nothing changed.
#
#   make run          a first look: the built-in quadruped dropped on the ground, its motion and a picture
#   make test         the tests
#   make lint         ruff, mypy, clang-format, stubs
#   make test-robots  agreement with Pinocchio on every robot of example-robot-data (130 MB of models)
#   make test-torch   the tests of featherweight.torch; installs PyTorch (gigabytes, unless pip knows of a build for CPUs)
#   make sanitize     the tests on a build with the address and undefined-behaviour sanitizers
#   make fuzz         damaged files, arrays and scenes by the hundred thousand
#   make seeded-faults  whether the tests notice small errors, put into a copy of the sources one at a time
#   make test-arm     the core's tests on a build for 64-bit ARM, emulated by qemu-user (Debian; 170 MB to download)
#   make bench        our speed beside the wheels of Pinocchio and MuJoCo
#   make scoreboard   physics with exact answers, beside MuJoCo
#   make docs         the documentation site, in build/docs; warnings are errors
#   make wheel        a wheel with all kernels, repaired, and tried in an empty environment
#   make zoo          robots of packages of the Python index beside MuJoCo and Pinocchio (1.4 GB of models)
#   make bench-against COMMIT=...  our speed beside that of another commit
#   make bench-peers  the same, beside Pinocchio's C++ built here with g++ and clang++

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q
STAMPS := $(VENV)/stamps
JOBS   ?= 2
SOURCES := $(shell find core bindings cmake -name '*.hpp' -o -name '*.cpp') CMakeLists.txt pyproject.toml
CXX_FILES := $(shell find core bindings benchmarks -name '*.hpp' -o -name '*.cpp')

.PHONY: run test lint test-robots test-torch sanitize sanitized-build seeded-faults fuzz fuzz-sanitized test-arm bench bench-against bench-peers scoreboard docs wheel zoo format clean build

run: $(STAMPS)/package $(STAMPS)/extra-plot
	$(BIN)/featherweight simulate quadruped --seconds 5 --height 0.3 --out out/quadruped.npz --plot out/quadruped.png \
	  --html out/quadruped.html
	@echo "Open out/quadruped.html in a browser: it plays the motion. What to try next: docs/first-hour.md"

test: $(STAMPS)/all-kernels $(STAMPS)/extra-test
	$(BIN)/python -m pytest -n $(JOBS) $(PYTEST)

lint: $(STAMPS)/package $(STAMPS)/extra-lint $(STAMPS)/extra-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)
	$(BIN)/mypy
	$(BIN)/python -m tools.check_stubs
	$(BIN)/python -m tools.typed_examples build/typed/program.py
	$(BIN)/mypy --strict --config-file= build/typed/program.py
	$(BIN)/basedpyright --level error --pythonpath $(BIN)/python build/typed/program.py

format: $(STAMPS)/extra-lint
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_FILES)

test-robots: $(STAMPS)/package $(STAMPS)/extra-test $(STAMPS)/extra-robots
	$(BIN)/python -m pytest -n $(JOBS) -m robots $(PYTEST)

test-torch: $(STAMPS)/package $(STAMPS)/extra-test $(STAMPS)/extra-torch
	$(BIN)/python -m pytest tests/frameworks tests/test_doctests.py -k torch $(PYTEST)

bench: $(STAMPS)/package $(STAMPS)/extra-bench
	$(BIN)/python -m benchmarks $(BENCH)

bench-against: $(STAMPS)/package
	$(BIN)/python -m benchmarks.against $(COMMIT) $(BENCH)

scoreboard: $(STAMPS)/package $(STAMPS)/extra-test
	$(BIN)/featherweight scoreboard $(SCOREBOARD)

# Pages are read where they lie; DOCS: more options of sphinx-build, as "-b linkcheck".
docs: $(STAMPS)/package $(STAMPS)/extra-docs
	$(BIN)/python -m sphinx -q -W --keep-going -c docs $(DOCS) . build/docs
	@echo "site: build/docs/docs/README.html"

# What a release has for this machine: built, its libraries looked at, installed where nothing else is, and tried.
wheel: | $(STAMPS)/build-requirements $(STAMPS)/extra-release
	rm -rf build/wheel && mkdir -p build/wheel
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) wheel --no-deps --no-build-isolation -Cbuild-dir=build/wheel/cmake -w build/wheel .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair -w build/wheel/repaired build/wheel/*.whl
	$(PYTHON) -m venv build/wheel/venv
	build/wheel/venv/bin/pip --disable-pip-version-check -q install build/wheel/repaired/*.whl
	cd build/wheel && venv/bin/python ../../tools/smoke.py

bench-peers: $(STAMPS)/package $(STAMPS)/extra-bench
	$(BIN)/python -m benchmarks --build-peers $(BENCH)

# The packages are unpacked beside each other, without what they need to run: only their robots are of interest.
# ZOO: a part of their names, --update, --also FOLDER of robots that no package has.
zoo: $(STAMPS)/package $(STAMPS)/extra-test $(STAMPS)/zoo
	$(BIN)/python -m zoo $(ZOO)

$(STAMPS)/zoo: pyproject.toml | $(STAMPS)/venv
	for package in $$($(BIN)/python tools/extra.py zoo); do \
	  $(PIP) install --no-deps --upgrade --target build/zoo/$${package%%[=>]*} $$package || exit 1; done
	@touch $@

build: $(STAMPS)/package

# A second environment and build: the editable package of the ordinary one would be found first.
# SANITIZE_ISAS: which instruction sets; "native" alone is built sooner.
ASAN_BIN := build/sanitize/venv/bin
SANITIZE_ISAS ?= all
sanitize: sanitized-build
	tools/sanitized.sh $(ASAN_BIN)/python -m pytest -n $(JOBS) $(PYTEST)

sanitized-build:
	test -x $(ASAN_BIN)/python || $(PYTHON) -m venv build/sanitize/venv
	$(ASAN_BIN)/python -m pip -q install $$($(ASAN_BIN)/python tools/extra.py build) $$($(ASAN_BIN)/python tools/extra.py test)
	PATH="$(CURDIR)/$(ASAN_BIN):$$PATH" $(ASAN_BIN)/python -m pip -q install --no-build-isolation --no-deps \
	  --force-reinstall -Cbuild-dir=build/sanitize/cmake -Ccmake.define.FEATHERWEIGHT_SANITIZE=ON \
	  -Ccmake.define.FEATHERWEIGHT_ISAS=$(SANITIZE_ISAS) .

# FUZZ: kinds of input, --inputs, --seed.
fuzz: $(STAMPS)/package $(STAMPS)/extra-test
	$(BIN)/python -m tools.fuzz $(FUZZ)

# The same on the sanitized build, which `make sanitize` and `make sanitized-build` leave.
fuzz-sanitized:
	tools/sanitized.sh $(ASAN_BIN)/python -m tools.fuzz $(FUZZ)

# Small errors in a copy of the sources, one at a time: each must be noticed by the tests. FAULTS: words in their names.
seeded-faults: $(STAMPS)/package $(STAMPS)/extra-test
	$(BIN)/python -m tools.seeded_faults $(FAULTS)

test-arm: | $(STAMPS)/build-requirements
	HOST_PYTHON=$(BIN)/python JOBS=$(JOBS) tools/test_arm.sh $(PYTEST)

$(STAMPS)/venv:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install -U pip
	@mkdir -p $(STAMPS) && touch $@

# What the package needs to be built without isolation, so that rebuilds are incremental.
$(STAMPS)/build-requirements: pyproject.toml | $(STAMPS)/venv
	$(PIP) install $$($(BIN)/python tools/extra.py build)
	@touch $@

# Kernels are built for this CPU's best instruction set; tests want all that it runs, and from then on they are kept up.
INSTALL = PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) install --no-build-isolation -Cbuild-dir=build/dev \
  -Ceditable.mode=redirect -Ccmake.define.FEATHERWEIGHT_ISAS=$(1) -e .
$(STAMPS)/package: $(SOURCES) | $(STAMPS)/build-requirements
	@test -e $(STAMPS)/all-kernels || echo "Building featherweight for this CPU: two to three minutes on two cores, once."
	$(call INSTALL,$(if $(wildcard $(STAMPS)/all-kernels),cpu,native))
	@touch $@

$(STAMPS)/all-kernels: $(SOURCES) | $(STAMPS)/build-requirements
	@echo "Building featherweight for every instruction set of this CPU, to test them all: six to eight minutes on two cores, once."
	$(call INSTALL,cpu)
	@touch $@ $(STAMPS)/package

$(STAMPS)/extra-%: pyproject.toml | $(STAMPS)/venv
	$(PIP) install $$($(BIN)/python tools/extra.py $*)
	@touch $@

clean:
	rm -rf build $(VENV) out
