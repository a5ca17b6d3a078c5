#!/usr/bin/env bash
# Formats every C++ and CUDA file with clang-format; with --check it changes nothing and fails where a file is not formatted.
# Usage: cmake/format.sh [--check]
set -euo pipefail
cd "$(dirname "$0")/.."
command -v clang-format >/dev/null || { echo "skipped: clang-format is not installed"; exit 77; }

files() { # separated by zero bytes: those of git and new ones that it does not ignore; all where there is no git
  git ls-files -z -co --exclude-standard -- '*.cpp' '*.h' '*.cu' '*.cuh' 2>/dev/null ||
    find app kernels sim tests cmake \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' \) -print0
}
if [ "${1:-}" = --check ]; then how=(--dry-run -Werror); else how=(-i); fi
files | xargs -0 -n 30 -P "$(nproc)" clang-format "${how[@]}" ||
  { echo "these files are not formatted: run cmake/format.sh, with $(clang-format --version)"; exit 1; }
