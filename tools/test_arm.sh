#!/bin/sh
# tools/test_arm.sh [ARGUMENT OF PYTEST...] -- the core's tests on a build for 64-bit ARM, under emulation.
# Debian's cross compiler builds, qemu-user runs. An interpreter for ARM with its libraries is unpacked under build/arm,
# and looks to CMake, pytest and the tests like any other: build/arm/venv/bin/python.
# From make test-arm: HOST_PYTHON, an interpreter with pip, cmake and ninja beside it, and JOBS.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
arm=$root/build/arm
sysroot=$arm/sysroot
python=$arm/venv/bin/python
host=$root/${HOST_PYTHON:-.venv/bin/python}
jobs=${JOBS:-2}
started=$(date +%s)

say() { printf 'test-arm, %3d s: %s\n' "$(($(date +%s) - started))" "$*"; }

# What makes a step current: a file with what it was made from.
current() { [ -f "$arm/$1.made-from" ] && [ "$(cat "$arm/$1.made-from")" = "$2" ]; }
made() { printf '%s\n' "$2" >"$arm/$1.made-from"; }

# --- the compiler and the emulator, from the system's packages --------------------------------------------------------
packages="qemu-user g++-aarch64-linux-gnu"
if ! command -v apt-get >/dev/null; then
  say "there is no apt-get: the compiler, the emulator and the interpreter come from Debian's packages"
  exit 1
fi
if ! command -v qemu-aarch64 >/dev/null || ! command -v aarch64-linux-gnu-g++ >/dev/null; then
  if [ "$(id -u)" != 0 ]; then
    say "qemu-aarch64 or aarch64-linux-gnu-g++ is missing. Install them, then run this again:"
    echo "    sudo apt-get update && sudo apt-get install --no-install-recommends $packages"
    exit 1
  fi
  say "installs $packages (70 MB to download, 300 MB on disk; under a minute)"
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends $packages >/dev/null
fi

# --- an interpreter for ARM and the libraries it needs ----------------------------------------------------------------
# apt resolves them for another architecture in directories of its own, on a system with nothing installed: the machine's
# packages and architectures stay as they are, and no privilege is needed.
wanted="python3 libpython3-dev libstdc++6"
if ! current sysroot "$wanted"; then
  say "unpacks Debian's Python for ARM in build/arm/sysroot (40 MB to download, 130 MB on disk; half a minute)"
  rm -rf "$arm/apt" "$sysroot"
  mkdir -p "$arm/apt/state/lists/partial" "$arm/apt/cache/archives/partial" "$sysroot"
  : >"$arm/apt/status"
  arm_apt() {
    apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User= \
      -o Dir::State="$arm/apt/state" -o Dir::State::status="$arm/apt/status" -o Dir::Cache="$arm/apt/cache" "$@"
  }
  if ! arm_apt update || ! arm_apt -y --no-install-recommends --download-only install $wanted >/dev/null; then
    say "apt-get found no Debian packages for arm64: its sources must be Debian's own"
    exit 1
  fi
  for package in "$arm"/apt/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$sysroot"
  done
  rm -rf "$arm/apt"
  # pyconfig.h includes the one of its architecture, which a compiler would find in /usr/include.
  for headers in "$sysroot"/usr/include/python3.*; do
    ln -s ../aarch64-linux-gnu "$headers/aarch64-linux-gnu"
  done
  made sysroot "$wanted"
fi
version=$(basename "$(readlink "$sysroot/usr/bin/python3")")  # such as python3.11
site=$arm/venv/lib/$version/site-packages

# --- an environment for it --------------------------------------------------------------------------------------------
# Started by a script that is its sys.executable too: what starts another interpreter gets an emulated one. The CPU is
# ARMv8.0, the oldest, so that no newer instruction passes unseen.
requirements=$(echo "# $version in $root"
  "$host" tools/extra.py build | grep -v -e '^cmake' -e '^ninja'
  "$host" tools/extra.py test | grep -e '^pytest' -e '^hypothesis' -e '^scipy')
if ! current venv "$requirements"; then
  say "installs numpy, scipy, pytest and the like in build/arm/venv (55 MB to download, 250 MB on disk; half a minute)"
  rm -rf "$arm/venv"
  mkdir -p "$arm/venv/bin" "$site"
  printf 'home = %s\ninclude-system-site-packages = false\n' "$sysroot/usr/bin" >"$arm/venv/pyvenv.cfg"
  cat >"$python" <<END
#!/bin/sh
QEMU_CPU=cortex-a72 exec qemu-aarch64 -L "$sysroot" -0 "$python" "$sysroot/usr/bin/$version" "\$@"
END
  chmod +x "$python"
  platforms=--platform=manylinux2014_aarch64
  for glibc in 2_17 2_24 2_26 2_27 2_28 2_31 2_34 2_35 2_36; do
    platforms="$platforms --platform=manylinux_${glibc}_aarch64"
  done
  printf '%s\n' "$requirements" >"$arm/requirements.txt"
  "$host" -m pip --disable-pip-version-check -q install --only-binary=:all: $platforms \
    --python-version "${version#python}" --target "$site" -r "$arm/requirements.txt"
  made venv "$requirements"
fi

# --- the package ------------------------------------------------------------------------------------------------------
# The emulated interpreter drives the build, so that all it says of itself is true of the target; what it starts (CMake,
# ninja, the cross compiler) runs on the machine itself. Kernels: NEON, and the two for checking.
say "builds the package for ARM (five minutes on two cores the first time, then only what changed)"
rm -rf "$arm/wheel"
PATH="$(dirname "$host"):$PATH" CMAKE_BUILD_PARALLEL_LEVEL=$jobs "$python" - >"$arm/build.log" 2>&1 <<END || {
from scikit_build_core.build import build_wheel
settings = {
    "build-dir": "build/arm/cmake",
    "cmake.define.CMAKE_TOOLCHAIN_FILE": "$root/cmake/aarch64-linux-gnu.cmake",
    "cmake.define.FEATHERWEIGHT_ISAS": "cpu",
}
print(build_wheel("$arm/wheel", settings))
END
  tail -n 40 "$arm/build.log"
  say "the build failed; all of its output is in build/arm/build.log"
  exit 1
}
grep -A4 'warning:' "$arm/build.log" || true
"$host" -m pip --disable-pip-version-check -q install --no-deps --no-index --upgrade --platform linux_aarch64 \
  --python-version "${version#python}" --target "$site" "$arm"/wheel/*.whl

# --- the tests --------------------------------------------------------------------------------------------------------
# Without peers: what needs one is reported as skipped (tools/emulated.py).
folders="lanes kinematics dynamics rows constraints constrained delassus contact collision simulation batch"
ignored=
leave_out() { # reason, files...
  printf '  %s:\n' "$1"
  shift
  printf '    %s\n' "$@"
  for file; do ignored="$ignored --ignore=$file"; done
}
say "runs the tests of $folders (ten minutes of one core). Left out are"
leave_out "counts of operations, which are the same on any CPU" tests/dynamics/test_growth.py \
  tests/constrained/test_constrained_growth.py tests/delassus/test_delassus_growth.py
leave_out "long runs, minutes each under emulation" tests/dynamics/test_free_motion.py \
  tests/contact/test_pile_problems.py tests/simulation/test_contact_energy.py tests/simulation/test_crowds.py \
  tests/simulation/test_matrix_free.py tests/simulation/test_robustness.py tests/simulation/test_settling.py
printf '  %s\n' "the same tests on the other builds of the kernels"
ignored="$ignored --deselect=tests/batch/test_instruction_sets.py::test_main_tests_pass_on"
leave_out "loads a library that the machine's own compiler makes" tests/batch/test_process.py
status=0
OPENBLAS_NUM_THREADS=1 "$python" -m pytest -q -n "$jobs" -p tools.emulated -p no:cacheprovider -o timeout=900 \
  -o testpaths="$(printf 'tests/%s ' $folders)" $ignored "$@" || status=$?
say "$([ $status = 0 ] && echo passed || echo failed)"
exit $status
