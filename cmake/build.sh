#!/usr/bin/env bash
# Configures a preset and builds it; called by run.sh and test.sh.
# Usage: cmake/build.sh PRESET [-DNAME=VALUE]... [argument of cmake --build]...
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
settings=()  # of a new folder
while [[ ${1:-} == -D* ]]; do
  settings+=("$1")
  shift
done

# A new folder compiles neighbouring files at once, in less time. A folder that somebody works in stays as it is.
if [ ! -f "build/$preset/CMakeCache.txt" ]; then
  cmake --preset "$preset" -DCMAKE_UNITY_BUILD=ON "${settings[@]}"
  cmake --build --preset "$preset" "$@" && exit
  echo "== $preset again, file by file: neighbours that give one name to two things cannot be compiled at once (docs/contributing.md)"
  cmake --preset "$preset" -DCMAKE_UNITY_BUILD=OFF
else
  cmake --preset "$preset"
fi
cmake --build --preset "$preset" "$@"
