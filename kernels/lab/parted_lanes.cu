// Measures what divergence costs a warp when it merges its part of a row: clocks in copies of softmax_safe and softmax_online, for
// rows that fill the last iteration of their warps (multiples of 256 keys) and rows that do not.
//
//   nvcc -O3 -std=c++20 --expt-relaxed-constexpr --expt-extended-lambda -arch=sm_90 -I. kernels/lab/parted_lanes.cu -o lanes
//   ./lanes
//
// Prints the cycles from the end of the pass to the end of each merge, for blocks alone on their SM and for full SMs. The warp with
// the shortest time counts, since the others wait for it.
#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "kernels/calibrate/bench_timer.cuh"
#include "kernels/common/softmax_rows.cuh"

namespace {

using namespace tilescope;
using device::LadderRow, device::MaxSum, device::half_type;

constexpr int warps = device::ladder_threads / 32;
enum class Passes { safe, online };
struct Merges {
  std::array<int, 2> cycles;
};

template <Passes passes>
__global__ __launch_bounds__(device::ladder_threads) void clocked_kernel(const device::LadderArguments arguments, Merges* merges) {
  __shared__ float scratch[8];
  const LadderRow<half_type> row(arguments);
  const int warp = threadIdx.x / 32;
  Merges own{};
  const auto clocked = [&](MaxSum part, int which) {
    const std::int64_t start = microbench::cycle_counter();
    const MaxSum all = device::merged(part, scratch, warp, 0, warps);
    own.cycles[which] = static_cast<int>(microbench::cycle_counter() - start);
    return all;
  };
  MaxSum part, sum;
  if constexpr (passes == Passes::safe) {
    row.pass([&](float x) { part.max = fmaxf(part.max, x); });
    sum.max = clocked(part, 0).max;
    row.pass([&](float x) { sum.sum += device::exp2_fast(x - sum.max); });
  } else {
    row.pass([&](float x) { sum.add(x); });
  }
  row.write(clocked(sum, 1));
  if (threadIdx.x % 32 == 0) merges[blockIdx.x * warps + warp] = own;
}

template <Passes passes>
bool print_row(const char* name, int rows, int keys, void* scores, void* results, Merges* merges) {
  device::LadderArguments arguments{};
  arguments.s = scores;
  arguments.p = results;
  arguments.seq_q = rows;
  arguments.seq_kv = arguments.pitch = keys;
  arguments.heads = arguments.kv_heads = 1;
  for (int repeat = 0; repeat < 3; ++repeat) clocked_kernel<passes><<<rows, device::ladder_threads>>>(arguments, merges);
  std::vector<Merges> read(static_cast<std::size_t>(rows) * warps);
  if (const cudaError_t error = cudaMemcpy(read.data(), merges, read.size() * sizeof(Merges), cudaMemcpyDeviceToHost)) {
    std::fprintf(stderr, "%s with %d rows of %d keys: %s\n", name, rows, keys, cudaGetErrorString(error));
    return false;
  }
  std::printf("  %-8s%6d blocks %5d keys%s  merges", name, rows, keys, keys % 256 == 0 ? "        " : ", parted");
  for (int which = passes == Passes::safe ? 0 : 1; which < 2; ++which) {
    double least = 1e9;
    for (int warp = 0; warp < warps; ++warp) {
      std::vector<double> cycles;
      for (int block = 0; block < rows; ++block)
        cycles.push_back(read[static_cast<std::size_t>(block * warps + warp)].cycles[static_cast<std::size_t>(which)]);
      least = std::min(least, microbench::median(std::move(cycles)));
    }
    std::printf(" %5.0f", least);
  }
  std::printf("\n");
  return true;
}

}  // namespace

int main() {
  cudaDeviceProp device{};
  if (const cudaError_t error = cudaGetDeviceProperties(&device, 0)) {
    std::fprintf(stderr, "parted_lanes needs an NVIDIA GPU: %s\n", cudaGetErrorString(error));
    return 3;
  }
  std::printf("%s, cycles\n", device.name);
  constexpr int most_rows = 21120, most_keys = 1024;
  void *scores = nullptr, *results = nullptr, *merges = nullptr;
  cudaMalloc(&scores, std::size_t{most_rows} * most_keys * 2);
  cudaMalloc(&results, std::size_t{most_rows} * most_keys * 2);
  cudaMalloc(&merges, std::size_t{most_rows} * warps * sizeof(Merges));
  cudaMemset(scores, 0, std::size_t{most_rows} * most_keys * 2);
  for (const int rows : {device.multiProcessorCount, most_rows})
    for (const int keys : {256, 512, 768, 1024, 192, 320, 448, 576, 808}) {
      auto* const to = static_cast<Merges*>(merges);
      if (!print_row<Passes::safe>("safe", rows, keys, scores, results, to)) return 1;
      if (!print_row<Passes::online>("online", rows, keys, scores, results, to)) return 1;
    }
}
