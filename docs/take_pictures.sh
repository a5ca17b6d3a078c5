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
# Six telling steps of each algorithm, spread over what it does.
six() { # name, then six steps
  local name=$1 n=1 step
  shift
  for step in "$@"; do
    picture "$name-$n" "${toy[@]}" --algorithm "$name" --step "$step" --size 1280x720
    n=$((n + 1))
  done
}
six flash2 1 8 18 29 32 48
six standard 4 14 30 90 150 180
six flash1 6 40 59 63 200 352

picture flash2-toy --gpu toy --seq 16 --head-dim 4 --block-q 4 --block-kv 4
picture flash2-toy-light --gpu toy --seq 16 --head-dim 4 --block-q 4 --block-kv 4 --theme light
picture race-toy "${toy[@]}" --race --step 40
picture race-toy-light "${toy[@]}" --race --step 40 --theme light --size 1280x720
h200=(--gpu h200 --heads 16 --seq 4096 --head-dim 64)
picture flash2-h200 "${h200[@]}" --step 200
picture flash2-h200-light "${h200[@]}" --step 200 --theme light --size 1280x720
picture race-h200 "${h200[@]}" --race --step 200
picture measured-hbm --algorithm standard --gpu h200 --heads 16 --seq 4096 --head-dim 64
picture measured-lanes --gpu h200 --heads 32 --seq 1024 --head-dim 64 --step 100
for view in roofline what_if fit sweep validate; do
  picture "$view" "${h200[@]}" --view "$view"
done
picture validate-light "${h200[@]}" --view validate --theme light --size 1280x720
for algorithm in softmax_safe softmax_online softmax_fused matmul_naive matmul_tiled; do
  picture "$algorithm" "${toy[@]}" --algorithm "$algorithm" --size 1280x720
done
