#!/usr/bin/env bash
# Records on an NVIDIA GPU all that is committed about the kernels: correctness, needs, counters, speed beside PyTorch, sanitizers, the
# suite, probes and samples. Takes about eleven minutes on an H200.
#
# Usage: kernels/lab/measured/record.sh OUT TILESCOPE COMMIT
#   OUT        folder for <gpu>.txt, <gpu>-pytorch.json, <gpu>.json, and <gpu>-seen.tar with <gpu>-probe-*.json and <gpu>-hbm-*.json
#   TILESCOPE  the program, built with CUDA     COMMIT  the commit that it was built from
# Needs nvcc, g++, compute-sanitizer, and a python3 with PyTorch and Triton. Where {fmt} and nlohmann-json are not installed: FMT_INCLUDE.
# The text goes to kernels/lab/measured/<gpu>-DATE.txt, <gpu>-pytorch.json beside it, the others to
# assets/measured/, the tar unpacked; then kernels/lab/write_tables.py brings docs/measuring.md up to date.
set -uo pipefail
cd "$(dirname "$0")/../../.."
out=$1 program=$2 commit=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1 | sed 's/NVIDIA //; s/GeForce //' | tr 'A-Z' 'a-z' | cut -d' ' -f1)
check=$work/tilescope_gpu_check
text=$out/$gpu.txt
seen=$work/seen
mkdir -p "$seen"
shape_columns=170

heading() { printf '\n%s\n' "$1"; shift; for command in "$@"; do printf '   $ %s\n' "$command"; done; printf '\n'; }
indent() { sed 's/^/   /; s/ *$//'; }

# Runs all four tools in parallel; each prints how it ended.
sanitize() {
  local name=$1 pids=() tool summary
  shift
  for tool in memcheck initcheck synccheck racecheck; do
    timeout -k 5 150 compute-sanitizer --tool $tool "$@" > "$work/$name.$tool" 2>&1 & pids+=($!)
  done
  wait "${pids[@]}"
  for tool in memcheck initcheck synccheck racecheck; do
    summary=$(grep "SUMMARY" "$work/$name.$tool" | sed 's/=* *//')
    printf '   %-10s %-10s %s\n' "$name" $tool "${summary:-did not end within 150 s}"
  done
}

kernels/build_gpu_check.sh "$work" > "$work/build.txt" 2>&1 || { cat "$work/build.txt"; exit 1; }
"$check" --shapes 80 --needs > "$work/checks.txt"
"$check" --shapes 40 --probed > "$work/probed.txt"
"$check" --shapes 1 --counters > "$work/counters.txt"
{
  echo "What an $(nvidia-smi --query-gpu=name --format=csv,noheader | head -1) said about the kernels of commit $commit, $(date -u +%Y-%m-%d)" \
    "(driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1), $(nvcc --version | grep -o 'release [0-9.]*'))"
  heading "1. Correctness: every kernel against float64, random shapes, outputs poisoned with NaNs; then those with the probe compiled in" \
    "tilescope_gpu_check --shapes 80" "tilescope_gpu_check --shapes 40 --probed"
  grep -v "^needs" "$work/checks.txt" | indent
  grep "probed" "$work/probed.txt" | indent
  heading "2. What the compiler made of them (local: bytes of local memory, which are spills)" "tilescope_gpu_check --needs"
  grep "^needs" "$work/checks.txt" | indent
  heading "3. Bytes between L2 and SMs: counter of what the tile program says, to the sector" "tilescope_gpu_check --counters"
  grep "^counters" "$work/counters.txt" | sed 's/^counters //; s/ hbm_read_bytes.*//' | cut -c1-$shape_columns | indent
  heading "4. Beside PyTorch, in one run, fp16 forward, 16k tokens, hidden size 2048; medians" "python3 kernels/lab/beside_pytorch.py libtilescope_bench.so"
  python3 kernels/lab/beside_pytorch.py "$work/libtilescope_bench.so" "$out/$gpu-pytorch.json" 2>&1 | indent
} > "$text"

"$program" measure --suite default --commit "$commit" --json "$out/$gpu.json" 2> "$work/suite.txt"
{
  heading "5. The suite: median time from a cold L2, and what it cost to measure" "tilescope measure --suite default --json $gpu.json"
  indent < "$work/suite.txt"
} >> "$text"
{
  heading "6. Probe and samples" "tilescope measure --probe FILE [--probe-block B --probe-row R], --samples FILE"
  probe() { local name=$1; shift; "$program" measure "$@" --commit "$commit" --probe "$seen/$gpu-probe-$name.json"; }
  probe flash2-d64 --heads 32 --seq 1024
  probe flash2-d128-causal --heads 16 --seq 2048 --head-dim 128 --causal --probe-block 13 --probe-row 77
  probe flash2-bf16-d64 --heads 32 --seq 1024 --dtype bf16 --probe-block 5 --probe-row 40
  probe flash1-d64 --algorithm flash1 --heads 32 --seq 512 --probe-block 3 --probe-row 200
  probe standard-d64 --algorithm standard --heads 8 --seq 1024 --probe-block 40 --probe-row 2
  "$program" measure --heads 8 --seq 16384 --commit "$commit" --samples "$seen/$gpu-hbm-flash2.json"
  "$program" measure --algorithm standard --heads 16 --seq 4096 --commit "$commit" --samples "$seen/$gpu-hbm-standard.json"
} 2>&1 | indent >> "$text"
tar cf "$out/$gpu-seen.tar" -C "$seen" .
{
  heading "7. Sanitizers: all kernels, 8 ragged shapes each, plain and probed; every micro-benchmark, hardly any work of each" \
    "compute-sanitizer --tool TOOL tilescope_gpu_check --tiny --shapes 8 --seed 7 [--probed]" "compute-sanitizer --tool TOOL tilescope calibrate --brief"
  sanitize plain "$check" --tiny --shapes 8 --seed 7
  sanitize probed "$check" --tiny --shapes 8 --seed 7 --probed
  sanitize calibrate "$program" calibrate --brief
} >> "$text"
grep -E "agree|mean of|SUMMARY|^   .*(errors|hazards)|cases in|cost" "$text"
