// Measures how long each pass of softmax_safe and softmax_online takes a block, alone on its SM and beside others, and the latency
// of an L2 hit beside HBM traffic.
//
//   nvcc -O3 -std=c++20 --expt-relaxed-constexpr --expt-extended-lambda -arch=sm_90 -I. kernels/lab/row_passes.cu -o row_passes
//   ./row_passes
//
// Prints the mean cycles of each pass with its merge, the 10th and 90th percentile of the whole block, and the cycles of a hit
// while other blocks stream. `./row_passes variants` prints the time of long rows whose last pass writes, only reads, or reads four
// pieces a thread before it writes them; under a profiler it gives the HBM bytes of each.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

#include "kernels/calibrate/bench_timer.cuh"
#include "kernels/calibrate/random_chain.h"
#include "kernels/common/softmax_rows.cuh"

namespace {

using namespace tilescope;
using device::LadderRow, device::MaxSum, device::half_type;
using microbench::cycle_counter;

constexpr int warps = device::ladder_threads / 32;
constexpr std::int64_t buffer_bytes = std::int64_t{3} << 30, flush_bytes = std::int64_t{256} << 20;
enum class Passes { safe, online, safe_reads, safe_deep };
struct PassCycles {
  std::array<int, 3> of;
};

/// The last pass with four pieces of a thread in flight: all are read before the first is written.
__device__ __forceinline__ void write_deep(const LadderRow<half_type>& row, MaxSum all) {
  constexpr int deep = 4, step = device::ladder_threads * 8;
  const float inverse = 1.f / all.sum;
  for (int first = static_cast<int>(threadIdx.x) * 8; first < row.pitch; first += deep * step) {
    device::Piece<half_type> pieces[deep];
#pragma unroll
    for (int i = 0; i < deep; ++i)
      if (first + i * step < row.pitch) pieces[i].fetch(row.s + first + i * step);
#pragma unroll
    for (int i = 0; i < deep; ++i) {
      if (first + i * step >= row.pitch) continue;
#pragma unroll
      for (int k = 0; k < pieces[i].size; ++k)
        pieces[i].value[k] = device::from_float<half_type>(
            device::exp2_fast(device::to_float(pieces[i].value[k]) * device::log2_e - all.max) * inverse);
      pieces[i].write(row.p + first + i * step);
    }
  }
}

template <Passes passes>
__global__ __launch_bounds__(device::ladder_threads) void clocked_kernel(const device::LadderArguments arguments,
                                                                         PassCycles* cycles) {
  __shared__ float scratch[8];
  const LadderRow<half_type> row(arguments);
  PassCycles own{};
  std::int64_t start = cycle_counter();
  const auto ends = [&](int pass) {
    const std::int64_t now = cycle_counter();
    own.of[pass] = static_cast<int>(now - start);
    start = now;
  };
  const auto merged = [&](MaxSum part) { return device::merged(part, scratch, threadIdx.x / 32, 0, warps); };
  MaxSum part, sum;
  if constexpr (passes != Passes::online) {
    row.pass([&](float x) { part.max = fmaxf(part.max, x); });
    sum.max = merged(part).max;
    ends(0);
    row.pass([&](float x) { sum.sum += device::exp2_fast(x - sum.max); });
  } else {
    row.pass([&](float x) { sum.add(x); });
  }
  sum = merged(sum);
  ends(1);
  if constexpr (passes == Passes::safe_reads) {
    float last = 0;
    row.pass([&](float x) { last += device::exp2_fast(x - sum.max) * sum.sum; });
    if (last == 12345.f) row.p[threadIdx.x] = device::from_float<half_type>(last);
  } else if constexpr (passes == Passes::safe_deep) {
    write_deep(row, sum);
  } else {
    row.write(sum);
  }
  ends(2);
  if (threadIdx.x == 0) cycles[std::int64_t{blockIdx.y} * gridDim.x + blockIdx.x] = own;
}

/// Fills the L2 with other, clean lines.
__global__ void read_kernel(const uint4* from, std::int64_t count, std::uint32_t* never) {
  std::uint32_t sum = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += std::int64_t{gridDim.x} * blockDim.x)
    sum += __ldcg(from + i).x;
  if (sum == 0x12345678u) *never = sum;
}

struct Buffers {
  char *from = nullptr, *to = nullptr;
  PassCycles* cycles = nullptr;
  std::uint32_t* never = nullptr;
};
struct Shape {
  int heads, rows, keys;
};

template <Passes passes>
bool print_passes(const char* name, Shape shape, bool cold, const Buffers& buffers) {
  device::LadderArguments arguments{};
  arguments.s = buffers.from;
  arguments.p = buffers.to;
  arguments.seq_q = shape.rows;
  arguments.seq_kv = arguments.pitch = shape.keys;
  arguments.heads = arguments.kv_heads = shape.heads;
  cudaEvent_t before{}, after{};
  cudaEventCreate(&before);
  cudaEventCreate(&after);
  for (int repeat = 0; repeat < 3; ++repeat) {
    if (cold) {
      const char* const other = buffers.from + buffer_bytes - flush_bytes;
      read_kernel<<<1056, 256>>>(reinterpret_cast<const uint4*>(other), flush_bytes / 16, buffers.never);
    }
    cudaEventRecord(before);
    clocked_kernel<passes><<<dim3(shape.rows, shape.heads), device::ladder_threads>>>(arguments, buffers.cycles);
    cudaEventRecord(after);
  }
  std::vector<PassCycles> read(static_cast<std::size_t>(shape.rows) * shape.heads);
  if (const cudaError_t error = cudaMemcpy(read.data(), buffers.cycles, read.size() * sizeof(PassCycles), cudaMemcpyDeviceToHost)) {
    std::fprintf(stderr, "%s, %d rows of %d keys: %s\n", name, shape.rows, shape.keys, cudaGetErrorString(error));
    return false;
  }
  float milliseconds = 0;
  cudaEventElapsedTime(&milliseconds, before, after);
  cudaEventDestroy(before);
  cudaEventDestroy(after);
  std::array<double, 3> mean{};
  std::vector<int> whole, last;
  for (const PassCycles& block : read) {
    for (std::size_t pass = 0; pass < 3; ++pass) mean[pass] += block.of[pass] / static_cast<double>(read.size());
    whole.push_back(block.of[0] + block.of[1] + block.of[2]);
    last.push_back(block.of[2]);
  }
  std::sort(whole.begin(), whole.end());
  std::sort(last.begin(), last.end());
  std::printf("  %-11s%3d x %4d rows of %4d keys, %s  passes", name, shape.heads, shape.rows, shape.keys, cold ? "cold" : "warm");
  for (std::size_t pass = passes == Passes::online ? 1 : 0; pass < 3; ++pass) std::printf(" %6.0f", mean[pass]);
  std::printf("   block %d to %d, last pass %d to %d   %.1f us\n", whole[whole.size() / 10], whole[whole.size() * 9 / 10],
              last[last.size() / 10], last[last.size() * 9 / 10], milliseconds * 1e3);
  return true;
}

enum class Stream { nothing, reads, copies, writes, hits };
constexpr std::array stream_names = {"nothing", "reads of HBM", "copies", "writes", "reads of the L2"};
constexpr std::int64_t streamed_at_once = 2048;
constexpr int chain_lines = 1024, hops = 4000;

/// The first `chasers` blocks each follow a chain of lines in the L2; the other blocks stream for five million cycles.
template <Stream stream>
__global__ __launch_bounds__(128) void chase_kernel(const Buffers buffers, const std::uint32_t* chain, int chasers,
                                                    unsigned long long* waited, unsigned long long* moved) {
  if (static_cast<int>(blockIdx.x) < chasers) {
    if (threadIdx.x != 0) return;
    std::uint32_t at = blockIdx.x * 37 % chain_lines * 32;
    for (int hop = 0; hop < chain_lines; ++hop) at = __ldcg(chain + at);
    const std::int64_t start = cycle_counter();
    for (int hop = 0; hop < hops; ++hop) at = __ldcg(chain + at);
    atomicAdd(waited, static_cast<unsigned long long>(cycle_counter() - start));
    if (at == ~0u) *buffers.never = at;
    return;
  }
  const std::int64_t pieces = (stream == Stream::hits ? std::int64_t{20} << 20 : buffer_bytes) / streamed_at_once;
  const std::int64_t start = cycle_counter();
  std::uint32_t sum = 0;
  unsigned long long bytes = 0;
  for (std::int64_t piece = blockIdx.x - chasers; cycle_counter() - start < 5'000'000; piece += gridDim.x - chasers) {
    const std::int64_t at = piece % pieces * streamed_at_once + threadIdx.x * 16;
    uint4 v = make_uint4(sum, 1, 2, 3);
    if (stream != Stream::writes) v = __ldcg(reinterpret_cast<const uint4*>(buffers.from + at));
    if (stream == Stream::copies || stream == Stream::writes)
      *reinterpret_cast<uint4*>(buffers.to + at) = v;
    else
      sum += v.x;
    bytes += streamed_at_once;
  }
  if (sum == 0x12345678u) *buffers.never = sum;
  if (threadIdx.x == 0) atomicAdd(moved, bytes);
}

template <Stream stream>
bool print_chase(int sms, int blocks_per_sm, const Buffers& buffers, const std::uint32_t* chain, unsigned long long* counts) {
  cudaEvent_t before{}, after{};
  cudaEventCreate(&before);
  cudaEventCreate(&after);
  cudaMemset(counts, 0, 2 * sizeof(*counts));
  cudaEventRecord(before);
  chase_kernel<stream><<<sms*(1 + blocks_per_sm), 128>>>(buffers, chain, sms, counts, counts + 1);
  cudaEventRecord(after);
  std::array<unsigned long long, 2> read{};
  const cudaError_t error = cudaMemcpy(read.data(), counts, sizeof(read), cudaMemcpyDeviceToHost);
  float milliseconds = 1;
  cudaEventElapsedTime(&milliseconds, before, after);
  cudaEventDestroy(before);
  cudaEventDestroy(after);
  const char* const name = stream_names[static_cast<std::size_t>(stream)];
  if (error != cudaSuccess) {
    std::fprintf(stderr, "a chain beside %s: %s\n", name, cudaGetErrorString(error));
    return false;
  }
  std::printf("  beside %-16s%2d blocks an SM  %4.0f cycles a hop, %5.0f GB/s each way\n", name, blocks_per_sm,
              static_cast<double>(read[0]) / sms / hops, static_cast<double>(read[1]) / milliseconds / 1e6);
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  cudaDeviceProp device{};
  if (const cudaError_t error = cudaGetDeviceProperties(&device, 0)) {
    std::fprintf(stderr, "row_passes needs an NVIDIA GPU: %s\n", cudaGetErrorString(error));
    return 3;
  }
  const int sms = device.multiProcessorCount;
  Buffers buffers;
  std::uint32_t* chain = nullptr;
  unsigned long long* counts = nullptr;
  cudaMalloc(&buffers.from, buffer_bytes);
  cudaMalloc(&buffers.to, buffer_bytes);
  cudaMalloc(&buffers.cycles, std::size_t{1} << 21);
  cudaMalloc(&buffers.never, sizeof(std::uint32_t));
  cudaMalloc(&chain, chain_lines * 128);
  if (const cudaError_t error = cudaMalloc(&counts, 2 * sizeof(*counts))) {
    std::fprintf(stderr, "row_passes needs 6 GiB of the GPU's memory: %s\n", cudaGetErrorString(error));
    return 1;
  }
  cudaMemset(buffers.from, 0x3c, buffer_bytes);
  const std::vector<std::uint32_t> lines = microbench::random_chain(chain_lines);
  cudaMemcpy(chain, lines.data(), lines.size() * sizeof(lines[0]), cudaMemcpyHostToDevice);

  std::printf("%s\n\ncycles of a block\n", device.name);
  if (count > 1 && std::string_view(arguments[1]) == "variants") {
    bool fine = true;
    for (const Shape shape : {Shape{8, 3072, 3072}, Shape{4, 4096, 4096}, Shape{4, 4500, 4504}, Shape{4, 5000, 5000},
                              Shape{4, 5568, 5568}, Shape{4, 6144, 6144}, Shape{2, 7168, 7168}, Shape{1, 12288, 12288}}) {
      fine = fine && print_passes<Passes::safe>("safe", shape, true, buffers);
      fine = fine && print_passes<Passes::safe_reads>("safe reads", shape, true, buffers);
      fine = fine && print_passes<Passes::safe_deep>("safe deep", shape, true, buffers);
      fine = fine && print_passes<Passes::online>("online", shape, true, buffers);
    }
    return fine ? 0 : 1;
  }
  for (const bool cold : {false, true})
    for (const Shape shape : {Shape{1, sms, 1024}, Shape{1, sms, 4096}, Shape{1, sms, 8192}, Shape{1, 4 * sms, 4096},
                              Shape{1, 16 * sms, 4096}, Shape{16, 4096, 4096}, Shape{4, 5568, 5568}, Shape{2, 8192, 8192}}) {
      if (!cold && shape.rows > 16 * sms) continue;  // too large to stay in the L2
      if (!print_passes<Passes::online>("online", shape, cold, buffers)) return 1;
      if (!print_passes<Passes::safe>("safe", shape, cold, buffers)) return 1;
    }
  std::printf("\na hit of the L2, one warp of each SM\n");
  bool fine = print_chase<Stream::nothing>(sms, 0, buffers, chain, counts);
  for (const int blocks : {1, 2, 4, 8, 14}) fine = fine && print_chase<Stream::reads>(sms, blocks, buffers, chain, counts);
  for (const int blocks : {1, 2, 4, 8, 14}) fine = fine && print_chase<Stream::copies>(sms, blocks, buffers, chain, counts);
  for (const int blocks : {1, 2, 4, 8, 14}) fine = fine && print_chase<Stream::writes>(sms, blocks, buffers, chain, counts);
  for (const int blocks : {1, 2, 4, 8, 14}) fine = fine && print_chase<Stream::hits>(sms, blocks, buffers, chain, counts);
  return fine ? 0 : 1;
}
