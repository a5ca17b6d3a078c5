#!/usr/bin/env bash
# Installs the program into a prefix, moves the tree, and runs it from there with the assets of that tree and no others.
# Usage: installed.sh BUILD_DIR
set -euo pipefail
build=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset TILESCOPE_ASSETS
export XDG_CONFIG_HOME=$work/config XDG_STATE_HOME=$work/state

cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
tilescope=$work/moved/bin/tilescope assets=$work/moved/share/tilescope/assets
cd /
"$tilescope" simulate >/dev/null
"$tilescope" simulate --gpu h200 --heads 4 --seq 512 --head-dim 64 --json >/dev/null

# A GPU that is only in the moved tree is known, and one that was taken from it is not.
sed 's/^id *=.*/id = "moved"/' "$assets/gpus/toy.toml" >"$assets/gpus/moved.toml"
rm "$assets/gpus/h200.toml"
"$tilescope" simulate --gpu moved >/dev/null
status=0
"$tilescope" simulate --gpu h200 >/dev/null 2>"$work/error" || status=$?
[ "$status" = 2 ] && grep -q "unknown GPU 'h200'" "$work/error" ||
  { cat "$work/error"; echo "failed: assets of another tree were read (exit code $status)"; exit 1; }

# Drawing works too, in Korean, whose texts are an asset; 3 means that there is no OpenGL here.
"$tilescope" render --language ko --out "$work/picture.png" || status=$?
case $status in 2) [ -s "$work/picture.png" ] ;; 3) echo "not drawn: there is no OpenGL here" ;; *) exit 1 ;; esac

# No path of the machine that built it is in the program.
if grep -qF "$build" "$tilescope"; then echo "failed: $build is written into the program"; exit 1; fi
echo "installed, moved, ran"
