// Measures wgmma on a Hopper SM: issue, latency, two groups at once, softmax under a product, arithmetic of other groups beside
// products. The results of 2026-11-24 in kernels/lab/measured also have mbarriers, named barriers and TMA boxes: `tilescope
// calibrate` measures these (kernels/calibrate/asynchronous.cu).
//
//   nvcc -O3 -std=c++20 -I. -gencode=arch=compute_90a,code=sm_90a kernels/lab/hopper_units.cu -o hopper_units
//   ./hopper_units
//
// All figures are SM clock cycles, the median of several launches unless a line says otherwise.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "kernels/common/hopper.cuh"

namespace {

using tilescope::device::shared_address;
using tilescope::device::wgmma_commit;
using tilescope::device::wgmma_fence;

void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::printf("%s failed: %s\n", what, cudaGetErrorString(code));
  std::fflush(stdout);
  std::exit(1);
}

__device__ __forceinline__ long long clock_now() {
  long long value;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(value)::"memory");
  return value;
}

// wgmma m64n128k16, fp16 factors, fp32 sums.
#define SUMS_8(i) \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define SUMS_64 SUMS_8(0), SUMS_8(8), SUMS_8(16), SUMS_8(24), SUMS_8(32), SUMS_8(40), SUMS_8(48), SUMS_8(56)
#define NAMES_64                                                                                                                  \
  "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,"           \
  "%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%" \
  "62,%63}"
__device__ __forceinline__ void multiply(float (&d)[64], std::uint64_t a, std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " NAMES_64 ", %64, %65, 1, 1, 1, 0, 0;"
               : SUMS_64
               : "l"(a), "l"(b));
}
__device__ __forceinline__ void multiply(float (&d)[64], const std::uint32_t (&a)[4], std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 " NAMES_64 ", {%64,%65,%66,%67}, %68, 1, 1, 1, 0;"
               : SUMS_64
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
template <int left>
__device__ __forceinline__ void wait_group(float (&d)[64]) {
  asm volatile("wgmma.wait_group.sync.aligned %64;" : SUMS_64 : "n"(left) : "memory");
}
/// Of a tile of one panel.
__device__ __forceinline__ std::uint64_t descriptor(std::uint32_t address) {
  return tilescope::device::wgmma_descriptor(address, 16);
}

constexpr int factor_bytes = (2 * 64 + 128) * 128;  // two left factors and a right one

__device__ __forceinline__ void fill_factors(std::uint32_t* words) {
  for (int i = threadIdx.x; i < factor_bytes / 4; i += blockDim.x) words[i] = 0x28002800u ^ (i * 2654435761u & 0x83ff83ffu);
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
}

/// Issues a chain of `count` products with one warpgroup; clocks: start, all issued, all done.
template <bool registers, int count>
__global__ __launch_bounds__(128) void chain_kernel(long long* out, float* sink) {
  extern __shared__ __align__(1024) std::uint32_t words[];
  fill_factors(words);
  const std::uint64_t left = descriptor(shared_address(words)), right = descriptor(shared_address(words) + 2 * 64 * 128);
  const std::uint32_t a[4] = {words[threadIdx.x], words[threadIdx.x + 128], words[threadIdx.x + 256], words[threadIdx.x + 384]};
  float d[64] = {};
#pragma unroll 1
  for (int repeat = 0; repeat < 4; ++repeat) {
    __syncthreads();
    wgmma_fence();
    const long long start = clock_now();
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const std::uint64_t along = i % 4 * 2;
      if constexpr (registers)
        multiply(d, a, right + along);
      else
        multiply(d, left + along, right + along);
    }
    wgmma_commit();
    const long long issued = clock_now();
    wait_group<0>(d);
    const long long done = clock_now();
    if (threadIdx.x == 0) out[0] = issued - start, out[1] = done - start;
  }
  float total = 0;
  for (float x : d) total += x;
  sink[threadIdx.x] = total;
}

/// Two warpgroups, a chain of 32 products each; the second begins `delay` cycles later. Clocks by group: start, issued, done.
template <int count>
__global__ __launch_bounds__(256) void two_groups_kernel(int delay, long long* out, float* sink) {
  extern __shared__ __align__(1024) std::uint32_t words[];
  fill_factors(words);
  const int group = threadIdx.x / 128;
  const std::uint64_t left = descriptor(shared_address(words) + group * 64 * 128),
                      right = descriptor(shared_address(words) + 2 * 64 * 128);
  float d[64] = {};
#pragma unroll 1
  for (int repeat = 0; repeat < 4; ++repeat) {
    __syncthreads();
    const long long origin = clock_now();
    if (group == 1)
      while (clock_now() - origin < delay) {}
    wgmma_fence();
    const long long start = clock_now();
#pragma unroll
    for (int i = 0; i < count; ++i) multiply(d, left + i % 4 * 2, right + i % 4 * 2);
    wgmma_commit();
    const long long issued = clock_now();
    wait_group<0>(d);
    const long long done = clock_now();
    if (threadIdx.x % 128 == 0) {
      out[group * 4] = start, out[group * 4 + 1] = issued, out[group * 4 + 2] = done, out[group * 4 + 3] = origin;
    }
  }
  float total = 0;
  for (float x : d) total += x;
  sink[threadIdx.x] = total;
}

/// S and then PV are issued; `exps` exponentials of the lane run between the wait for S and the wait for PV.
/// Clocks from the start: both issued, S done, exponentials done, PV done.
template <int products>
__global__ __launch_bounds__(128) void overlap_kernel(int exps, long long* out, float* sink) {
  extern __shared__ __align__(1024) std::uint32_t words[];
  fill_factors(words);
  const std::uint64_t left = descriptor(shared_address(words)), right = descriptor(shared_address(words) + 2 * 64 * 128);
  float s[64] = {}, o[64] = {};
  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = threadIdx.x * 0.001f + i;
#pragma unroll 1
  for (int repeat = 0; repeat < 4; ++repeat) {
    __syncthreads();
    wgmma_fence();
    const long long start = clock_now();
#pragma unroll
    for (int i = 0; i < products; ++i) multiply(s, left + i % 4 * 2, right + i % 4 * 2);
    wgmma_commit();
#pragma unroll
    for (int i = 0; i < products; ++i) multiply(o, left + i % 4 * 2, right + i % 4 * 2);
    wgmma_commit();
    const long long issued = clock_now();
    wait_group<1>(s);
    const long long scores = clock_now();
#pragma unroll 1
    for (int i = 0; i < exps; i += 8)
      for (int j = 0; j < 8; ++j) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[j]));
    const long long weighed = clock_now();
    wait_group<0>(o);
    const long long done = clock_now();
    if (threadIdx.x == 0) out[0] = issued - start, out[1] = scores - start, out[2] = weighed - start, out[3] = done - start;
  }
  float total = 0;
  for (int i = 0; i < 64; ++i) total += s[i] + o[i];
  for (float y : x) total += y;
  sink[threadIdx.x] = total;
}

enum class Arithmetic { multiply_adds, additions, exponentials, maxima, packs, logic, softmax, softmax_without_exponentials };

/// Instructions of one round of a kind.
constexpr int round_instructions(Arithmetic kind) {
  return kind == Arithmetic::softmax ? 44 : kind == Arithmetic::softmax_without_exponentials ? 36 : 8;
}

/// One round: eight independent instructions of a kind; `softmax` mixes them as a tile's softmax does: for eight elements eight
/// maxima, multiply-adds, exponentials and additions each, four packs, eight multiplications. Each result is used, or the assembler
/// would drop it.
template <Arithmetic kind>
__device__ __forceinline__ void compute_round(float (&x)[8], float (&y)[8]) {
  constexpr bool all = kind == Arithmetic::softmax, mixed = all || kind == Arithmetic::softmax_without_exponentials;
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    if constexpr (kind == Arithmetic::maxima || mixed) asm volatile("max.f32 %0, %0, %1;" : "+f"(y[j]) : "f"(x[j]));
    if constexpr (kind == Arithmetic::multiply_adds || mixed)
      asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[j]) : "f"(y[(j + 1) % 8]), "f"(y[(j + 2) % 8]));
    if constexpr (kind == Arithmetic::exponentials || all) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[j]));
    if constexpr (kind == Arithmetic::additions || mixed) asm volatile("add.f32 %0, %0, %1;" : "+f"(y[(j + 4) % 8]) : "f"(x[j]));
    if constexpr (kind == Arithmetic::packs || mixed)
      if (kind == Arithmetic::packs || j % 2 == 0) {
        std::uint32_t packed;
        asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(x[j]), "f"(y[j]));
        x[j] = __uint_as_float(packed);
      }
    if constexpr (kind == Arithmetic::logic) {
      unsigned word = __float_as_uint(x[j]);
      asm volatile("lop3.b32 %0, %0, %1, %2, 0x96;"
                   : "+r"(word)
                   : "r"(__float_as_uint(y[j])), "r"(__float_as_uint(y[(j + 1) % 8])));
      x[j] = __uint_as_float(word);
    }
    if constexpr (mixed) asm volatile("mul.f32 %0, %0, %1;" : "+f"(y[j]) : "f"(x[(j + 5) % 8]));
  }
}

constexpr int arithmetic_rounds = 128;

/// `others` warpgroups run rounds of arithmetic. One more runs products, in chains of eight with no gap between them, until all of
/// the others are done; without `products` it only waits.
/// out: cycles of the others, from the first start to the last end; products, and cycles of all of them.
template <bool products, bool registers, Arithmetic kind>
__global__ __launch_bounds__(512) void arithmetic_kernel(long long* out, float* sink) {
  extern __shared__ __align__(1024) std::uint32_t words[];
  __shared__ volatile int running, seen;
  __shared__ long long ends[4];
  if (threadIdx.x == 0) running = static_cast<int>(blockDim.x / 128) - 1;
  fill_factors(words);
  const int group = threadIdx.x / 128;
  float total = 0;
  const long long start = clock_now();
  if (group == 0) {
    const std::uint64_t left = descriptor(shared_address(words)), right = descriptor(shared_address(words) + 2 * 64 * 128);
    const std::uint32_t a[4] = {words[threadIdx.x], words[threadIdx.x + 128], words[threadIdx.x + 256], words[threadIdx.x + 384]};
    float d[64] = {};
    long long count = 0;
    bool go_on = true;
    if constexpr (products) {
      do {
        wgmma_fence();
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const std::uint64_t along = i % 4 * 2;
          if constexpr (registers)
            multiply(d, a, right + along);
          else
            multiply(d, left + along, right + along);
        }
        wgmma_commit();
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        count += 8;
        // All four warps see the same number: a warp that left alone would leave the others waiting.
        if (threadIdx.x == 0) seen = running;
        tilescope::device::named_sync(1, 128);
        go_on = seen > 0;
        tilescope::device::named_sync(1, 128);
      } while (go_on);
      wait_group<0>(d);
    } else {
      while (running > 0) __nanosleep(200);
    }
    const long long end = clock_now();
    if (threadIdx.x == 0) out[1] = count, out[2] = end - start;
    for (float x : d) total += x;
  } else {
    float x[8], y[8];
    for (int i = 0; i < 8; ++i) x[i] = threadIdx.x * 0.001f + i, y[i] = 1.f + threadIdx.x * 0.002f;
#pragma unroll 1
    for (int round = 0; round < arithmetic_rounds; round += 8)
#pragma unroll
      for (int i = 0; i < 8; ++i) compute_round<kind>(x, y);
    if (threadIdx.x % 128 == 0) {
      ends[group] = clock_now();
      atomicSub(const_cast<int*>(&running), 1);
    }
    for (int i = 0; i < 8; ++i) total += x[i] + y[i];
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    long long last = 0;
    for (unsigned g = 1; g < blockDim.x / 128; ++g) last = last > ends[g] ? last : ends[g];
    out[0] = last - start;
  }
  sink[threadIdx.x] = total;
}

}  // namespace

int main() {
  constexpr std::size_t most_out = 16;
  long long* out = nullptr;
  float* sink = nullptr;
  check(cudaMalloc(&out, most_out * sizeof(long long)), "allocating");
  check(cudaMalloc(&sink, 4096), "allocating");
  std::vector<long long> host(most_out);
  // Launches seven times; returns the median of every word.
  const auto run = [&](auto launch, std::size_t words) {
    std::vector<std::vector<long long>> all(words);
    for (int repeat = 0; repeat < 7; ++repeat) {
      launch();
      check(cudaGetLastError(), "launching");
      check(cudaDeviceSynchronize(), "running");
      check(cudaMemcpy(host.data(), out, words * sizeof(long long), cudaMemcpyDeviceToHost), "reading");
      for (std::size_t i = 0; i < words; ++i) all[i].push_back(host[i]);
    }
    std::vector<long long> middle(words);
    for (std::size_t i = 0; i < words; ++i) std::sort(all[i].begin(), all[i].end()), middle[i] = all[i][3];
    return middle;
  };
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "asking for the device");
  std::printf("%s, %d SMs\n", device.name, device.multiProcessorCount);

  const int shared = factor_bytes;
  std::printf(
      "\nchain of m64n128k16 by one warpgroup: products, then issued and done (cycles), factors in shared memory | left in "
      "registers\n");
  const auto chain = [&]<int count>(std::integral_constant<int, count>) {
    const auto a = run([&] { chain_kernel<false, count><<<1, 128, shared>>>(out, sink); }, 2);
    const auto b = run([&] { chain_kernel<true, count><<<1, 128, shared>>>(out, sink); }, 2);
    std::printf("%3d   %6lld %6lld | %6lld %6lld\n", count, a[0], a[1], b[0], b[1]);
  };
  [&]<int... counts>(std::integer_sequence<int, counts...>) {
    (chain(std::integral_constant<int, counts>{}), ...);
  }
  (std::integer_sequence<int, 1, 2, 3, 4, 6, 8, 16, 32>{});

  std::printf(
      "\ntwo warpgroups, 32 products each, the second later by a delay: from the first's start: issued0 done0 | start1 issued1 "
      "done1\n");
  for (const int delay : {0, 256, 512, 1024, 1536}) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      two_groups_kernel<32><<<1, 256, shared>>>(delay, out, sink);
      check(cudaDeviceSynchronize(), "two groups");
      check(cudaMemcpy(host.data(), out, 64, cudaMemcpyDeviceToHost), "reading");
    }
    const long long from = host[0];
    std::printf("delay %4d   %6lld %6lld | %6lld %6lld %6lld\n", delay, host[1] - from, host[2] - from, host[4] - from,
                host[5] - from, host[6] - from);
  }

  std::printf("\nS then PV (8 products each), exponentials a lane between: issued, S done, exponentials done, PV done\n");
  for (const int exps : {0, 64, 128, 256}) {
    const auto a = run([&] { overlap_kernel<8><<<1, 128, shared>>>(exps, out, sink); }, 4);
    std::printf("%3d   %6lld %6lld %6lld %6lld\n", exps, a[0], a[1], a[2], a[3]);
  }
  {
    const auto a = run([&] { overlap_kernel<0><<<1, 128, shared>>>(128, out, sink); }, 4);
    std::printf("no products, 128 exponentials: %lld\n", a[2]);
  }

  std::printf(
      "\nproducts of one warpgroup beside arithmetic of others. Groups beside; cycles of a scheduler for each instruction of "
      "theirs "
      "and cycles of a product, factors in shared memory | left in registers | without products\n");
  const auto arithmetic = [&]<Arithmetic kind>(std::integral_constant<Arithmetic, kind>, const char* name) {
    for (int others = 1; others <= 3; ++others) {
      std::printf("%-28s %d", name, others);
      const auto print = [&](const std::vector<long long>& of) {
        std::printf(" | %6.3f %6.1f", static_cast<double>(of[0]) / (others * arithmetic_rounds * round_instructions(kind)),
                    of[1] > 0 ? static_cast<double>(of[2]) / static_cast<double>(of[1]) : 0);
      };
      print(run([&] { arithmetic_kernel<true, false, kind><<<1, 128 * (1 + others), shared>>>(out, sink); }, 3));
      print(run([&] { arithmetic_kernel<true, true, kind><<<1, 128 * (1 + others), shared>>>(out, sink); }, 3));
      print(run([&] { arithmetic_kernel<false, false, kind><<<1, 128 * (1 + others), shared>>>(out, sink); }, 3));
      std::printf("\n");
    }
  };
  arithmetic(std::integral_constant<Arithmetic, Arithmetic::multiply_adds>{}, "multiply-adds");
  arithmetic(std::integral_constant<Arithmetic, Arithmetic::additions>{}, "additions");
  arithmetic(std::integral_constant<Arithmetic, Arithmetic::exponentials>{}, "exponentials");
  arithmetic(std::integral_constant<Arithmetic, Arithmetic::maxima>{}, "maxima");
  arithmetic(std::integral_constant<Arithmetic, Arithmetic::packs>{}, "packs");
  arithmetic(std::integral_constant<Arithmetic, Arithmetic::logic>{}, "logic");
  arithmetic(std::integral_constant<Arithmetic, Arithmetic::softmax_without_exponentials>{}, "softmax without exponentials");
  arithmetic(std::integral_constant<Arithmetic, Arithmetic::softmax>{}, "softmax");

  check(cudaDeviceSynchronize(), "ending");
  return 0;
}
