#!/usr/bin/env bash
# Renders every picture of docs/pictures/ with the program itself, headless. Usage: docs/take_pictures.sh [TILESCOPE]
set -euo pipefail
cd "$(dirname "$0")/.."
tilescope=${1:-build/release/tilescope}
out=docs/pictures
mkdir -p "$out"

picture() { # name, then arguments of render
  local name=$1
  shift
  "$tilescope" render "$@" --out "$out/$name.png"
  echo "$out/$name.png"
}

toy=(--gpu toy --seq 64 --head-dim 16)
# Six telling steps of each algorithm: the first load, the first scores, a row maximum, a rescale, a product, the last store.
six() { # name, then six steps, then -- and arguments
  local name=$1 steps=() step n=1
  shift
  while [ "$1" != -- ]; do steps+=("$1"); shift; done
  shift
  for step in "${steps[@]}"; do
    picture "$name-$n" "${toy[@]}" --algorithm "$name" --step "$step" --size 1280x720 "$@"
    n=$((n + 1))
  done
}
