#!/usr/bin/env bash
# Installs what is missing, builds TileScope and runs every test: those of the model and the fuzz targets of its parsers under the
# sanitizers, all others optimised. `ctest --preset release` runs all of them optimised.
set -euo pipefail
cd "$(dirname "$0")"

cmake/setup.sh test
configure_and_build() { # preset, then arguments of cmake --build
  local preset=$1
  shift
  echo "== $preset"
  # A new folder compiles neighbouring files at once, in less time. A folder that somebody works in stays as it is.
  if [ ! -f "build/$preset/CMakeCache.txt" ]; then
    cmake --preset "$preset" -DCMAKE_UNITY_BUILD=ON
    cmake --build --preset "$preset" "$@" && return
    echo "== $preset again, file by file: neighbours that give one name to two things cannot be compiled at once (docs/contributing.md)"
    cmake --preset "$preset" -DCMAKE_UNITY_BUILD=OFF
  else
    cmake --preset "$preset"
  fi
  cmake --build --preset "$preset" "$@"
}
configure_and_build release
ctest --preset release --parallel "$(nproc)" --exclude-regex '^(sim/.*|fuzz_spec|fuzz_csv)$'  # these run under the sanitizers
configure_and_build sim --target test_sim fuzz_spec fuzz_csv
ctest --preset sim --parallel "$(nproc)" --tests-regex '^(sim/.*|fuzz_spec|fuzz_csv)$'
