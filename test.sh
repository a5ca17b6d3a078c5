#!/usr/bin/env bash
# Installs what is missing, builds TileScope and runs every test: optimised, then under the sanitizers (with the fuzz targets).
set -euo pipefail
cd "$(dirname "$0")"

cmake/setup.sh test
build_and_test() { # preset, then arguments of ctest
  local preset=$1
  shift
  echo "== $preset"
  cmake --preset "$preset"
  cmake --build --preset "$preset"
  ctest --preset "$preset" --parallel "$(nproc)" "$@"
}
build_and_test release --label-exclude fuzz
build_and_test dev
