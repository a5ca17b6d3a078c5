#!/usr/bin/env bash
# Builds the ladder's kernels as a library and runs kernels/lab/beside_ladder.py with it. Needs nvcc, PyTorch and a Hopper GPU.
#
# Usage: kernels/lab/beside_ladder.sh OUT.json [ideas|check [NAME...]|unmasked]
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compile() {
  nvcc -std=c++20 -O3 -DNDEBUG "$1" -I. -Xcompiler -fPIC -c -o "$2/$(basename "$3").o" "$3"
}
export -f compile
{
  for source in kernels/hopper_*/*.cu kernels/common/hopper_plan.cu kernels/lab/ladder_*.cu; do
    echo "-gencode=arch=compute_90a,code=sm_90a $work $source"
  done
  for source in kernels/flash2/*.cu kernels/flash2_longest/*.cu; do echo "-arch=sm_90 $work $source"; done
} | xargs -P "$(nproc)" -L 1 bash -c 'compile "$@"' _
nvcc -shared -o "$work/ladder.so" "$work"/*.o
python3 kernels/lab/beside_ladder.py "$work/ladder.so" "$@"
