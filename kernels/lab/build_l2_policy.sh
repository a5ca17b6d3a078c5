#!/usr/bin/env bash
# Builds tilescope_l2_policy on a GPU machine without CMake and our packages: needs only nvcc, g++ and the headers of {fmt}.
# Usage: kernels/lab/build_l2_policy.sh OUT_DIR     FMT_INCLUDE: folder with fmt/, if it is not the system's
#        CUDA_ARCH: GPU to compile for, 90 by default
set -euo pipefail
out=$1 arch=${CUDA_ARCH:-90}
cd "$(dirname "$0")/../.."
mkdir -p "$out"
toolkit=$(dirname "$(dirname "$(command -v nvcc)")")
flags=(-std=c++20 -O2 -I. -DFMT_HEADER_ONLY -DFMT_CONSTEVAL= -DFMT_USE_CONSTEXPR=1 "-DTILESCOPE_CUDA_LIBRARY_DIR=\"$toolkit/lib64\""
  -gencode "arch=compute_$arch,code=sm_$arch")
[ -n "${FMT_INCLUDE:-}" ] && flags+=(-isystem "$FMT_INCLUDE")
objects=()
for source in kernels/lab/l2_policy{,_places,_fabric,_reads,_writes,_rounds,_sets}.cpp kernels/lab/l2_{lab,sets}.cu kernels/device_cuda.cpp kernels/measure/flush.cu kernels/measure/counters.cpp \
  kernels/measure/counter_table.cpp kernels/measure/cupti_library.cpp; do
  object=$out/$(echo "$source" | tr / _).o
  objects+=("$object")
  nvcc "${flags[@]}" -c "$source" -o "$object" &
done
wait
nvcc -cudart static -o "$out/tilescope_l2_policy" "${objects[@]}" -ldl
echo "$out/tilescope_l2_policy"
