#!/usr/bin/env bash
# Runs clang-tidy over the tree, or over the files whose path matches; fails where it says anything.
# Usage: cmake/tidy.sh [REGEX]     (cmake/tidy.sh '^sim/')
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-tidy >/dev/null || { echo "tidy: clang-tidy is not installed: apt install clang-tidy" >&2; exit 3; }
build=build/tidy

# clang-tidy cannot read the headers that GCC precompiled, so it gets a folder without them. The whole tree is read several files at
# once, which takes a fifth of the time; the files of a pattern one by one.
at_once=$([ $# -eq 0 ] && echo ON || echo OFF)
cmake --preset release -B "$build" -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DTILESCOPE_CUDA=OFF -DCMAKE_UNITY_BUILD="$at_once" >"$build.log" 2>&1 ||
  { cat "$build.log" >&2; exit 1; }
# Some files are written at build time. Their commands run alone: built as targets, they would compile all libraries before them.
for made in app/shader_table.cpp app/validation_tables.cpp kernels/embedded_kernels.cpp sim/kernel_profiles.cpp sim/bank_counters.cpp sim/function_costs.cpp sim/flex_spills.cpp; do
  (cd "$build" && ninja -t commands -s "$made" | sh -e) >>"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
done
mapfile -t files < <(sed -nE 's#^ *"file": "'"$PWD"'/(.*\.c(pp|xx))",?$#\1#p' "$build/compile_commands.json" |
  grep -vE '^(build/deps/|build/.*\.cpp$|app/platform/stb\.cpp$)' | grep -E "${1:-.}" | sort -u)
[ ${#files[@]} -gt 0 ] || { echo "tidy: no file matches '${1:-.}'" >&2; exit 2; }
echo "tidy: ${#files[@]} files"
printf '%s\0' "${files[@]}" |
  xargs -0 -n 2 -P "$(nproc)" clang-tidy -quiet -p "$build" --warnings-as-errors='*' --extra-arg=-Wno-unknown-warning-option \
    --checks=-bugprone-suspicious-include 2> >(grep -vE '^[0-9]+ warnings? ' >&2 || true)
echo "tidy: nothing found"
