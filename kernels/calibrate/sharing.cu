// Measures how concurrent work slows or speeds up copies, L2 accesses and blocks.
#include "kernels/calibrate/sharing.h"

#include "kernels/calibrate/bench_timer.cuh"
#include "kernels/common/tensor_core.cuh"

namespace tilescope::microbench {

namespace {

constexpr int lanes = 32, piece = 16, copy_bytes = lanes * piece;

constexpr int beside_warps = 8, beside_stores = 8, beside_rounds = 400, beside_copies = 128, beside_ring = 8, beside_batch = 4;

/// Half the warps store to shared memory, one word a lane, without pause; the other half makes `copies` copies meanwhile.
__global__ void copy_beside_kernel(const char* from, int copies, std::int64_t* cycles) {
  __shared__ __align__(128) char landing[beside_warps * beside_ring * copy_bytes];
  __shared__ std::uint32_t words[beside_warps * beside_stores * lanes];
  const int warp = threadIdx.x / lanes % beside_warps, lane = threadIdx.x % lanes;
  const bool copying = threadIdx.x >= beside_warps * lanes;
  __syncthreads();
  const std::int64_t start = cycle_counter();
  if (copying) {
    const std::uint32_t to = device::shared_address(landing) + warp * beside_ring * copy_bytes + lane * piece;
    const char* const own = from + warp * beside_ring * copy_bytes + lane * piece;
    for (int i = 0; i < copies; i += beside_batch) {
      const int at = i % beside_ring * copy_bytes;
#pragma unroll
      for (int n = 0; n < beside_batch; ++n) device::copy_async(to + at + n * copy_bytes, own + at + n * copy_bytes);
      device::copy_async_commit();
      device::copy_async_wait<beside_ring / beside_batch - 1>();
    }
    device::copy_async_wait<0>();
    return;
  }
  const std::uint32_t to = device::shared_address(words) + (warp * beside_stores * lanes + lane) * 4;
  for (int round = 0; round < beside_rounds; ++round)
#pragma unroll
    for (int i = 0; i < beside_stores; ++i)
      asm volatile("st.shared.u32 [%0], %1;" ::"r"(to + i * lanes * 4), "r"(round) : "memory");
  if (lane == 0) cycles[warp] = cycle_counter() - start;
}

constexpr int both_threads = 1024, in_flight = 4;

/// The lower half of the threads reads the first half of the block's area repeatedly; the upper half writes the second half.
__global__ void copy_in_l2_kernel(char* area, int half_bytes, int rounds, std::int64_t* cycles, std::uint32_t* out) {
  constexpr int half = both_threads / 2, stride = half * piece;
  const bool writes = threadIdx.x >= half;
  char* const own = area + std::int64_t{blockIdx.x} * 2 * half_bytes + (writes ? half_bytes : 0) + threadIdx.x % half * piece;
  std::uint32_t sum = 0;
  std::int64_t start = 0;
  for (int round = -1; round < rounds; ++round) {
    if (round == 0) __syncthreads(), start = cycle_counter();
    for (int i = 0; i < half_bytes; i += in_flight * stride) {
      if (writes) {
#pragma unroll
        for (int n = 0; n < in_flight; ++n) __stcg(reinterpret_cast<uint4*>(own + i + n * stride), make_uint4(i, round, n, 7));
      } else {
        uint4 v[in_flight];
#pragma unroll
        for (int n = 0; n < in_flight; ++n)
          asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                       : "=r"(v[n].x), "=r"(v[n].y), "=r"(v[n].z), "=r"(v[n].w)
                       : "l"(own + i + n * stride)
                       : "memory");
#pragma unroll
        for (int n = 0; n < in_flight; ++n) sum += v[n].x ^ v[n].y ^ v[n].z ^ v[n].w;
      }
    }
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = cycle_counter() - start;
  if (sum == 0x12345678u) *out = sum;
}

constexpr int drawing_threads = 128;

__global__ void drawn_kernel(const char* from, int tiles, int rounds, std::int64_t* cycles) {
  extern __shared__ __align__(128) char shared[];
  const int warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  constexpr int part = drawn_tile_bytes / (drawing_threads / lanes);
  std::uint32_t state = blockIdx.x * 2654435761u + 12345u;
  __syncthreads();
  const std::int64_t start = cycle_counter();
  for (int round = 0; round < rounds; ++round) {
    state = state * 1664525u + 1013904223u;
    const std::int64_t tile = (std::int64_t{state >> 4} * tiles) >> 28;
#pragma unroll
    for (int i = 0; i < part; i += copy_bytes) {
      const int at = warp * part + i + lane * piece;
      device::copy_async(device::shared_address(shared) + at, from + tile * drawn_tile_bytes + at);
    }
    device::copy_async_commit();
    device::copy_async_wait<0>();
    __syncthreads();
  }
  if (threadIdx.x == 0) cycles[blockIdx.x] = cycle_counter() - start;
}

/// Where and when one block ran.
struct Stay {
  std::int64_t sm, start, end;
};

constexpr int phase_threads = 128, phase_rounds = 20, phase_length = 8, chains = 8;

/// Alternates phases of products and of exponentials and multiply-adds that depend on them.
__global__ void phases_kernel(Stay* stays, float* out) {
  const std::int64_t start = cycle_counter();
  float sums[chains][4] = {}, x[chains];
#pragma unroll
  for (int i = 0; i < chains; ++i) x[i] = static_cast<float>(threadIdx.x + i) * 1e-3f;
  for (int round = 0; round < phase_rounds; ++round) {
#pragma unroll 1
    for (int n = 0; n < phase_length; ++n)
#pragma unroll
      for (int i = 0; i < chains; ++i)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%4,%4}, {%0,%1,%2,%3};"
                     : "+f"(sums[i][0]), "+f"(sums[i][1]), "+f"(sums[i][2]), "+f"(sums[i][3])
                     : "r"(threadIdx.x));
#pragma unroll 1
    for (int n = 0; n < phase_length; ++n)
#pragma unroll
      for (int i = 0; i < chains; ++i) {
        asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[i]));
        x[i] = fmaf(x[i], sums[i][0], 0.25f);
        x[i] = fmaf(x[i], 1.001f, 0.5f);
      }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < chains; ++i) sum += x[i] + sums[i][1] + sums[i][2] + sums[i][3];
  if (sum == 12345.678f) *out = sum;
  __syncthreads();
  if (threadIdx.x == 0) stays[blockIdx.x] = {static_cast<std::int64_t>(sm_number()), start, cycle_counter()};
}

}  // namespace

Result<double> copy_rate() {
  auto from = DeviceArray<char>::make(std::int64_t{beside_warps} * beside_ring * copy_bytes, 0x5a);
  if (!from) return from.error();
  auto cycles = DeviceArray<std::int64_t>::make(beside_warps);
  if (!cycles) return cycles.error();
  const auto stores_take = [&](int copies) {
    return repeated(
        5, "measuring copies into shared memory",
        [&] { copy_beside_kernel<<<1, 2 * beside_warps * lanes>>>(from->data(), copies, cycles->data()); },
        [&]() -> Result<double> {
          const auto read = cycles->host();
          if (!read) return read.error();
          return mean(*read);
        });
  };
  const Result<double> alone = stores_take(0), beside = stores_take(beside_copies);
  for (const Result<double>* each : {&alone, &beside})
    if (!*each) return each->error();
  return beside_warps * beside_copies * copy_bytes / std::max(1.0, *beside - *alone);
}

Result<double> shared_copy_rate(int blocks, std::int64_t bytes_a_block, int rounds) {
  constexpr std::int64_t grain = std::int64_t{both_threads} / 2 * piece * in_flight;
  const std::int64_t half = bytes_a_block / 2 / grain * grain;
  auto area = DeviceArray<char>::make(2 * half * blocks, 0x5a);
  if (!area) return area.error();
  auto cycles = DeviceArray<std::int64_t>::make(blocks);
  if (!cycles) return cycles.error();
  auto out = DeviceArray<std::uint32_t>::make(1);
  if (!out) return out.error();
  return repeated(
      3, "measuring the L2 read and written",
      [&] {
        copy_in_l2_kernel<<<blocks, both_threads>>>(area->data(), static_cast<int>(half), rounds, cycles->data(), out->data());
      },
      [&]() -> Result<double> {
        const auto read = cycles->host();
        if (!read) return read.error();
        return 2.0 * static_cast<double>(half) * rounds / mean(*read);
      });
}

Result<double> drawn_read_rate(const DeviceInfo& device, int blocks_a_sm, int tiles, int rounds) {
  const int blocks = device.sm_count * blocks_a_sm;
  auto from = DeviceArray<char>::make(std::int64_t{tiles} * drawn_tile_bytes, 0x5a);
  if (!from) return from.error();
  auto cycles = DeviceArray<std::int64_t>::make(blocks);
  if (!cycles) return cycles.error();
  return repeated(
      3, "measuring reads of the same lines",
      [&] { drawn_kernel<<<blocks, drawing_threads, drawn_tile_bytes>>>(from->data(), tiles, rounds, cycles->data()); },
      [&]() -> Result<double> {
        const auto read = cycles->host();
        if (!read) return read.error();
        return static_cast<double>(drawn_tile_bytes) * rounds * blocks / mean(*read);
      });
}

double merge_cycles(double rate, double apart, int tiles) {
  const double reads_of_a_line_a_cycle = rate / (static_cast<double>(tiles) * drawn_tile_bytes);
  return (rate / apart - 1) / reads_of_a_line_a_cycle;
}

Result<double> ends_apart(const DeviceInfo& device) {
  // Enough shared memory that exactly two blocks fit on an SM.
  const auto shared = static_cast<int>(device.shared_bytes_per_sm * 2 / 5);
  const int blocks = 2 * device.sm_count;
  if (Status set = checked(cudaFuncSetAttribute(phases_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
                           "preparing two blocks an SM");
      !set)
    return set.error();
  auto stays = DeviceArray<Stay>::make(blocks);
  if (!stays) return stays.error();
  auto out = DeviceArray<float>::make(1);
  if (!out) return out.error();
  return repeated(
      5, "measuring two blocks an SM", [&] { phases_kernel<<<blocks, phase_threads, shared>>>(stays->data(), out->data()); },
      [&]() -> Result<double> {
        const auto read = stays->host();
        if (!read) return read.error();
        double apart = 0;
        int pairs = 0;
        for (const Stay& a : *read)
          for (const Stay& b : *read)
            if (a.sm == b.sm && a.start < b.start) {
              apart += static_cast<double>(b.end - a.end) / static_cast<double>(b.end - b.start);
              ++pairs;
            }
        return pairs > 0 ? apart / pairs : 0;
      });
}

}  // namespace tilescope::microbench
