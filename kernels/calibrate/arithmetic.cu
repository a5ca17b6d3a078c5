// Instruction throughput of one SM sub-partition, alone and mixed: mma.sync, FFMA, FMNMX, ex2, packing, ldmatrix.
//
//   A warp repeats a body that mixes a fixed number of instructions of each kind evenly; all are independent. With two or more
//   warps on a sub-partition, the time of a body is the throughput of the mix rather than any latency.
#include "kernels/calibrate/arithmetic.h"
#include "kernels/calibrate/bench_timer.cuh"
#include "kernels/common/tensor_core.cuh"

namespace tilescope::microbench {

namespace {

constexpr int bodies = 200;

/// Number of instructions of each kind in a body.
template <int mma_count, int fma_count, int add_count, int max_count, int exp_count, int pack_count, int matrix_count>
struct Mix {
  static constexpr int mma = mma_count, fma = fma_count, add = add_count, max = max_count, exp = exp_count, pack = pack_count,
                       matrix = matrix_count;
  static constexpr int slots = 48;  // a body has 48 slots; each kind is spread evenly over them
};

/// The operands of a warp: two row tiles of A, eight fragments of B and sixteen sums, as in a warp's share of a product.
struct Registers {
  float acc[16][4], f[8], g[8], e[8];
  std::uint32_t a[2][4], b[8][4], p[8];
  std::uint32_t shared;
};

template <class T, class M>
__device__ __forceinline__ void run_body(Registers& r) {
#pragma unroll
  for (int slot = 0; slot < M::slots; ++slot) {
#define TILESCOPE_EACH(kind) _Pragma("unroll") for (int i = slot * M::kind / M::slots; i < (slot + 1) * M::kind / M::slots; ++i)
    TILESCOPE_EACH(matrix) device::load_matrices(r.b[i % 8], r.shared + i % 8 * 512);
    TILESCOPE_EACH(mma) {
      const int n = i / 4 % 8, half = i / 2 % 2 * 2;
      device::mma<T>(r.acc[i % 16], r.a[i % 2], r.b[n][half], r.b[n][half + 1], r.acc[i % 16]);
    }
    TILESCOPE_EACH(fma) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(r.f[i % 8]) : "f"(r.g[0]), "f"(r.g[1]));
    TILESCOPE_EACH(add) asm volatile("add.f32 %0, %0, %1;" : "+f"(r.f[(i + 4) % 8]) : "f"(r.g[2]));
    TILESCOPE_EACH(max) asm volatile("max.f32 %0, %0, %1;" : "+f"(r.g[4 + i % 4]) : "f"(r.f[i % 8]));
    TILESCOPE_EACH(exp) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(r.e[i % 8]));
    TILESCOPE_EACH(pack)
    asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r.p[i % 8]) : "f"(r.f[i % 8]), "f"(__uint_as_float(r.p[i % 8])));
#undef TILESCOPE_EACH
  }
}

__device__ __forceinline__ void start_registers(Registers& r, std::uint32_t* tile, std::uint32_t seed) {
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) tile[i] = 0x38003800u ^ ((i * 2654435761u + seed) & 0x83ff83ffu);
  __syncthreads();
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    r.f[i] = lane * 0.01f + i, r.g[i] = 0.5f + seed * 0.f + i * 1e-3f, r.e[i] = -0.3f * i, r.p[i] = tile[(lane + i) & 1023];
#pragma unroll
    for (int k = 0; k < 4; ++k) r.b[i][k] = tile[(lane * 4 + k + 64 * i) & 1023];
  }
#pragma unroll
  for (int i = 0; i < 16; ++i)
#pragma unroll
    for (int k = 0; k < 4; ++k) r.acc[i][k] = 0.f;
#pragma unroll
  for (int i = 0; i < 8; ++i) r.a[i / 4][i % 4] = tile[(lane * 8 + i) & 1023];
  r.shared = device::shared_address(tile) + ((lane & 7) * 16 + (lane >> 3) * 128);
  __syncthreads();
}

__device__ __forceinline__ float total_of(const Registers& r) {
  float sum = 0.f;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum += r.acc[i][0] + r.acc[i][1] + r.acc[i][2] + r.acc[i][3];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    sum += r.f[i] + r.g[i] + r.e[i] + __uint_as_float(r.p[i]);
#pragma unroll
    for (int k = 0; k < 4; ++k) sum += __uint_as_float(r.b[i][k]);
  }
  return sum;
}

/// Warps 0-3, 8-11 … run mix A, the others mix B, so every sub-partition has warps of both.
template <class T, class A, class B>
__global__ __launch_bounds__(384) void mix_kernel(std::int64_t* cycles, float* out, std::uint32_t seed) {
  __shared__ __align__(128) std::uint32_t tile[1024];
  Registers r;
  start_registers(r, tile, seed);
  const int warp = threadIdx.x / 32;
  const std::int64_t start = cycle_counter();
  if (warp / 4 % 2 == 0) {
#pragma unroll 1
    for (int n = 0; n < bodies; ++n) run_body<T, A>(r);
  } else {
#pragma unroll 1
    for (int n = 0; n < bodies; ++n) run_body<T, B>(r);
  }
  const std::int64_t end = cycle_counter();
  out[threadIdx.x] = total_of(r);
  if (threadIdx.x % 32 == 0) cycles[warp * 2] = start, cycles[warp * 2 + 1] = end;
}

/// Returns the cycles of a body on a sub-partition with `warps` warps: from the first start to the last end, over all bodies.
template <class T, class A, class B>
Result<double> cycles_of(int warps) {
  const int threads = warps * 128;
  auto cycles = DeviceArray<std::int64_t>::make(2 * warps * 4);
  if (!cycles) return cycles.error();
  auto out = DeviceArray<float>::make(threads);
  if (!out) return out.error();
  return repeated(
      3, "measuring instructions", [&] { mix_kernel<T, A, B><<<1, threads>>>(cycles->data(), out->data(), 1); },
      [&]() -> Result<double> {
        const auto read = cycles->host();
        if (!read) return read.error();
        return spanned(*read) / (bodies * warps);
      });
}

/// Runs dependent products: each adds to the same sums.
template <class T>
__global__ void chain_kernel(std::int64_t* cycles, float* out) {
  __shared__ __align__(128) std::uint32_t tile[1024];
  Registers r;
  start_registers(r, tile, 1);
  const std::int64_t start = cycle_counter();
#pragma unroll 8
  for (int n = 0; n < 1024; ++n) device::mma<T>(r.acc[0], r.a[0], r.b[0][0], r.b[0][1], r.acc[0]);
  cycles[0] = cycle_counter() - start;
  out[threadIdx.x] = total_of(r);
}

/// Runs dependent FFMAs.
__global__ void dependent_kernel(std::int64_t* cycles, float* out) {
  float f = threadIdx.x * 0.01f;
  const std::int64_t start = cycle_counter();
#pragma unroll 16
  for (int n = 0; n < 1024; ++n) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(f));
  cycles[0] = cycle_counter() - start;
  out[threadIdx.x] = f;
}

/// Loads 4 bytes a lane, `stride` words apart: stride 1 uses all banks, stride 32 only one.
__global__ void stride_kernel(std::int64_t* cycles, float* out, int stride) {
  __shared__ std::uint32_t words[32 * 32];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) words[i] = i;
  __syncthreads();
  const std::uint32_t from = device::shared_address(words) + (threadIdx.x & 31) * stride % 1024 * 4;
  std::uint32_t sum = 0;
  const std::int64_t start = cycle_counter();
#pragma unroll 1
  for (int n = 0; n < bodies; ++n)
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      std::uint32_t value;
      asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(value) : "r"(from) : "memory");
      sum += value;
    }
  __syncthreads();
  if (threadIdx.x == 0) cycles[0] = cycle_counter() - start;
  out[threadIdx.x] = static_cast<float>(sum);
}

/// Launches one block of `threads` threads and returns the cycles that its thread 0 counted.
template <class Launch>
Result<double> counted(int threads, Launch launch) {
  auto cycles = DeviceArray<std::int64_t>::make(1);
  if (!cycles) return cycles.error();
  auto out = DeviceArray<float>::make(threads);
  if (!out) return out.error();
  return repeated(
      3, "measuring instructions", [&] { launch(cycles->data(), out->data()); },
      [&]() -> Result<double> {
        const auto read = cycles->host();
        if (!read) return read.error();
        return static_cast<double>((*read)[0]);
      });
}

constexpr double sub_partitions = 4, lanes = 32, mma_flops = 2 * 16 * 8 * 16, count = 48;

}  // namespace

Result<ArithmeticRates> arithmetic_rates() {
  using H = device::half_type;
  using Mma = Mix<48, 0, 0, 0, 0, 0, 0>;
  using Product = Mix<48, 0, 0, 0, 0, 0, 12>;     // a product with operands from shared memory
  using Softmax = Mix<0, 24, 24, 24, 24, 12, 0>;  // one element: scale, maximum, ex2, sum, half a packing
  using Fma = Mix<0, 192, 0, 0, 0, 0, 0>;
  using Max = Mix<0, 0, 0, 192, 0, 0, 0>;
  using Exp = Mix<0, 0, 0, 0, 48, 0, 0>;
  using Pack = Mix<0, 0, 0, 0, 0, 192, 0>;
  using Matrices = Mix<0, 0, 0, 0, 0, 0, 8>;
  ArithmeticRates rates;
  // Converts the cycles of a body into the work of an SM a cycle.
  const auto rate = [&](double& to, double work, const Result<double>& body) -> Status {
    if (!body) return body.error();
    to = work / *body;
    return Done{};
  };
  for (const Status& done :
       {rate(rates.mma_flops, sub_partitions * count * mma_flops, cycles_of<H, Mma, Mma>(2)),
        rate(rates.mma_flops_bf16, sub_partitions * count * mma_flops, cycles_of<device::bfloat_type, Mma, Mma>(2)),
        rate(rates.fp32_flops, sub_partitions * 192 * 2 * lanes, cycles_of<H, Fma, Fma>(2)),
        rate(rates.alu_lanes, sub_partitions * 192 * lanes, cycles_of<H, Max, Max>(2)),
        rate(rates.pack_lanes, sub_partitions * 192 * lanes, cycles_of<H, Pack, Pack>(2)),
        rate(rates.exps, sub_partitions * count * lanes, cycles_of<H, Exp, Exp>(2)),
        rate(rates.shared_bytes, sub_partitions * 8 * 512, cycles_of<H, Matrices, Matrices>(2))})
    if (!done) return done.error();
  const Result<double> alone = cycles_of<H, Product, Product>(2), beside = cycles_of<H, Product, Softmax>(2);
  if (!alone) return alone.error();
  if (!beside) return beside.error();
  // In `beside` only one of the two warps runs products, so one body of two is a product's.
  rates.product_issue_cycles = (2 * *beside - *alone) / (Softmax::fma + Softmax::add + Softmax::max + Softmax::exp + Softmax::pack);
  using Mixed = Mix<48, 24, 24, 24, 24, 12, 12>;
  const Result<double> only = cycles_of<H, Mma, Mma>(2), mixed = cycles_of<H, Mixed, Mixed>(2);
  if (!only) return only.error();
  if (!mixed) return mixed.error();
  rates.product_mixed_cycles = (*mixed - *only) / (Mixed::fma + Mixed::add + Mixed::max + Mixed::exp + Mixed::pack + Mixed::matrix);
  const Result<double> dependent = counted(32, [](auto cycles, auto out) { dependent_kernel<<<1, 32>>>(cycles, out); });
  if (!dependent) return dependent.error();
  rates.dependent_cycles = *dependent / 1024;
  const Result<double> chain = counted(32, [](auto cycles, auto out) { chain_kernel<H><<<1, 32>>>(cycles, out); });
  if (!chain) return chain.error();
  rates.mma_latency = *chain / 1024;
  constexpr int threads = 512;
  const Result<double> conflicting =
      counted(threads, [](auto cycles, auto out) { stride_kernel<<<1, threads>>>(cycles, out, 32); });
  if (!conflicting) return conflicting.error();
  rates.shared_bytes_conflicting = bodies * 8.0 * threads * 4 / *conflicting;
  return rates;
}

}  // namespace tilescope::microbench
