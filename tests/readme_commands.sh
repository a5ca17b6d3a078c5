#!/usr/bin/env bash
# Runs every `tilescope` command that stands in a fenced block of the README and of docs/, so that none of them can rot.
# Usage: readme_commands.sh SOURCE_DIR TILESCOPE
set -euo pipefail
source_dir=$1
tilescope=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir docs  # where the commands of the docs write to
# A bundle of a few cases stands in for the whole ones, of which a single `validate` takes minutes of both cores.
cp -r "$source_dir/assets" assets
cp "$source_dir/tests/few_cases.json" assets/measured/h200.json
sed 's/"gpu": "h200"/"gpu": "h100"/' "$source_dir/tests/few_cases.json" > assets/measured/h100.json
export TILESCOPE_ASSETS=$work/assets

count=0
while IFS= read -r line; do
  arguments=${line#build/release/tilescope}
  echo "$ tilescope$arguments"
  # Commands that need a GPU or a display are shown in the docs, but cannot be held to exit code 0 here.
  case "$arguments" in "" | " measure"* | " calibrate"*) continue ;; esac
  status=0
  eval "\"$tilescope\"$arguments" >"$work/output" 2>&1 || status=$?
  # validate answers 1 where a case is beyond its bound, which is a result.
  case "$arguments" in " validate"*) [ "$status" -le 1 ] && status=0 ;; esac
  [ "$status" = 0 ] || { cat "$work/output"; echo "failed: $line"; exit 1; }
  count=$((count + 1))
done < <(awk '/^```sh/ {inside = 1; next} /^```/ {inside = 0} inside && /^build\/release\/tilescope/ {sub(/ +# .*/, ""); print}' \
  "$source_dir/README.md" "$source_dir"/docs/*.md)

[ "$count" -gt 0 ] || { echo "no command found in the README"; exit 1; }
echo "$count commands ran"
