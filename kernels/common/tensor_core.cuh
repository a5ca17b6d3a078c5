// Building blocks of the tensor-core kernels: 16-bit element types, ldmatrix, mma.sync, cp.async, mbarrier and the swizzle.
//
//   A shared tile has rows of 64 or 128 elements (128 or 256 bytes). The swizzle permutes the 16-byte chunks of each row:
//   chunk c of row r is stored at position c ^ (r & 7). Both access patterns are then free of bank conflicts: the eight rows that
//   ldmatrix reads at one chunk column fall on all 32 banks, and so do the eight chunks of a row that cp.async writes.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace tilescope::device {

using half_type = __half;
using bfloat_type = __nv_bfloat16;

inline constexpr float log2_e = 1.4426950408889634f;
inline constexpr float ln_2 = 0.6931471805599453f;

__device__ __forceinline__ float minus_infinity() {
  return __int_as_float(0xff800000);
}

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Returns the byte offset of 16-byte chunk `chunk` of row `row` in a swizzled tile with rows of `row_bytes` bytes.
template <int row_bytes>
__device__ __forceinline__ constexpr std::uint32_t swizzled(int row, int chunk) {
  return static_cast<std::uint32_t>(row * row_bytes + ((chunk ^ (row & 7)) << 4));
}

__device__ __forceinline__ void load_matrices(std::uint32_t (&r)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

__device__ __forceinline__ void load_matrices_transposed(std::uint32_t (&r)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}

/// Computes d = a b + c on one 16x8x16 tile, with fp32 accumulation.
template <class T>
__device__ __forceinline__ void mma(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
                                    const float (&c)[4]);

template <>
__device__ __forceinline__ void mma<half_type>(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
                                               const float (&c)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

template <>
__device__ __forceinline__ void mma<bfloat_type>(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
                                                 const float (&c)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

/// Rounds two floats to T and packs them, `low` in the lower half.
template <class T>
__device__ __forceinline__ std::uint32_t pack(float low, float high);

template <>
__device__ __forceinline__ std::uint32_t pack<half_type>(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

template <>
__device__ __forceinline__ std::uint32_t pack<bfloat_type>(float low, float high) {
  std::uint32_t packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  return packed;
}

/// Returns the two floats of a packed pair.
template <class T>
__device__ __forceinline__ float2 unpack(std::uint32_t packed);

template <>
__device__ __forceinline__ float2 unpack<half_type>(std::uint32_t packed) {
  float2 pair;
  asm("{\n .reg .b16 low, high;\n mov.b32 {low, high}, %2;\n cvt.f32.f16 %0, low;\n cvt.f32.f16 %1, high;\n}"
      : "=f"(pair.x), "=f"(pair.y)
      : "r"(packed));
  return pair;
}

template <>
__device__ __forceinline__ float2 unpack<bfloat_type>(std::uint32_t packed) {
  return make_float2(__uint_as_float(packed << 16), __uint_as_float(packed & 0xffff0000u));
}

template <class T>
__device__ __forceinline__ float to_float(T value);
template <>
__device__ __forceinline__ float to_float<half_type>(half_type value) {
  return __half2float(value);
}
template <>
__device__ __forceinline__ float to_float<bfloat_type>(bfloat_type value) {
  return __bfloat162float(value);
}

template <class T>
__device__ __forceinline__ T from_float(float value);
template <>
__device__ __forceinline__ half_type from_float<half_type>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ __forceinline__ bfloat_type from_float<bfloat_type>(float value) {
  return __float2bfloat16_rn(value);
}

/// Returns 2^x from the special-function unit; 2^-inf is 0.
__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Starts a 16-byte cp.async, which bypasses the L1 and the registers. If `present` is false, it reads nothing and writes zeros.
__device__ __forceinline__ void copy_async(std::uint32_t shared, const void* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(global) : "memory");
}
__device__ __forceinline__ void copy_async(std::uint32_t shared, const void* global, bool present) {
  const int bytes = present ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(global), "r"(bytes) : "memory");
}
/// A condition of the whole warp, as a predicate of the instruction: no branch divides the code around it.
struct OnlyIf {
  bool wanted;
};
__device__ __forceinline__ void copy_async(std::uint32_t shared, const void* global, OnlyIf only) {
  asm volatile("{ .reg .pred wanted; setp.ne.s32 wanted, %2, 0; @wanted cp.async.cg.shared.global [%0], [%1], 16; }" ::"r"(shared),
               "l"(global), "r"(static_cast<int>(only.wanted))
               : "memory");
}
__device__ __forceinline__ void copy_async(std::uint32_t shared, const void* global, bool present, OnlyIf only) {
  const int bytes = present ? 16 : 0;
  asm volatile(
      "{ .reg .pred wanted; setp.ne.s32 wanted, %3, 0; @wanted cp.async.cg.shared.global [%0], [%1], 16, %2; }" ::"r"(shared),
      "l"(global), "r"(bytes), "r"(static_cast<int>(only.wanted))
      : "memory");
}
__device__ __forceinline__ void copy_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int left>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory");
}

/// An mbarrier in shared memory. A phase completes after `arrivals` arrivals; to wait for phase p, wait for parity p & 1.
__device__ __forceinline__ void barrier_start(std::uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void barrier_arrive(std::uint32_t barrier) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(barrier) : "memory");
}
/// Arrives once all copies that this thread has started so far have landed.
__device__ __forceinline__ void barrier_arrive_after_copies(std::uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
#if __CUDA_ARCH__ >= 900
  asm volatile("{ .reg .pred done; again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1; @done bra over; bra again; over: }"
#else
  asm volatile("{ .reg .pred done; again: mbarrier.test_wait.parity.shared.b64 done, [%0], %1; @done bra over; bra again; over: }"
#endif
               ::"r"(barrier),
               "r"(parity)
               : "memory");
}

/// Returns the maximum (the sum) over the four lanes that hold one accumulator row.
__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

}  // namespace tilescope::device
