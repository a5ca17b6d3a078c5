#!/usr/bin/env bash
# Runs clang-tidy 14 over the C++ of the tree, or of folders and files; fails where it finds something.
# Usage: cmake/tidy.sh [-j NUMBER] [FOLDER|FILE]...     (cmake/tidy.sh -j 1 sim/masks app/cli/flags.cpp)
#   -j NUMBER   processes at a time; by default one a core
# CUDA files are left out, and so are C++ files that include CUDA's headers: clang-tidy 14 cannot read them.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
processes=$(nproc)
while getopts j: option; do
  [ "$option" = j ] && [[ $OPTARG =~ ^[1-9][0-9]*$ ]] || { sed -n '3,4s/^# *//p' "$0" >&2; exit 2; }
  processes=$OPTARG
done
shift $((OPTIND - 1))
only=()  # what is to be checked, from the top of the tree
for path in "$@"; do
  [ -e "$path" ] || { echo "tidy: there is no '$path'" >&2; exit 2; }
  only+=("$(realpath --relative-to="$top" "$path")")
done
cd "$top"
command -v clang-tidy >/dev/null || { echo "skipped: clang-tidy is not installed"; exit 77; }
build=build/tidy
show_log() { cat "$build.log" >&2; exit 2; }

# clang-tidy cannot read the headers that GCC precompiled, so it gets a folder without them. Neighbours are read at once, which takes a
# fifth of the time; where a file is named, all are read one by one.
at_once=ON
for path in "${only[@]}"; do [ -d "$path" ] || at_once=OFF; done
mkdir -p build
cmake --preset release -B "$build" -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON -DTILESCOPE_CUDA=OFF -DCMAKE_UNITY_BUILD="$at_once" >"$build.log" 2>&1 || show_log
# Some files are written at build time. Their commands run alone: built as targets, they would compile all libraries before them.
ninja -C "$build" -t targets rule CUSTOM_COMMAND | grep -E '^[^/].*\.cpp$' | while read -r made; do
  (cd "$build" && ninja -t commands -s "$made" | sh -e)
done >>"$build.log" 2>&1 || show_log

# Third-party files, generated ones and the copies that the test of the recipe makes are left out.
mapfile -t compiled < <(sed -nE 's#^ *"file": "'"$top"'/(.*\.c(pp|xx))",?$#\1#p' "$build/compile_commands.json" |
  grep -vE '^(build/deps/|build/.*\.cpp$|app/platform/stb\.cpp$)' | sort -u)
is_asked_for() { # one of our files
  [ ${#only[@]} -gt 0 ] || return 0
  for path in "${only[@]}"; do [[ $1 != "$path" && $1 != "$path"/* ]] || return 0; done
  return 1
}
files=()
for file in "${compiled[@]}"; do
  of=$file  # of a file that includes neighbours, the first of them: all are of one folder
  [[ $file != *.cxx ]] || of=$(sed -nE '/^#include/ { s#^.include "'"$top"'/(.*)"$#\1#p; q }' "$file")
  ! is_asked_for "$of" || files+=("$file")
done
[ ${#files[@]} -gt 0 ] || { echo "tidy: nothing is compiled of: $* (a header is read with the files that include it)" >&2; exit 2; }
echo "tidy: ${#files[@]} compilations"

# Files that are read at once include .cpp files. GCC's options are unknown to clang. What several compilations find in one header is shown once.
if printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$processes" clang-tidy --quiet -p "$build" --checks=-bugprone-suspicious-include \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-unused-command-line-argument 2> >(grep -vE '^[0-9]+ warnings? ' >&2 || true) |
  awk '/^\/.*: (warning|error): /{ is_new = !seen[$0]++; found += is_new } is_new { print; fflush() } END { exit found > 0 }'; then
  echo "tidy: nothing found"
else
  echo "tidy: mend what clang-tidy found; the checks are those of version 14, this is$(clang-tidy --version | sed -n 's/.*LLVM version//p')"
  exit 1
fi
