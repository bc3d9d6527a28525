#!/bin/sh
# tools/sanitized.sh SITE COMMAND... -- runs a command with the sanitized build of the package found in SITE.
# A plain interpreter needs the sanitizer's runtime loaded before anything else. Leaks are Python's own, and not looked for.
set -eu
site=$1
shift
runtime() { "${CXX:-g++}" -print-file-name="$1"; }
export PYTHONPATH="$site${PYTHONPATH:+:$PYTHONPATH}"
export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="print_stacktrace=1:${UBSAN_OPTIONS:-}"
LD_PRELOAD="$(runtime libasan.so) $(runtime libubsan.so) $(runtime libstdc++.so)" exec "$@"
