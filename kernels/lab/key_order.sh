#!/usr/bin/env bash
# Measures how the order of the key tiles changes HBM traffic: flash2 against flash2_descending, which starts at the diagonal.
# Usage: kernels/lab/key_order.sh OUT_DIR     Needs nvcc, ncu and a python3 with PyTorch; FMT_INCLUDE as for build_gpu_check.sh.
# h200-key-order-2026-11-23.txt was recorded with an earlier build of the descending kernel, which spilled up to 13 registers.
set -euo pipefail
out=$1 root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
kernels/build_gpu_check.sh "$out" >"$out.log" 2>&1
for kernel in flash2 flash2_descending; do
  echo "== $kernel"
  python3 kernels/lab/key_order.py "$out/libtilescope_bench.so" "$kernel"
  ncu --clock-control none --cache-control all -k regex:flash2 --metrics dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_op_read.sum \
    python3 kernels/lab/key_order.py "$out/libtilescope_bench.so" "$kernel" 2>&1 | grep -E 'shape|dram__|lts__'
done
