// Measures wgmma.mma_async by shape and type: two warpgroups on one SM, each with its own sums, sharing the right factor.
//
//   left factor   64 x 64 elements of 16 bits (64 x 32 of tf32), in shared memory or in a warpgroup's registers
//   right factor  n rows of 128 bytes: 4 steps of k, 32 bytes each
//   Tiles in shared memory have the 128-byte swizzle, as TMA writes them.
//
// This file is compiled for sm_90a only: the instruction exists on compute capability 9.0 alone.
#include "kernels/calibrate/bench_timer.cuh"
#include "kernels/calibrate/products.h"

namespace tilescope::microbench {

namespace {

constexpr int rounds = 64, steps = 16, groups = 2, threads = groups * 128;
constexpr int row_bytes = 128, left_bytes = 64 * row_bytes;

// asm operands: the 32, 64 or 128 registers of the sums and their placeholders.
#define SUMS_8(i) \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define SUMS_32(i) SUMS_8(i), SUMS_8(i + 8), SUMS_8(i + 16), SUMS_8(i + 24)
#define SUMS_64(i) SUMS_32(i), SUMS_32(i + 32)
#define SUMS_128(i) SUMS_64(i), SUMS_64(i + 64)
#define NAMES_32                                                                                                       \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30," \
  "%31"
#define NAMES_64                                                                                                                  \
  NAMES_32                                                                                                                        \
  ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62," \
  "%63"
#define NAMES_128                                                                                                                 \
  NAMES_64                                                                                                                        \
  ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94," \
  "%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120," \
  "%121,%122,%123,%124,%125,%126,%127"

/// `tail` holds the operands after the factors; for 16-bit types they also say that neither factor is transposed.
#define TILESCOPE_WGMMA(Name, columns, count, first, second, third, fourth, fifth, inner, word, label, tail, register_tail) \
  struct Name {                                                                                                             \
    static constexpr int n = columns, k = inner;                                                                            \
    static constexpr const char *shape = "m64n" #columns "k" #inner, *type = label;                                         \
    static __device__ __forceinline__ void multiply(float (&d)[count], std::uint64_t a, std::uint64_t b) {                  \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k" #inner ".f32." word "." word " {" NAMES_##count         \
                   "}, %" #first ", %" #second ", 1, 1, 1" tail ";"                                                         \
                   : SUMS_##count(0)                                                                                        \
                   : "l"(a), "l"(b));                                                                                       \
    }                                                                                                                       \
    static __device__ __forceinline__ void multiply(float (&d)[count], const std::uint32_t (&a)[4], std::uint64_t b) {      \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" #columns "k" #inner ".f32." word "." word " {" NAMES_##count         \
                   "}, {%" #first ",%" #second ",%" #third ",%" #fourth "}, %" #fifth ", 1, 1, 1" register_tail ";"         \
                   : SUMS_##count(0)                                                                                        \
                   : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                                   \
    }                                                                                                                       \
  };
TILESCOPE_WGMMA(Half64, 64, 32, 32, 33, 34, 35, 36, 16, "f16", "fp16", ", 0, 0", ", 0")
TILESCOPE_WGMMA(Half128, 128, 64, 64, 65, 66, 67, 68, 16, "f16", "fp16", ", 0, 0", ", 0")
TILESCOPE_WGMMA(Half256, 256, 128, 128, 129, 130, 131, 132, 16, "f16", "fp16", ", 0, 0", ", 0")
TILESCOPE_WGMMA(Bfloat64, 64, 32, 32, 33, 34, 35, 36, 16, "bf16", "bf16", ", 0, 0", ", 0")
TILESCOPE_WGMMA(Bfloat128, 128, 64, 64, 65, 66, 67, 68, 16, "bf16", "bf16", ", 0, 0", ", 0")
TILESCOPE_WGMMA(Bfloat256, 256, 128, 128, 129, 130, 131, 132, 16, "bf16", "bf16", ", 0, 0", ", 0")
TILESCOPE_WGMMA(Tf32Of64, 64, 32, 32, 33, 34, 35, 36, 8, "tf32", "tf32", "", "")
TILESCOPE_WGMMA(Tf32Of128, 128, 64, 64, 65, 66, 67, 68, 8, "tf32", "tf32", "", "")
TILESCOPE_WGMMA(Tf32Of256, 256, 128, 128, 129, 130, 131, 132, 8, "tf32", "tf32", "", "")
#undef TILESCOPE_WGMMA

/// Returns a matrix descriptor: address, 1024 bytes between groups of eight rows, 128-byte swizzle.
/// Source   PTX ISA, Matrix Descriptor Format of wgmma
__device__ __forceinline__ std::uint64_t descriptor(std::uint32_t address) {
  return (address & 0x3ffffu) >> 4 | std::uint64_t{1} << 16 | std::uint64_t{8 * row_bytes >> 4} << 32 | std::uint64_t{1} << 62;
}

template <class Op, bool from_registers>
__global__ __launch_bounds__(threads) void wgmma_kernel(std::int64_t* cycles, float* out) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) std::uint32_t words[];
  for (int i = threadIdx.x; i < (groups * left_bytes + Op::n * row_bytes) / 4; i += threads)
    words[i] = 0x38003800u ^ (i * 2654435761u & 0x83ff83ffu);
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  const int group = threadIdx.x / 128;
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(words));
  const std::uint64_t left = descriptor(base + group * left_bytes), right = descriptor(base + groups * left_bytes);
  const std::uint32_t a[4] = {words[threadIdx.x], words[threadIdx.x + 256], words[threadIdx.x + 512], words[threadIdx.x + 768]};
  float sums[Op::n / 2] = {};
  const std::int64_t start = cycle_counter();
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      const std::uint64_t along = step % 4 * 2;  // a step of k is 32 bytes, in units of 16
      if constexpr (from_registers)
        Op::multiply(sums, a, right + along);
      else
        Op::multiply(sums, left + along, right + along);
    }
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  }
  const std::int64_t end = cycle_counter();
  float total = 0;
#pragma unroll
  for (int i = 0; i < Op::n / 2; ++i) total += sums[i];
  out[threadIdx.x] = total;
  if (threadIdx.x % 128 == 0) cycles[group * 2] = start, cycles[group * 2 + 1] = end;
#else
  static_cast<void>(cycles), static_cast<void>(out);
#endif
}

template <class Op, bool from_registers>
Status add(std::vector<ProductRate>& rates) {
  constexpr int shared_bytes = groups * left_bytes + Op::n * row_bytes;
  auto cycles = DeviceArray<std::int64_t>::make(2 * groups);
  if (!cycles) return cycles.error();
  auto out = DeviceArray<float>::make(threads);
  if (!out) return out.error();
  if (Status set =
          checked(cudaFuncSetAttribute(wgmma_kernel<Op, from_registers>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes),
                  "preparing wgmma");
      !set)
    return set;
  const Result<double> took = repeated(
      3, "measuring wgmma", [&] { wgmma_kernel<Op, from_registers><<<1, threads, shared_bytes>>>(cycles->data(), out->data()); },
      [&]() -> Result<double> {
        const auto read = cycles->host();
        if (!read) return read.error();
        return static_cast<double>(std::max((*read)[1], (*read)[3]) - std::min((*read)[0], (*read)[2]));
      });
  if (!took) return took.error();
  rates.push_back({Op::shape, Op::type, from_registers, 2.0 * 64 * Op::n * Op::k * steps * rounds * groups / *took});
  return Done{};
}

}  // namespace

Result<std::vector<ProductRate>> wgmma_rates(const DeviceInfo& device) {
  std::vector<ProductRate> rates;
  if (device.compute_major != 9 || device.compute_minor != 0) return rates;
  for (const auto step :
       {add<Half64, false>, add<Half128, false>, add<Half256, false>, add<Half64, true>, add<Half128, true>, add<Half256, true>,
        add<Bfloat64, false>, add<Bfloat128, false>, add<Bfloat256, false>, add<Bfloat64, true>, add<Bfloat128, true>,
        add<Bfloat256, true>, add<Tf32Of64, false>, add<Tf32Of128, false>, add<Tf32Of256, false>, add<Tf32Of64, true>,
        add<Tf32Of128, true>, add<Tf32Of256, true>})
    if (Status added = step(rates); !added) return added.error();
  return rates;
}

}  // namespace tilescope::microbench
