#!/usr/bin/env bash
# Builds tilescope_gpu_check, tilescope_record_suite, tilescope_record_probes, tilescope_stall_cycles and libtilescope_bench.so on a GPU machine without our packages:
# needs nvcc, g++, cmake, {fmt} and nlohmann-json.
# Usage: kernels/build_gpu_check.sh [OUT_DIR]     FMT_INCLUDE: folder with fmt/ and nlohmann/, if they are not the system's
#        CUDA_ARCH: GPU to compile for, 90 by default
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-$root/build/gpu_check}
arch=${CUDA_ARCH:-90}
cd "$root"
mkdir -p "$out"

flags=(-std=c++20 -O3 -I. -DFMT_HEADER_ONLY -DFMT_CONSTEVAL= -DFMT_USE_CONSTEXPR=1 -Xcompiler -fPIC -gencode "arch=compute_$arch,code=sm_$arch")
[ -n "${FMT_INCLUDE:-}" ] && flags+=(-isystem "$FMT_INCLUDE")
toolkit=$(dirname "$(dirname "$(command -v nvcc)")")
flags+=("-DTILESCOPE_CUDA_LIBRARY_DIR=\"$toolkit/lib64\"")

sources=(kernels/device_cuda.cpp kernels/device_error.cpp kernels/kernel_table.cpp kernels/kernel_traffic.cpp kernels/lab/bench_library.cpp kernels/lab/record_probes.cpp kernels/lab/record_suite.cpp kernels/lab/stall_cycles.cpp tests/gpu/gpu_check.cpp
  sim/core/attention_problem.cpp sim/core/csv.cpp sim/core/element.cpp sim/core/mask.cpp sim/core/npy.cpp sim/reference/attention_reference.cpp sim/reference/reference_gradients.cpp sim/core/sentence.cpp sim/core/tensor.cpp sim/core/page_table.cpp sim/core/document.cpp sim/core/text.cpp
  kernels/flex/flex.cpp kernels/flex/flex_text.cpp kernels/flex/nvrtc_library.cpp "$out/kernel_profiles.cpp" "$out/function_costs.cpp" "$out/flex_spills.cpp" "$out/embedded_kernels.cpp")
run_time_sources=$(sed -n '/set(run_time_sources/,/)/p' kernels/CMakeLists.txt | grep -oE '(kernels|sim)/[a-z0-9_/]*\.[a-z]*' | paste -sd ';')
cmake "-DOUTPUT=$out/embedded_kernels.cpp" "-DROOT=$root" "-DSOURCES=$run_time_sources" -P cmake/embed_kernels.cmake
awk -f cmake/kernel_profiles.awk kernels/*/profile.toml >"$out/kernel_profiles.cpp"
newest() { ls "kernels/lab/measured/h100-$1-"*.txt | sort | tail -n 1; }
awk -f cmake/function_costs.awk "$(newest flex-functions)" >"$out/function_costs.cpp"
awk -f cmake/flex_spills.awk kernels/flex/spills.txt >"$out/flex_spills.cpp"
mapfile -t more < <(find kernels -name '*.cu' ! -path 'kernels/lab/*' ! -path 'kernels/calibrate/*' ! -name '*_default.cu' ! -path 'kernels/hopper_*' ! -name flash3_backward.cu ! -name hopper_plan.cu; ls kernels/measure/*.cpp sim/programs/*.cpp sim/masks/*.cpp sim/numerics/*.cpp)
sources+=("${more[@]}")
mapfile -t hopper < <(ls kernels/common/hopper_plan.cu kernels/hopper_*/*.cu kernels/flash3_backward/flash3_backward.cu | grep -v _default)  # need code for sm_90a

objects=()
for source in "${sources[@]}"; do
  object=$out/$(echo "$source" | tr / _).o
  objects+=("$object")
  echo "$source $object"
done | xargs -P "$(nproc)" -L 1 bash -c 'nvcc '"$(printf '%q ' "${flags[@]}")"' -c "$0" -o "$1"'
for source in "${hopper[@]}"; do
  echo "$source $out/$(echo "$source" | tr / _).o"
done | xargs -P "$(nproc)" -L 1 bash -c 'nvcc '"$(printf '%q ' "${flags[@]//compute_$arch,code=sm_$arch/compute_90a,code=sm_90a}")"' -c "$0" -o "$1"'
sources+=("${hopper[@]}")
for source in "${sources[@]}"; do objects+=("$out/$(echo "$source" | tr / _).o"); done

mapfile -t common < <(printf '%s\n' "${objects[@]}" | grep -v -e bench_library -e record_suite -e record_probes -e stall_cycles -e gpu_check.cpp.o)
object_of() { echo "$out/$(echo "$1" | tr / _).o"; }
nvcc -cudart static -o "$out/tilescope_gpu_check" "${common[@]}" "$(object_of tests/gpu/gpu_check.cpp)" -ldl
nvcc -cudart static -o "$out/tilescope_record_suite" "${common[@]}" "$(object_of kernels/lab/record_suite.cpp)" -ldl
nvcc -cudart static -o "$out/tilescope_record_probes" "${common[@]}" "$(object_of kernels/lab/record_probes.cpp)" -ldl
nvcc -cudart static -o "$out/tilescope_stall_cycles" "${common[@]}" "$(object_of kernels/lab/stall_cycles.cpp)" -ldl
nvcc -shared -cudart static -o "$out/libtilescope_bench.so" "${common[@]}" "$(object_of kernels/lab/bench_library.cpp)" -ldl
echo "$out/tilescope_gpu_check"
