#!/usr/bin/env bash
# Renders pictures of the program, headless, into out/pictures/ (not committed), and copies those that the docs show into docs/pictures/.
# Smaller files where pngquant is installed. measured-live-h200.png is taken on a GPU: docs/measuring.md.
# Usage: docs/take_pictures.sh [--shown] [TILESCOPE]     (--shown: only those that the docs show)
set -euo pipefail
cd "$(dirname "$0")/.."
only_shown=no
if [ "${1:-}" = --shown ]; then only_shown=yes; shift; fi
tilescope=${1:-build/release/tilescope}
out=out/pictures
mkdir -p "$out" docs/pictures

shown=$(grep -ohE 'pictures/[A-Za-z0-9_-]+\.png' README.md docs/*.md | sed -E 's#.*/(.*)\.png#\1#' | sort -u)
is_shown() { grep -qxF -- "$1" <<<"$shown"; }

picture() { # name, then arguments of render
  local name=$1
  shift
  if [ "$only_shown" = yes ] && ! is_shown "$name"; then return; fi
  "$tilescope" render "$@" --out "$out/$name.png"
  echo "$out/$name.png"
}

toy=(--gpu toy --seq 64 --head-dim 16)
small=(--gpu toy --seq 16 --head-dim 4 --block-q 4 --block-kv 4 --blocks-per-sm 1)  # every number in its cell
# Six telling steps of an algorithm, spread over what it does, in both themes.
six() { # algorithm, its six steps, then its problem
  local name=$1 n step
  local steps=("${@:2:6}")
  shift 7
  for n in 1 2 3 4 5 6; do
    step=${steps[n - 1]}
    picture "$name-$n" "$@" --algorithm "$name" --step "$step" --size 1280x720
    picture "$name-$n-light" "$@" --algorithm "$name" --step "$step" --size 1280x720 --theme light
  done
}
six flash2 1 8 18 29 32 48 "${toy[@]}"
six standard 4 14 30 90 150 180 "${toy[@]}"
six flash1 6 40 59 63 200 352 "${toy[@]}"
six softmax_safe 5 12 17 22 27 36 "${small[@]}"
six softmax_online 5 12 16 24 32 40 "${small[@]}"
six softmax_fused 5 8 12 16 27 50 "${small[@]}"
six matmul_naive 2 8 20 33 50 64 "${small[@]}"
six matmul_tiled 1 2 3 4 9 15 "${small[@]}"

picture lesson --lesson 01-why-memory:2
picture flash2-toy --gpu toy --seq 16 --head-dim 4 --block-q 4 --block-kv 4
picture flash2-toy-light --gpu toy --seq 16 --head-dim 4 --block-q 4 --block-kv 4 --theme light
picture race-toy "${toy[@]}" --race --step 40
picture race-toy-light "${toy[@]}" --race --step 40 --theme light --size 1280x720
picture backward-stage "${toy[@]}" --algorithm flash2_backward --step 53
picture backward-two-pass "${toy[@]}" --algorithm flash2_backward_two_pass --step 49
picture backward-race "${toy[@]}" --algorithm flash2_backward --race-with flash2_backward_two_pass --step 60
both=heads=16\&seq=2048\&head_dim=128\&pass=both\&gpu=h200
picture memory-over-time --open "algorithm=flash2&$both&view=compare&pinned=algorithm%3Dstandard%26$(sed 's/&/%26/g; s/=/%3D/g' <<<"$both")"
h200=(--gpu h200 --heads 16 --seq 4096 --head-dim 64)
picture flash2-h200 "${h200[@]}" --step 200
picture flash2-h200-light "${h200[@]}" --step 200 --theme light --size 1280x720
picture race-h200 "${h200[@]}" --race --step 200
picture measured-hbm --algorithm standard --gpu h200 --heads 16 --seq 4096 --head-dim 64
picture measured-lanes --gpu h200 --heads 32 --seq 1024 --head-dim 64 --step 100
roles=(--panel timeline --gpu h100 --heads 16 --seq 2048 --head-dim 128)
picture roles-producer "${roles[@]}" --algorithm hopper_producer --size 1600x460 --step 426
picture roles-overlap "${roles[@]}" --algorithm hopper_overlap --size 1600x460 --step 426
picture measured-roles "${roles[@]}" --algorithm hopper_ping_pong --size 1600x460 --step 492
picture lanes-sm-toy "${toy[@]}" --lanes sms --step 22 --theme light --size 1280x720
picture lanes-sm-h200 "${h200[@]}" --lanes sms --step 200
for view in roofline what_if fit sweep validate; do
  picture "$view" "${h200[@]}" --view "$view"
done
picture validate-light "${h200[@]}" --view validate --theme light --size 1280x720
rungs=(--view ladder --gpu h100 --batch 4 --heads 16 --seq 4096 --head-dim 128 --causal)
picture ladder "${rungs[@]}"
picture ladder-code --open rung=hopper_ping_pong "${rungs[@]}"

# The maps of eight masks in one picture, with ImageMagick.
masks() { # name, then eight times: a caption and the presets, with blanks between them
  local name=$1 n=0 parts=() preset presets
  shift
  if [ "$only_shown" = yes ] && ! is_shown "$name"; then return; fi
  if ! command -v montage >/dev/null; then echo "$name: ImageMagick is not installed"; return; fi
  while [ $# -gt 0 ]; do
    presets=()
    for preset in $2; do presets+=(--preset "$preset"); done
    "$tilescope" render --panel mask --algorithm flex --gpu h200 --heads 4 --seq 2048 --head-dim 64 "${presets[@]}" --size 760x560 --out "$work/$n.png"
    parts+=(-label "$1" "$work/$n.png")
    n=$((n + 1))
    shift 2
  done
  montage "${parts[@]}" -crop 394x396+24+108 +repage -background '#151a27' -fill '#d8deee' -pointsize 22 -geometry 300x302+10+8 -tile 4x "$out/$name.png"
  echo "$out/$name.png"
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
masks masks causal causal "window of 300" sliding_window:window=300 "window and 64 sinks" attention_sink:sinks=64,window=300 \
  "prefix of 500" prefix_lm:prefix=500 "documents of 700" fixed_documents:length=700 "the same, causal" "causal fixed_documents:length=700" \
  "pictures: sliding tiles" sta:width=64,height=32,kernel=24,tile=8 "pictures: NATTEN" natten:width=64,height=32,kernel=13

if command -v pngquant >/dev/null; then
  pngquant --force --ext .png --quality 70-95 --skip-if-larger --speed 1 "$out"/*.png || true
fi
for file in "$out"/*.png; do
  if is_shown "$(basename "$file" .png)"; then cp "$file" docs/pictures/; fi
done
