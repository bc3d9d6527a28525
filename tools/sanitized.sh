#!/bin/sh
# tools/sanitized.sh COMMAND... -- runs a command that loads a sanitized build of the package.
# A plain interpreter needs the sanitizer's runtime loaded before anything else. Leaks are Python's own, and not looked for.
set -eu
runtime() { "${CXX:-g++}" -print-file-name="$1"; }
export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"
LD_PRELOAD="$(runtime libasan.so) $(runtime libubsan.so) $(runtime libstdc++.so)" exec "$@"
