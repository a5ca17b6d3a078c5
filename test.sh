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
settings=(-DTILESCOPE_WARNINGS_ARE_ERRORS=ON)
settings+=(-DTILESCOPE_ALL_BUILDS_SIM_TESTS=OFF)  # they run under the sanitizers, as do the recipe's and two fuzz targets
if ! command -v nvidia-smi >/dev/null; then
  settings+=(-DTILESCOPE_CUDA_ARCHITECTURES=90-virtual)  # no kernel runs here: PTX suffices, and takes three fifths of the time
fi
build release "${settings[@]}"
ctest --preset release --parallel "$(nproc)" --exclude-regex '^(sim/.*|recipe/contract|fuzz_spec|fuzz_csv)$'
build sim --target test_sim test_recipe_sim fuzz_spec fuzz_csv
ctest --preset sim --parallel "$(nproc)" --tests-regex '^(sim/.*|recipe/contract|fuzz_spec|fuzz_csv)$'
