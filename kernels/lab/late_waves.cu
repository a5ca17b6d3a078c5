// Measures how long blocks of flash2 take in the first and in later waves, alone on an SM and beside a neighbour.
//
//   nvcc -O3 -std=c++20 --expt-relaxed-constexpr --expt-extended-lambda -arch=sm_90 -I. kernels/lab/late_waves.cu -o late_waves
//   ./late_waves
//
// Prints, for each shape: the time of the launch; the mean cycles of a block in the first and in later waves; how far apart the two
// blocks of an SM start; and the mean cycles of each stage of a block's first warp. `ends` records only start and end, so it shows
// what the stamps of `stages` cost. `cold` reads Q, K and V from HBM, `warm` from the L2.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <vector>

#include "kernels/calibrate/bench_timer.cuh"
#include "kernels/flash2/flash2_kernel.cuh"

namespace {

using namespace tilescope;
using microbench::cycle_counter, microbench::median;

constexpr int stage_count = 12;
struct BlockStamps {
  unsigned long long start, end;
  unsigned sm, first_warp;                 // the SM and the first of its warp slots
  unsigned long long stages[stage_count];  // when each stage of the first warp began; 0: not recorded
};

/// Records when a block starts and ends, and with `stages` when its first warp begins each stage of the first key tile.
template <bool stages>
class Stamps {
 public:
  struct Arguments {
    BlockStamps* blocks;
  };
  template <class Own>
  struct Launch : Own {
    Arguments stamps;
  };
  static constexpr bool on = false;
  template <class Own>
  __device__ __forceinline__ Stamps(const Launch<Own>& launched, int, int, int) : arguments_(launched.stamps) {
    if (threadIdx.x != 0) return;
    BlockStamps& own = block();
    own.start = static_cast<unsigned long long>(cycle_counter());
    asm volatile("mov.u32 %0, %%smid;" : "=r"(own.sm));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(own.first_warp));
  }
  __device__ __forceinline__ void tick(int tile, int event) const {
    if (stages && threadIdx.x == 0 && tile == 0) block().stages[1 + event] = static_cast<unsigned long long>(cycle_counter());
  }
  __device__ __forceinline__ void mark(int event) const {
    if (stages && threadIdx.x == 0) block().stages[event == 0 ? 0 : 6 + event] = static_cast<unsigned long long>(cycle_counter());
  }
  __device__ __forceinline__ void statistics(int, int, float, float) const {}
  __device__ __forceinline__ void sums(int, int, float) const {}
  __device__ __forceinline__ void end() const {
    __syncthreads();
    if (threadIdx.x == 0) block().end = static_cast<unsigned long long>(cycle_counter());
  }

 private:
  __device__ __forceinline__ BlockStamps& block() const {
    return arguments_.blocks[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x];
  }
  const Arguments& arguments_;
};

struct Shape {
  int d, heads, rows, keys;
};
struct Buffers {
  char *q = nullptr, *k = nullptr, *v = nullptr, *o = nullptr, *flush = nullptr;
  float* lse = nullptr;
  BlockStamps* blocks = nullptr;
  std::uint32_t* never = nullptr;
};
constexpr std::int64_t tensor_bytes = std::int64_t{256} << 20, flush_bytes = std::int64_t{256} << 20;
constexpr int most_blocks = 1 << 14;

__global__ void read_kernel(const uint4* from, std::int64_t count, std::uint32_t* never) {
  std::uint32_t sum = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += std::int64_t{gridDim.x} * blockDim.x)
    sum += __ldcg(from + i).x;
  if (sum == 0x12345678u) *never = sum;
}

/// Fills with fp16 numbers of -1 to 1.
__global__ void fill_kernel(__half* to, std::int64_t count, unsigned seed) {
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += std::int64_t{gridDim.x} * blockDim.x) {
    unsigned x = static_cast<unsigned>(i) * 2654435761u + seed;
    x ^= x >> 15, x *= 2246822519u, x ^= x >> 13;
    to[i] = __float2half(static_cast<float>(x & 0xffff) / 32768.f - 1.f);
  }
}

/// Prints what the blocks of one launch recorded. `per_sm` blocks fit an SM.
void print_blocks(const std::vector<BlockStamps>& blocks, int per_sm, bool stages) {
  std::map<unsigned, std::vector<const BlockStamps*>> of_sm;
  for (const BlockStamps& block : blocks) of_sm[block.sm].push_back(&block);
  std::vector<double> first[2], later, apart, gaps;
  std::array<double, 10> phase_sum{};
  std::array<int, 10> phase_count{};
  double stage_sum[2][stage_count] = {};
  int stage_blocks[2] = {};
  for (auto& [sm, list] : of_sm) {
    std::sort(list.begin(), list.end(), [](const auto* a, const auto* b) { return a->start < b->start; });
    std::vector<const BlockStamps*> initial(list.begin(), list.begin() + std::min<std::size_t>(list.size(), per_sm));
    std::sort(initial.begin(), initial.end(), [](const auto* a, const auto* b) { return a->first_warp < b->first_warp; });
    for (std::size_t i = 0; i < list.size(); ++i) {
      const BlockStamps& block = *list[i];
      const double cycles = static_cast<double>(block.end - block.start);
      const bool is_first = i < static_cast<std::size_t>(per_sm);
      if (is_first)
        first[std::min<std::size_t>(1, std::find(initial.begin(), initial.end(), &block) - initial.begin())].push_back(cycles);
      // A later block counts only where every slot stays in use until it ends.
      const bool is_inside = !is_first && i + per_sm < list.size() + 1 && list.back()->start >= block.start;
      const bool full = i + 1 < list.size() || per_sm == 1;
      if (!is_first && full && is_inside) {
        later.push_back(cycles);
        const double from_previous = static_cast<double>(block.start - list[i - 1]->start);
        apart.push_back(from_previous);
        if (per_sm == 2) {  // where its start falls within the life of the block that was there before it
          const double life = static_cast<double>(list[i - 1]->end - list[i - 1]->start);
          const auto tenth = static_cast<std::size_t>(std::clamp(from_previous / life * 10, 0.0, 9.0));
          phase_sum[tenth] += cycles, ++phase_count[tenth];
        }
        unsigned long long free = 0;
        for (std::size_t j = 0; j < i; ++j)
          if (list[j]->end <= block.start) free = std::max(free, list[j]->end);
        if (free != 0) gaps.push_back(static_cast<double>(block.start - free));
      }
      if (stages && (is_first || full)) {
        const unsigned long long* const t = block.stages;
        // 0 entry; 1 to 7: tick 0 to 6; 8 loop ends; 9 stored
        const unsigned long long at[] = {block.start, t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[9], block.end};
        for (std::size_t s = 0; s + 1 < std::size(at); ++s)
          stage_sum[is_first ? 0 : 1][s] += static_cast<double>(at[s + 1] - at[s]);
        ++stage_blocks[is_first ? 0 : 1];
      }
    }
  }
  const auto mean = [](const std::vector<double>& values) {
    double sum = 0;
    for (double value : values) sum += value;
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
  };
  std::printf("    first %6.0f %6.0f  later %6.0f (%zu)  apart %5.0f median %5.0f  slot empty %4.0f", mean(first[0]),
              mean(first[1]), mean(later), later.size(), mean(apart), median(apart), median(gaps));
  if (per_sm == 2) {
    std::printf("  by start in the other's life:");
    for (std::size_t i = 0; i < 10; ++i)
      if (phase_count[i] > 5) std::printf(" .%zu %.0f (%d)", i, phase_sum[i] / phase_count[i], phase_count[i]);
  }
  std::printf("\n");
  if (!stages) return;
  for (int wave = 0; wave < 2; ++wave) {
    if (stage_blocks[wave] == 0) continue;
    constexpr const char* names[] = {"prologue", "wait", "scores", "copy_k", "softmax", "copy_v", "product", "finish+store", "end"};
    std::printf("      %s wave:", wave == 0 ? "first" : "later");
    for (std::size_t s = 0; s < std::size(names); ++s) std::printf(" %s %.0f", names[s], stage_sum[wave][s] / stage_blocks[wave]);
    std::printf("\n");
  }
}

template <class Recorder>
bool print_shape(const char* name, Shape shape, bool alone, bool cold, bool stages, const Buffers& buffers) {
  typename Recorder::template Launch<device::Flash2Arguments> arguments{};
  arguments.q = buffers.q, arguments.k = buffers.k, arguments.v = buffers.v, arguments.o = buffers.o, arguments.lse = buffers.lse;
  arguments.seq_q = shape.rows, arguments.seq_kv = shape.keys, arguments.heads = arguments.kv_heads = shape.heads;
  arguments.scale = shape.d == 64 ? 0.125f : 0.0883883f;
  arguments.stamps.blocks = buffers.blocks;
  const Flash2Variant variant = shape.d == 64 ? device::flash2_variant<device::half_type, 64, false, Recorder>()
                                              : device::flash2_variant<device::half_type, 128, false, Recorder>();
  const int shared = alone ? 120 * 1024 : variant.shared_bytes;
  cudaFuncSetAttribute(variant.function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
  const dim3 grid((shape.rows + variant.block_q - 1) / variant.block_q, shape.heads, 1);
  const std::size_t count = std::size_t{grid.x} * grid.y;
  if (count > most_blocks) return false;
  cudaEvent_t before{}, after{};
  cudaEventCreate(&before), cudaEventCreate(&after);
  void* list[] = {&arguments};
  std::vector<double> times;
  for (int repeat = 0; repeat < 7; ++repeat) {
    if (cold) read_kernel<<<1056, 256>>>(reinterpret_cast<const uint4*>(buffers.flush), flush_bytes / 16, buffers.never);
    cudaEventRecord(before);
    cudaLaunchKernel(variant.function, grid, dim3(variant.threads), list, static_cast<std::size_t>(shared), nullptr);
    cudaEventRecord(after);
    if (const cudaError_t error = cudaEventSynchronize(after)) {
      std::fprintf(stderr, "%s: %s\n", name, cudaGetErrorString(error));
      return false;
    }
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, before, after);
    times.push_back(milliseconds * 1e3);
  }
  std::vector<BlockStamps> blocks(count);
  cudaMemcpy(blocks.data(), buffers.blocks, count * sizeof(BlockStamps), cudaMemcpyDeviceToHost);
  cudaEventDestroy(before), cudaEventDestroy(after);
  std::printf("  d %3d, %5d blocks, %3d keys, %s an SM, %s, %-6s %7.2f us\n", shape.d, static_cast<int>(count), shape.keys,
              alone ? "1 block " : "2 blocks", cold ? "cold" : "warm", name, median(times));
  print_blocks(blocks, alone ? 1 : 2, stages);
  return true;
}

}  // namespace

int main() {
  cudaDeviceProp device{};
  if (const cudaError_t error = cudaGetDeviceProperties(&device, 0)) {
    std::fprintf(stderr, "late_waves needs an NVIDIA GPU: %s\n", cudaGetErrorString(error));
    return 3;
  }
  Buffers buffers;
  for (char** const each : {&buffers.q, &buffers.k, &buffers.v, &buffers.o}) cudaMalloc(each, tensor_bytes);
  cudaMalloc(&buffers.flush, flush_bytes);
  cudaMalloc(&buffers.lse, tensor_bytes / 64);
  cudaMalloc(&buffers.never, sizeof(std::uint32_t));
  if (const cudaError_t error = cudaMalloc(&buffers.blocks, most_blocks * sizeof(BlockStamps))) {
    std::fprintf(stderr, "late_waves needs 1.5 GiB of the GPU's memory: %s\n", cudaGetErrorString(error));
    return 1;
  }
  unsigned seed = 1;
  for (char* const each : {buffers.q, buffers.k, buffers.v})
    fill_kernel<<<1056, 256>>>(reinterpret_cast<__half*>(each), tensor_bytes / 2, seed++);
  cudaMemset(buffers.flush, 0x3c, flush_bytes);
  const int sms = device.multiProcessorCount;
  std::printf("%s\n", device.name);
  bool fine = true;
  for (const int d : {64, 128})
    for (const int keys : {77, 128, 256, 512, 2048})
      for (const int blocks : {sms, 2 * sms, 4 * sms, 16 * sms})
        for (const bool alone : {false, true})
          for (const bool cold : {true, false}) {
            if (keys > 256 && (blocks != 16 * sms || cold)) continue;
            if (keys == 256 && (blocks != 16 * sms)) continue;
            const Shape shape{d, blocks / 4, 512, keys};
            fine = fine && print_shape<Stamps<false>>("ends", shape, alone, cold, false, buffers);
            if (keys < 300) fine = fine && print_shape<Stamps<true>>("stages", shape, alone, cold, true, buffers);
          }
  return fine ? 0 : 1;
}
