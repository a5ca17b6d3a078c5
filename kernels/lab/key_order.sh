#!/usr/bin/env bash
# Measures what the order of the key tiles does to HBM: flash2 as it is, and with key_order.patch, which starts at the diagonal.
# Usage: kernels/lab/key_order.sh OUT_DIR     Needs nvcc, ncu, and a python3 with PyTorch; FMT_INCLUDE as for build_gpu_check.sh.
set -euo pipefail
out=$1 root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
kernels/build_gpu_check.sh "$out/ascending" >"$out/ascending.log" 2>&1
rm -rf "$out/tree" && cp -r "$root" "$out/tree"
(cd "$out/tree" && patch -p1 <kernels/lab/key_order.patch && kernels/build_gpu_check.sh "$out/descending" >"$out/descending.log" 2>&1)
for order in ascending descending; do
  echo "== $order"
  python3 kernels/lab/key_order.py "$out/$order/libtilescope_bench.so"
  ncu --clock-control none --cache-control all -k regex:flash2 --metrics dram__bytes_read.sum,dram__bytes_write.sum,lts__t_sectors_op_read.sum \
    python3 kernels/lab/key_order.py "$out/$order/libtilescope_bench.so" 2>&1 | grep -E 'shape|dram__|lts__'
done
