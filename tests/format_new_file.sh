#!/usr/bin/env bash
# cmake/format.sh formats a file that git does not know yet, and leaves one that git ignores. Usage: format_new_file.sh SOURCE_DIR
set -eu
command -v clang-format >/dev/null || { echo "skipped: clang-format is not installed"; exit 77; }
command -v git >/dev/null || { echo "skipped: git is not installed"; exit 77; }
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/cmake" "$tree/sim" "$tree/build"
cp "$1/cmake/format.sh" "$tree/cmake/"
cp "$1/.clang-format" "$tree/"
git -C "$tree" init -q
echo build >"$tree/.gitignore"
echo 'int   f( );' >"$tree/sim/new.cpp"
echo 'int   f( );' >"$tree/build/made.cpp"
if "$tree/cmake/format.sh" --check >/dev/null 2>&1; then echo "a new file is not checked"; exit 1; fi
"$tree/cmake/format.sh" >/dev/null
"$tree/cmake/format.sh" --check >/dev/null
grep -qx 'int f();' "$tree/sim/new.cpp"
grep -qx 'int   f( );' "$tree/build/made.cpp"
