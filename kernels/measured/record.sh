#!/usr/bin/env bash
# Records on an NVIDIA GPU all that is committed about the kernels: correctness, needs, counters, speed beside PyTorch, sanitizers, the
# suite, probes and samples. Takes about four minutes on an H200.
#
# Usage: kernels/measured/record.sh OUT TILESCOPE COMMIT
#   OUT        folder for <gpu>.txt, <gpu>-pytorch.json, <gpu>.json, <gpu>-probe-*.json and <gpu>-hbm-*.json
#   TILESCOPE  the program, built with CUDA     COMMIT  the commit that it was built from
# Needs nvcc, g++, compute-sanitizer, and a python3 with PyTorch and Triton. Where {fmt} and nlohmann-json are not installed: FMT_INCLUDE.
# The text goes to kernels/measured/<gpu>-DATE.txt, <gpu>-pytorch.json beside it, the others to assets/measured/; then
# kernels/bench/write_tables.py brings docs/measuring.md up to date.
set -uo pipefail
cd "$(dirname "$0")/../.."
out=$1 program=$2 commit=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | sed 's/NVIDIA //; s/GeForce //' | tr 'A-Z' 'a-z' | cut -d' ' -f1)
check=$work/tilescope_gpu_check
text=$out/$gpu.txt
shape_columns=170

heading() { printf '\n%s\n' "$1"; shift; for command in "$@"; do printf '   $ %s\n' "$command"; done; printf '\n'; }
indent() { sed 's/^/   /; s/ *$//'; }

kernels/build_gpu_check.sh "$work" > "$work/build.txt" 2>&1 || { cat "$work/build.txt"; exit 1; }
"$check" --shapes 80 --needs > "$work/checks.txt"
"$check" --shapes 1 --counters > "$work/counters.txt"
{
  echo "What an $(nvidia-smi --query-gpu=name --format=csv,noheader | head -1) said about the kernels of commit $commit, $(date -u +%Y-%m-%d)" \
    "(driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1), $(nvcc --version | grep -o 'release [0-9.]*'))"
  heading "1. Correctness: every kernel against float64, random shapes, outputs poisoned with NaNs" "tilescope_gpu_check --shapes 80"
  grep -v "^needs" "$work/checks.txt" | indent
  heading "2. What the compiler made of them (local: bytes of local memory, which are spills)" "tilescope_gpu_check --needs"
  grep "^needs" "$work/checks.txt" | indent
  heading "3. Bytes between L2 and SMs: counter of what the tile program says, to the sector" "tilescope_gpu_check --counters"
  grep "^counters" "$work/counters.txt" | sed 's/^counters //; s/ hbm_read_bytes.*//' | cut -c1-$shape_columns | indent
  heading "4. Beside PyTorch, in one run, fp16 forward, 16k tokens, hidden size 2048; medians" "python3 kernels/bench/beside_pytorch.py libtilescope_bench.so"
  python3 kernels/bench/beside_pytorch.py "$work/libtilescope_bench.so" "$out/$gpu-pytorch.json" 2>&1 | indent
  heading "5. Sanitizers: all kernels, 8 ragged shapes each" "compute-sanitizer --tool TOOL tilescope_gpu_check --tiny --shapes 8 --seed 7"
  for tool in memcheck initcheck synccheck racecheck; do
    summary=$(timeout 150 compute-sanitizer --tool $tool "$check" --tiny --shapes 8 --seed 7 2>&1 | grep -E "SUMMARY" | sed 's/=* *//')
    printf '   %-10s %s\n' $tool "${summary:-did not end within 150 s}"
  done
} > "$text"

"$program" measure --suite default --commit "$commit" --json "$out/$gpu.json" 2> "$work/suite.txt"
{
  heading "6. The suite: median time from a cold L2, and what it cost to measure" "tilescope measure --suite default --json $gpu.json"
  indent < "$work/suite.txt"
} >> "$text"
{
  heading "7. Probe and samples" "tilescope measure --probe FILE, --samples FILE"
  "$program" measure --heads 32 --seq 1024 --commit "$commit" --probe "$out/$gpu-probe-flash2-d64.json"
  "$program" measure --heads 16 --seq 2048 --head-dim 128 --causal --commit "$commit" --probe "$out/$gpu-probe-flash2-d128-causal.json"
  "$program" measure --heads 8 --seq 16384 --commit "$commit" --samples "$out/$gpu-hbm-flash2.json"
  "$program" measure --algorithm standard --heads 16 --seq 4096 --commit "$commit" --samples "$out/$gpu-hbm-standard.json"
} 2>&1 | indent >> "$text"
grep -E "agree|mean of|SUMMARY|^   .*(errors|hazards)|cases in|cost" "$text"
