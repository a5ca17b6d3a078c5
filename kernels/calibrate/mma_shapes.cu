// Measures mma.sync by shape and type: 48 products a body with operands in registers, two warps on each sub-partition.
#include "kernels/calibrate/bench_timer.cuh"
#include "kernels/calibrate/products.h"

namespace tilescope::microbench {

namespace {

constexpr int bodies_of_shape = 200, products = 48, warps = 8;

struct HalfWide {
  static constexpr const char *shape = "m16n8k16", *type = "fp16";
  static constexpr double flops = 2.0 * 16 * 8 * 16;
  static __device__ __forceinline__ void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
struct BfloatWide {
  static constexpr const char *shape = "m16n8k16", *type = "bf16";
  static constexpr double flops = 2.0 * 16 * 8 * 16;
  static __device__ __forceinline__ void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};
struct HalfNarrow {
  static constexpr const char *shape = "m16n8k8", *type = "fp16";
  static constexpr double flops = 2.0 * 16 * 8 * 8;
  static __device__ __forceinline__ void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  }
};
struct Tf32 {
  static constexpr const char *shape = "m16n8k8", *type = "tf32";
  static constexpr double flops = 2.0 * 16 * 8 * 8;
  static __device__ __forceinline__ void multiply(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
};

/// Runs products with sixteen independent sums: two row tiles times four pairs of columns, as in a warp's tile.
template <class Op>
__global__ __launch_bounds__(warps * 32) void mma_kernel(std::int64_t* cycles, float* out) {
  float sums[16][4] = {};
  std::uint32_t a[2][4], b[4][2];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    a[i / 4][i % 4] = 0x38003800u + (threadIdx.x & 31) * 65537u;
    b[i / 2][i % 2] = 0x38003c00u ^ (threadIdx.x + i) * 0x10001u;
  }
  __syncthreads();
  const std::int64_t start = cycle_counter();
#pragma unroll 1
  for (int n = 0; n < bodies_of_shape; ++n)
#pragma unroll
    for (int i = 0; i < products; ++i) Op::multiply(sums[i % 16], a[i % 2], b[i / 2 % 4]);
  const std::int64_t end = cycle_counter();
  float total = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) total += sums[i][0] + sums[i][1] + sums[i][2] + sums[i][3];
  out[threadIdx.x] = total;
  if (threadIdx.x % 32 == 0) cycles[threadIdx.x / 16] = start, cycles[threadIdx.x / 16 + 1] = end;
}

template <class Op>
Status add(std::vector<ProductRate>& rates) {
  auto cycles = DeviceArray<std::int64_t>::make(2 * warps);
  if (!cycles) return cycles.error();
  auto out = DeviceArray<float>::make(warps * 32);
  if (!out) return out.error();
  const Result<double> took = repeated(
      3, "measuring mma.sync", [&] { mma_kernel<Op><<<1, warps * 32>>>(cycles->data(), out->data()); },
      [&]() -> Result<double> {
        const auto read = cycles->host();
        if (!read) return read.error();
        return spanned(*read);
      });
  if (!took) return took.error();
  rates.push_back({Op::shape, Op::type, true, Op::flops * products * bodies_of_shape * warps / *took});
  return Done{};
}

}  // namespace

Result<std::vector<ProductRate>> mma_rates() {
  std::vector<ProductRate> rates;
  for (const auto step : {add<HalfWide>, add<BfloatWide>, add<HalfNarrow>, add<Tf32>})
    if (Status added = step(rates); !added) return added.error();
  return rates;
}

}  // namespace tilescope::microbench
