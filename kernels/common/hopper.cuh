// Building blocks of the sm_90a kernels: TMA copies, mbarriers with byte counts, wgmma, named barriers, setmaxnreg.
//
//   A shared tile is a row of panels, each 64 elements (128 bytes) wide:   panel 0 [rows][64]   panel 1 [rows][64]
//   TMA writes it with the 128-byte swizzle: 16-byte chunk c of row r is at position c ^ (r & 7). wgmma reads it back the same way.
//   Every panel starts at a multiple of 1024 bytes, where the swizzle pattern begins.
#pragma once

#include <cuda.h>

#include "kernels/common/tensor_core.cuh"

namespace tilescope::device {

inline constexpr int panel_elements = 64, panel_row_bytes = 128;

// --- mbarriers whose phase also counts bytes ---

/// Arrives, and makes the phase wait for `bytes` more bytes of TMA copies.
__device__ __forceinline__ void barrier_arrive_expecting(std::uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
/// Makes the initialised barriers visible to the copy engine.
__device__ __forceinline__ void barriers_ready() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

// --- TMA: one thread copies a box of a [planes][panels][rows][64] view, with everything past the last row left out ---

/// Starts the load of the box at `row` of `plane`. Rows past the end become zeros and are not read.
__device__ __forceinline__ void load_box(std::uint32_t shared, const CUtensorMap* map, std::uint32_t barrier, int row, int plane) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %3, %5}], [%2];" ::"r"(
          shared),
      "l"(map), "r"(barrier), "r"(0), "r"(row), "r"(plane)
      : "memory");
}
/// Starts the load of a box of one panel, at `row` of plane 0.
__device__ __forceinline__ void load_panel_box(std::uint32_t shared, const CUtensorMap* map, std::uint32_t barrier, int row,
                                               int panel) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %3}], [%2];" ::"r"(
          shared),
      "l"(map), "r"(barrier), "r"(0), "r"(row), "r"(panel)
      : "memory");
}
/// Starts the store of the box at `row` of `plane`. Rows past the end are not written.
__device__ __forceinline__ void store_box(const CUtensorMap* map, std::uint32_t shared, int row, int plane) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %2, %4}], [%1];" ::"l"(map), "r"(shared),
               "r"(0), "r"(row), "r"(plane)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Waits until the stores that this thread started have read their shared memory.
__device__ __forceinline__ void stores_have_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
/// Starts the addition of floats to global memory, in the L2. `bytes` is a multiple of 16.
__device__ __forceinline__ void add_bulk(float* to, std::uint32_t shared, int bytes) {
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to), "r"(shared), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ __forceinline__ void prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
/// Orders this thread's shared-memory writes before later reads by TMA or wgmma.
__device__ __forceinline__ void shared_writes_visible_to_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void store_shared(std::uint32_t address, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(address), "f"(value) : "memory");
}
__device__ __forceinline__ float load_shared(std::uint32_t address) {
  float value;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
  return value;
}

__device__ __forceinline__ void store_four(std::uint32_t address, const float* x) {
  asm volatile("st.shared.v4.f32 [%0], {%1,%2,%3,%4};" ::"r"(address), "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]) : "memory");
}
__device__ __forceinline__ void load_four(float* x, std::uint32_t address) {
  asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(x[0]), "=f"(x[1]), "=f"(x[2]), "=f"(x[3]) : "r"(address) : "memory");
}

// --- warpgroups ---

/// Synchronises (or only announces) `threads` threads at named barrier `id`. Barrier 0 is __syncthreads.
__device__ __forceinline__ void named_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void named_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
template <int registers>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers));
}
template <int registers>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers));
}

/// Stores four 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void store_matrices(std::uint32_t address, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                               std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
/// Does the same with each matrix transposed: a row in memory is a column of the fragment.
__device__ __forceinline__ void store_matrices_transposed(std::uint32_t address, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                                          std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

// --- wgmma: D [64,n] += A [64,16] B [16,n], D in the registers of a warpgroup ---

/// Orders register writes before the next wgmma that reads them.
__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int left>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory");
}
/// Keeps the compiler from moving uses of the registers across this point: a wgmma in flight reads or writes them.
template <int count>
__device__ __forceinline__ void pin(float (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}
template <int count>
__device__ __forceinline__ void pin(std::uint32_t (&registers)[count]) {
#pragma unroll
  for (int i = 0; i < count; ++i) asm volatile("" : "+r"(registers[i])::"memory");
}

/// Keeps the arithmetic that leads to `value`, a number that is never negative, before this point. The compiler otherwise moves
/// arithmetic behind a wait for products, and then nothing runs under them. It cannot know that the store never happens, and a
/// branch would make it run the products one by one. `shared` is any address in shared memory.
__device__ __forceinline__ void finish_before_here(float value, std::uint32_t shared) {
  asm volatile("{ .reg .pred never; setp.lt.f32 never, %0, 0f00000000; @never st.volatile.shared.f32 [%1], %0; }" ::"f"(value),
               "r"(shared)
               : "memory");
}

/// Returns the descriptor of a swizzled shared tile; `panel_bytes` leads from one panel to the next where n runs along the row.
/// Source   PTX ISA, Matrix Descriptor Format of wgmma
__device__ __forceinline__ std::uint64_t wgmma_descriptor(std::uint32_t address, int panel_bytes) {
  constexpr std::uint64_t swizzle_128 = std::uint64_t{1} << 62, eight_rows = std::uint64_t{8 * panel_row_bytes >> 4} << 32;
  return swizzle_128 | eight_rows | static_cast<std::uint64_t>(panel_bytes >> 4) << 16 | (address & 0x3ffffu) >> 4;
}

/// The instruction for one type and n. shared(): A and B from shared memory, both with k along the row; starts from zero if
/// `fresh`. start(): the same from zero, for sums whose registers held something else before. start_transposed() and
/// add_transposed(): B has n along the row. registers(): A from registers, B with n along the row.
template <class T, int n>
struct Wgmma;

// `access` is "+", or "=" for sums that start from zero: what they held before is then free for the compiler.
#define TILESCOPE_SUMS_8(access, i)                                                                                               \
  access "f"(d[i]), access "f"(d[i + 1]), access "f"(d[i + 2]), access "f"(d[i + 3]), access "f"(d[i + 4]), access "f"(d[i + 5]), \
      access "f"(d[i + 6]), access "f"(d[i + 7])
#define TILESCOPE_SUMS_16(access, i) TILESCOPE_SUMS_8(access, i), TILESCOPE_SUMS_8(access, i + 8)
#define TILESCOPE_SUMS_24(access, i) TILESCOPE_SUMS_16(access, i), TILESCOPE_SUMS_8(access, i + 16)
#define TILESCOPE_SUMS_32(access, i) TILESCOPE_SUMS_24(access, i), TILESCOPE_SUMS_8(access, i + 24)
#define TILESCOPE_SUMS_40(access, i) TILESCOPE_SUMS_32(access, i), TILESCOPE_SUMS_8(access, i + 32)
#define TILESCOPE_SUMS_48(access, i) TILESCOPE_SUMS_40(access, i), TILESCOPE_SUMS_8(access, i + 40)
#define TILESCOPE_SUMS_56(access, i) TILESCOPE_SUMS_48(access, i), TILESCOPE_SUMS_8(access, i + 48)
#define TILESCOPE_SUMS_64(access, i) TILESCOPE_SUMS_56(access, i), TILESCOPE_SUMS_8(access, i + 56)
#define TILESCOPE_SUMS_72(access, i) TILESCOPE_SUMS_64(access, i), TILESCOPE_SUMS_8(access, i + 64)
#define TILESCOPE_SUMS_80(access, i) TILESCOPE_SUMS_72(access, i), TILESCOPE_SUMS_8(access, i + 72)
#define TILESCOPE_SUMS_88(access, i) TILESCOPE_SUMS_80(access, i), TILESCOPE_SUMS_8(access, i + 80)
#define TILESCOPE_SUMS_96(access, i) TILESCOPE_SUMS_88(access, i), TILESCOPE_SUMS_8(access, i + 88)
#define TILESCOPE_NAMES_8 "%0,%1,%2,%3,%4,%5,%6,%7"
#define TILESCOPE_NAMES_16 TILESCOPE_NAMES_8 ",%8,%9,%10,%11,%12,%13,%14,%15"
#define TILESCOPE_NAMES_24 TILESCOPE_NAMES_16 ",%16,%17,%18,%19,%20,%21,%22,%23"
#define TILESCOPE_NAMES_32 TILESCOPE_NAMES_24 ",%24,%25,%26,%27,%28,%29,%30,%31"
#define TILESCOPE_NAMES_40 TILESCOPE_NAMES_32 ",%32,%33,%34,%35,%36,%37,%38,%39"
#define TILESCOPE_NAMES_48 TILESCOPE_NAMES_40 ",%40,%41,%42,%43,%44,%45,%46,%47"
#define TILESCOPE_NAMES_56 TILESCOPE_NAMES_48 ",%48,%49,%50,%51,%52,%53,%54,%55"
#define TILESCOPE_NAMES_64 TILESCOPE_NAMES_56 ",%56,%57,%58,%59,%60,%61,%62,%63"
#define TILESCOPE_NAMES_72 TILESCOPE_NAMES_64 ",%64,%65,%66,%67,%68,%69,%70,%71"
#define TILESCOPE_NAMES_80 TILESCOPE_NAMES_72 ",%72,%73,%74,%75,%76,%77,%78,%79"
#define TILESCOPE_NAMES_88 TILESCOPE_NAMES_80 ",%80,%81,%82,%83,%84,%85,%86,%87"
#define TILESCOPE_NAMES_96 TILESCOPE_NAMES_88 ",%88,%89,%90,%91,%92,%93,%94,%95"

// `a` to `e` are the numbers of the operands after the sums.
#define TILESCOPE_WGMMA(Type, word, n, count, a, b, c, d_, e)                                                                 \
  template <>                                                                                                                 \
  struct Wgmma<Type, n> {                                                                                                     \
    template <bool fresh>                                                                                                     \
    static __device__ __forceinline__ void shared(float (&d)[count], std::uint64_t left, std::uint64_t right) {               \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #c ", 0; wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." word "." word \
                   " {" TILESCOPE_NAMES_##count "}, %" #a ", %" #b ", p, 1, 1, 0, 0; }"                                       \
                   : TILESCOPE_SUMS_##count("+", 0)                                                                           \
                   : "l"(left), "l"(right), "n"(fresh ? 0 : 1));                                                              \
    }                                                                                                                         \
    static __device__ __forceinline__ void start(float (&d)[count], std::uint64_t left, std::uint64_t right) {                \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #c ", 0; wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." word "." word \
                   " {" TILESCOPE_NAMES_##count "}, %" #a ", %" #b ", p, 1, 1, 0, 0; }"                                       \
                   : TILESCOPE_SUMS_##count("=", 0)                                                                           \
                   : "l"(left), "l"(right), "n"(0));                                                                          \
    }                                                                                                                         \
    static __device__ __forceinline__ void start_transposed(float (&d)[count], std::uint64_t left, std::uint64_t right) {     \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #c ", 0; wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." word "." word \
                   " {" TILESCOPE_NAMES_##count "}, %" #a ", %" #b ", p, 1, 1, 0, 1; }"                                       \
                   : TILESCOPE_SUMS_##count("=", 0)                                                                           \
                   : "l"(left), "l"(right), "n"(0));                                                                          \
    }                                                                                                                         \
    static __device__ __forceinline__ void add_transposed(float (&d)[count], std::uint64_t left, std::uint64_t right) {       \
      asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #c ", 0; wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." word "." word \
                   " {" TILESCOPE_NAMES_##count "}, %" #a ", %" #b ", p, 1, 1, 0, 1; }"                                       \
                   : TILESCOPE_SUMS_##count("+", 0)                                                                           \
                   : "l"(left), "l"(right), "n"(1));                                                                          \
    }                                                                                                                         \
    static __device__ __forceinline__ void registers(float (&d)[count], const std::uint32_t* left, std::uint64_t right) {     \
      asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." word "." word " {" TILESCOPE_NAMES_##count               \
                   "}, {%" #a ",%" #b ",%" #c ",%" #d_ "}, %" #e ", 1, 1, 1, 1;"                                              \
                   : TILESCOPE_SUMS_##count("+", 0)                                                                           \
                   : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));                                     \
    }                                                                                                                         \
  };
TILESCOPE_WGMMA(half_type, "f16", 64, 32, 32, 33, 34, 35, 36)
TILESCOPE_WGMMA(bfloat_type, "bf16", 64, 32, 32, 33, 34, 35, 36)
TILESCOPE_WGMMA(half_type, "f16", 80, 40, 40, 41, 42, 43, 44)
TILESCOPE_WGMMA(bfloat_type, "bf16", 80, 40, 40, 41, 42, 43, 44)
TILESCOPE_WGMMA(half_type, "f16", 96, 48, 48, 49, 50, 51, 52)
TILESCOPE_WGMMA(bfloat_type, "bf16", 96, 48, 48, 49, 50, 51, 52)
TILESCOPE_WGMMA(half_type, "f16", 112, 56, 56, 57, 58, 59, 60)
TILESCOPE_WGMMA(bfloat_type, "bf16", 112, 56, 56, 57, 58, 59, 60)
TILESCOPE_WGMMA(half_type, "f16", 128, 64, 64, 65, 66, 67, 68)
TILESCOPE_WGMMA(bfloat_type, "bf16", 128, 64, 64, 65, 66, 67, 68)
TILESCOPE_WGMMA(half_type, "f16", 144, 72, 72, 73, 74, 75, 76)
TILESCOPE_WGMMA(bfloat_type, "bf16", 144, 72, 72, 73, 74, 75, 76)
TILESCOPE_WGMMA(half_type, "f16", 160, 80, 80, 81, 82, 83, 84)
TILESCOPE_WGMMA(bfloat_type, "bf16", 160, 80, 80, 81, 82, 83, 84)
TILESCOPE_WGMMA(half_type, "f16", 176, 88, 88, 89, 90, 91, 92)
TILESCOPE_WGMMA(bfloat_type, "bf16", 176, 88, 88, 89, 90, 91, 92)
TILESCOPE_WGMMA(half_type, "f16", 192, 96, 96, 97, 98, 99, 100)
TILESCOPE_WGMMA(bfloat_type, "bf16", 192, 96, 96, 97, 98, 99, 100)
#undef TILESCOPE_WGMMA

}  // namespace tilescope::device
