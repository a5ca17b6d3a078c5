#!/usr/bin/env bash
# Installs what is missing, builds TileScope and runs every test: optimised, then under the sanitizers.
set -euo pipefail
cd "$(dirname "$0")"

cmake/setup.sh test
for preset in release dev; do
  echo "== $preset"
  cmake --preset "$preset"
  cmake --build --preset "$preset"
  ctest --preset "$preset"
done
