#!/usr/bin/env bash
# Runs the program that the recipes built: simulate and render must show what was added. Usage: run.sh TILESCOPE
set -eu
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$1" simulate --algorithm recipe_attention --seq 64 --json "$out/recipe.json" >"$out/table.txt"
grep -q '"algorithm": *"recipe_attention"' "$out/recipe.json"
grep -q 'Recipe attention' "$out/table.txt"
# It has no CUDA kernel, so the report says nothing about one.
"$1" simulate --algorithm recipe_attention --seq 64 --mask 'q - kv < 8' >"$out/masked.txt"
grep -q 'q - kv < 8' "$out/masked.txt"
if grep 'CUDA kernel' "$out/masked.txt"; then exit 1; fi
"$1" sweep --algorithm recipe_attention --over seq=32:64:x2 --csv "$out/sweep.csv" >/dev/null 2>&1
[ "$(grep -c '^recipe_attention,' "$out/sweep.csv")" = 2 ]
code=0
"$1" render --algorithm recipe_attention --out "$out/stage.png" 2>"$out/why.txt" >/dev/null || code=$?
if [ "$code" = 3 ]; then cat "$out/why.txt"; exit 77; fi
[ "$code" = 0 ]
"$1" render --algorithm recipe_attention --view recipe --out "$out/view.png" >/dev/null
"$1" render --algorithm recipe_attention --view recipe --language ko --out "$out/korean.png" >/dev/null
"$1" render --algorithm recipe_attention --view fit --out "$out/fit.png" >/dev/null
cmp -s "$out/view.png" "$out/stage.png" && { echo "the added view looks like the stage"; exit 1; }
head -c 8 "$out/view.png" | grep -q PNG
