#!/usr/bin/env bash
# Builds tilescope_gpu_check and libtilescope_bench.so on a GPU machine without CMake and our packages: needs nvcc, g++, {fmt} and
# nlohmann-json.
# Usage: kernels/build_gpu_check.sh [OUT_DIR]     FMT_INCLUDE: folder with fmt/ and nlohmann/, if they are not the system's
#        CUDA_ARCH: GPU to compile for, 90 by default
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/gpu_check}
arch=${CUDA_ARCH:-90}
cd "$root"
mkdir -p "$out"

flags=(-std=c++20 -O3 -I. -DFMT_HEADER_ONLY -DFMT_CONSTEVAL= -Xcompiler -fPIC -gencode "arch=compute_$arch,code=sm_$arch")
[ -n "${FMT_INCLUDE:-}" ] && flags+=(-isystem "$FMT_INCLUDE")
toolkit=$(dirname "$(dirname "$(command -v nvcc)")")
flags+=("-DTILESCOPE_CUDA_LIBRARY_DIR=\"$toolkit/lib64\"")

sources=(kernels/device_cuda.cpp kernels/kernel_table.cpp kernels/kernel_traffic.cpp kernels/lab/bench_library.cpp tests/gpu/gpu_check.cpp
  sim/core/attention_problem.cpp sim/core/element.cpp sim/core/reference.cpp sim/core/reference_gradients.cpp sim/core/sentence.cpp sim/core/tensor.cpp sim/core/document.cpp sim/core/text.cpp
  sim/masks/mask.cpp "$out/kernel_profiles.cpp")
awk -f cmake/kernel_profiles.awk kernels/*/profile.toml >"$out/kernel_profiles.cpp"
mapfile -t more < <(find kernels -name '*.cu' ! -path 'kernels/lab/*' ! -path 'kernels/calibrate/*'; ls kernels/measure/*.cpp sim/programs/*.cpp)
sources+=("${more[@]}")

objects=()
for source in "${sources[@]}"; do
  object=$out/$(echo "$source" | tr / _).o
  objects+=("$object")
  echo "$source $object"
done | xargs -P "$(nproc)" -L 1 bash -c 'nvcc '"$(printf '%q ' "${flags[@]}")"' -c "$0" -o "$1"'
for source in "${sources[@]}"; do objects+=("$out/$(echo "$source" | tr / _).o"); done

check=("${objects[@]/*bench_library*/}")
library=("${objects[@]/*gpu_check.cpp.o/}")
nvcc -cudart static -o "$out/tilescope_gpu_check" ${check[@]} -ldl
nvcc -shared -cudart static -o "$out/libtilescope_bench.so" ${library[@]} -ldl
echo "$out/tilescope_gpu_check"
