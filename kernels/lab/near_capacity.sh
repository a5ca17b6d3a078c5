#!/usr/bin/env bash
# Counts the HBM traffic of kernels whose tensors are near the L2's capacity, launch by launch, at many addresses.
# Usage: kernels/lab/near_capacity.sh OUT_DIR     Needs nvcc, ncu and a python3 with PyTorch; FMT_INCLUDE as for build_gpu_check.sh.
set -euo pipefail
out=$1 root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
mkdir -p "$out"
kernels/build_gpu_check.sh "$out/build" >"$out/build.log" 2>&1
# Two metrics fit in one pass, and nothing is flushed: each launch finds the L2 as the launch before left it.
ncu --clock-control none --cache-control none --profile-from-start off --csv --page raw --print-units base \
  --metrics dram__bytes_read.sum,dram__bytes_write.sum --log-file "$out/ncu.csv" \
  python3 kernels/lab/near_capacity.py run "$out/build/libtilescope_bench.so"
python3 kernels/lab/near_capacity.py table "$out/ncu.csv"
