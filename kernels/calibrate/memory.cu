// Measures the bandwidth of HBM, of the L2 and of one SM's port, and the L2 capacity left for data that every SM reads.
#include "kernels/calibrate/bench_timer.cuh"
#include "kernels/calibrate/memory.h"

namespace tilescope::microbench {

namespace {

constexpr int threads = 512;

/// Loads 16 bytes past the L1. The asm keeps the compiler from narrowing or removing the load.
__device__ __forceinline__ std::uint32_t fetch(const uint4* from) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from) : "memory");
  return v.x ^ v.y ^ v.z ^ v.w;
}

/// Reads with 16-byte loads, four of them in flight a thread.
__global__ void read_kernel(const uint4* from, std::int64_t count, std::uint32_t* out) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  std::uint32_t sum = 0;
  std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i + 3 * stride < count; i += 4 * stride) {
    const std::uint32_t a = fetch(from + i), b = fetch(from + i + stride), c = fetch(from + i + 2 * stride),
                        d = fetch(from + i + 3 * stride);
    sum += a ^ b ^ c ^ d;
  }
  for (; i < count; i += stride) sum += fetch(from + i);
  if (sum == 0x12345678u) *out = sum;
}

__global__ void write_kernel(uint4* to, std::int64_t count, std::uint32_t value) {
  const std::int64_t stride = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride)
    to[i] = make_uint4(value, static_cast<std::uint32_t>(i), value, ~value);
}

/// Copies 16 bytes a thread, so the grid has many short blocks.
__global__ void copy_kernel(const uint4* from, uint4* to, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < count) to[i] = __ldcg(from + i);
}

/// Which 16-byte pieces a block reads in a round.
enum class Pattern { same, own, rotating };

/// Reads `count` pieces in each of `rounds` rounds: the same for all blocks, its own, or those that another block read in the round
/// before. When rotating, SMs of both partitions read all data in turn.
template <Pattern pattern>
__global__ void shared_read_kernel(const uint4* from, int count, int rounds, std::int64_t* cycles, std::uint32_t* out) {
  std::uint32_t sum = 0;
  std::int64_t start = cycle_counter();
  for (int round = -1; round < rounds; ++round) {
    if (round == 0) __syncthreads(), start = cycle_counter();  // round -1 filled the L2
    const int turn = pattern == Pattern::same  ? 0
                     : pattern == Pattern::own ? blockIdx.x
                                               : (blockIdx.x + (round + 1) * 37) % gridDim.x;
    const uint4* const own = from + std::int64_t{turn} * count;
    for (int i = threadIdx.x; i < count; i += 4 * threads) {
      const std::uint32_t a = fetch(own + i), b = fetch(own + i + threads), c = fetch(own + i + 2 * threads),
                          d = fetch(own + i + 3 * threads);
      sum += a ^ b ^ c ^ d;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = cycle_counter() - start;
  if (sum == 0x12345678u) *out = sum;
}

__global__ void shared_write_kernel(uint4* to, int count, int rounds, std::int64_t* cycles) {
  uint4* const own = to + std::int64_t{blockIdx.x} * count;
  const std::int64_t start = cycle_counter();
  for (int round = 0; round < rounds; ++round)
    for (int i = threadIdx.x; i < count; i += threads) own[i] = make_uint4(i, round, threadIdx.x, 7);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = cycle_counter() - start;
}

struct TilesArguments {
  const char* from;
  char* to;  // null: nothing is written
  int tiles, lines;
  unsigned* next;              // first tile that no block has taken
  unsigned long long* cycles;  // total cycles that blocks waited for tiles
  std::uint32_t* never;
};

constexpr int tiles_threads = 128, tiles_taken = 8;

/// Takes eight consecutive tiles at a time, waits for each, then writes as many bytes: `loads` times 16 bytes a thread.
template <int loads>
__global__ __launch_bounds__(tiles_threads) void tiles_kernel(const TilesArguments a) {
  extern __shared__ char alone[];
  __shared__ unsigned taken;
  const std::int64_t tile_bytes = std::int64_t{a.lines} * 128;
  const bool has_part = threadIdx.x * 16 < tile_bytes;
  std::uint32_t sum = 0;
  std::int64_t waited = 0;
  for (;;) {
    if (threadIdx.x == 0) taken = atomicAdd(a.next, tiles_taken);
    __syncthreads();
    const unsigned first = taken;
    __syncthreads();
    if (first >= static_cast<unsigned>(a.tiles)) break;
    for (unsigned tile = first; tile < first + tiles_taken; ++tile) {
      const std::int64_t at = tile * tile_bytes + threadIdx.x * 16;
      const std::int64_t start = cycle_counter();
      uint4 v[loads];
      if (has_part) {
#pragma unroll
        for (int i = 0; i < loads; ++i) v[i] = __ldcg(reinterpret_cast<const uint4*>(a.from + at + i * tiles_threads * 16));
#pragma unroll
        for (int i = 0; i < loads; ++i) sum ^= v[i].x ^ v[i].y ^ v[i].z ^ v[i].w;
      }
      sum += __syncthreads_or(sum == 0x12345678u);
      waited += cycle_counter() - start;
      if (a.to == nullptr || !has_part) continue;
#pragma unroll
      for (int i = 0; i < loads; ++i) *reinterpret_cast<uint4*>(a.to + at + i * tiles_threads * 16) = make_uint4(sum, tile, i, 7);
    }
  }
  if (threadIdx.x == 0) atomicAdd(a.cycles, static_cast<unsigned long long>(waited));
  if (sum == 0x12345678u) *a.never = sum;
}

struct TilesRun {
  double cycles_a_tile = 0, ns = 0;
};

/// Runs tiles_kernel with `blocks_per_sm` blocks an SM, after one warm-up run.
Result<TilesRun> run_tiles(const DeviceInfo& device, TilesArguments arguments, int blocks_per_sm) {
  auto counts = DeviceArray<unsigned long long>::make(2);
  if (!counts) return counts.error();
  arguments.cycles = counts->data();
  arguments.next = reinterpret_cast<unsigned*>(counts->data() + 1);
  arguments.never = arguments.next + 1;
  auto* const kernel = arguments.lines <= 16 ? tiles_kernel<1> : tiles_kernel<4>;
  const int shared_bytes =
      static_cast<int>(device.shared_bytes_per_block) / blocks_per_sm - 2048;  // so much that no further block fits
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  const Result<double> ns = event_ns(
      1, "reading tiles beside writes",
      [&] { kernel<<<device.sm_count * blocks_per_sm, tiles_threads, shared_bytes>>>(arguments); },
      [&] { cudaMemsetAsync(counts->data(), 0, 2 * sizeof(unsigned long long)); });
  if (!ns) return ns.error();
  const auto found = counts->host();
  if (!found) return found.error();
  return TilesRun{static_cast<double>((*found)[0]) / arguments.tiles, *ns};
}

}  // namespace

Result<double> write_wait_cycles(const DeviceInfo& device, int lines, const HbmBandwidth& rates) {
  constexpr std::int64_t bytes = std::int64_t{256} << 20;
  auto from = DeviceArray<char>::make(bytes), to = DeviceArray<char>::make(bytes);
  for (const auto* one : {&from, &to})
    if (!*one) return one->error();
  const double ns_a_byte_written = (2 / rates.copy - 1 / rates.read) * 1e9;
  std::vector<double> waits;
  for (int blocks = 1; blocks <= 4; ++blocks) {
    TilesArguments arguments{};
    arguments.from = from->data();
    arguments.lines = lines;
    arguments.tiles = static_cast<int>(bytes / (lines * 128) / tiles_taken * tiles_taken);
    const Result<TilesRun> alone = run_tiles(device, arguments, blocks);
    if (!alone) return alone.error();
    arguments.to = to->data();
    const Result<TilesRun> beside = run_tiles(device, arguments, blocks);
    if (!beside) return beside.error();
    const double part_writing = static_cast<double>(bytes) / beside->ns * ns_a_byte_written;
    waits.push_back((beside->cycles_a_tile - alone->cycles_a_tile) / part_writing);
  }
  return median(std::move(waits));
}

Result<HbmBandwidth> hbm_bandwidth(const DeviceInfo& device, std::int64_t bytes) {
  const std::int64_t count = bytes / 16;
  auto from = DeviceArray<uint4>::make(count, 0x5a);
  if (!from) return from.error();
  auto to = DeviceArray<uint4>::make(count);
  if (!to) return to.error();
  auto out = DeviceArray<std::uint32_t>::make(1);
  if (!out) return out.error();
  const int blocks = device.sm_count * 4;
  HbmBandwidth found;
  const auto rate = [&](double moved, auto launch, double& value) -> Status {
    const Result<double> ns = event_ns(7, "measuring HBM bandwidth", launch);
    if (!ns) return ns.error();
    value = moved / (*ns * 1e-9);
    return Done{};
  };
  const auto size = static_cast<double>(bytes);
  if (Status done = rate(
          size, [&] { read_kernel<<<blocks, threads>>>(from->data(), count, out->data()); }, found.read);
      !done)
    return done.error();
  if (Status done = rate(
          size, [&] { write_kernel<<<blocks, threads>>>(to->data(), count, 3); }, found.write);
      !done)
    return done.error();
  if (Status done = rate(
          2 * size, [&] { copy_kernel<<<static_cast<unsigned>(count / 256), 256>>>(from->data(), to->data(), count); }, found.copy);
      !done)
    return done.error();
  return found;
}

Result<double> shared_read_rate(ReadPattern pattern, int blocks, std::int64_t bytes_a_block, int rounds) {
  const std::int64_t count = bytes_a_block / (16 * 4 * threads) * 4 * threads;
  auto from = DeviceArray<uint4>::make(pattern == ReadPattern::same ? count : count * blocks, 0x5a);
  if (!from) return from.error();
  auto cycles = DeviceArray<std::int64_t>::make(blocks);
  if (!cycles) return cycles.error();
  auto out = DeviceArray<std::uint32_t>::make(1);
  if (!out) return out.error();
  const auto launch = [&] {
    const auto n = static_cast<int>(count);
    if (pattern == ReadPattern::same)
      shared_read_kernel<Pattern::same><<<blocks, threads>>>(from->data(), n, rounds, cycles->data(), out->data());
    else if (pattern == ReadPattern::own)
      shared_read_kernel<Pattern::own><<<blocks, threads>>>(from->data(), n, rounds, cycles->data(), out->data());
    else
      shared_read_kernel<Pattern::rotating><<<blocks, threads>>>(from->data(), n, rounds, cycles->data(), out->data());
  };
  return repeated(3, "measuring L2 bandwidth", launch, [&]() -> Result<double> {
    const auto read = cycles->host();
    if (!read) return read.error();
    return static_cast<double>(count) * 16 * rounds / mean(*read);
  });
}

Result<double> shared_write_rate(int blocks, std::int64_t bytes_a_block, int rounds) {
  const std::int64_t count = bytes_a_block / 16;
  auto to = DeviceArray<uint4>::make(count * blocks);
  if (!to) return to.error();
  auto cycles = DeviceArray<std::int64_t>::make(blocks);
  if (!cycles) return cycles.error();
  return repeated(
      3, "measuring L2 write bandwidth",
      [&] { shared_write_kernel<<<blocks, threads>>>(to->data(), static_cast<int>(count), rounds, cycles->data()); },
      [&]() -> Result<double> {
        const auto read = cycles->host();
        if (!read) return read.error();
        return static_cast<double>(count) * 16 * rounds / mean(*read);
      });
}

}  // namespace tilescope::microbench
