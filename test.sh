#!/usr/bin/env bash
# Installs what is missing, builds TileScope and runs every test: those of the model and the fuzz targets of its parsers under the
# sanitizers, all others optimised.
set -euo pipefail
cd "$(dirname "$0")"

cmake/setup.sh test
build() {
  echo "== $1"
  cmake/build.sh "$@"
}
build release -DTILESCOPE_ALL_BUILDS_SIM_TESTS=OFF  # they run under the sanitizers, and so do two fuzz targets
ctest --preset release --parallel "$(nproc)" --exclude-regex '^(sim/.*|fuzz_spec|fuzz_csv)$'
build sim --target test_sim fuzz_spec fuzz_csv
ctest --preset sim --parallel "$(nproc)" --tests-regex '^(sim/.*|fuzz_spec|fuzz_csv)$'
