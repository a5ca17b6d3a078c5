// Runs the access patterns of sim/analysis/bank_conflicts.cpp, one kernel each, so that a profiler can count wavefronts and
// sectors.
//
//   nvcc -O3 -std=c++20 -arch=sm_90 kernels/lab/bank_patterns.cu -o bank_patterns
//   ncu --metrics l1tex__data_pipe_lsu_wavefronts_mem_shared.sum,\
//       l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum ./bank_patterns
//
// One warp does each access 1000 times; the counters over 1000 are those of one access. Addresses are written here once more, so
// that a mistake in the model's patterns shows. Shared memory is not touched otherwise; a global result is stored once.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

namespace {

constexpr int times = 1000;

__device__ std::uint32_t tile_offset(int row, int byte, bool swizzled) {
  const int chunk = byte / 16 % 8;
  return row * 128 + (swizzled ? chunk ^ (row & 7) : chunk) * 16 + byte % 16;
}
__device__ std::uint32_t shared_base(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

template <bool swizzled>
__global__ void ldmatrix_kernel(std::uint32_t* out) {
  __shared__ __align__(1024) unsigned char tile[8192];
  const int lane = threadIdx.x;
  const std::uint32_t at = shared_base(tile) + tile_offset(lane % 16, lane / 16 * 16, swizzled);
  std::uint32_t a = 0, b, c, d, sum = 0;
#pragma unroll 1
  for (int i = 0; i < times; ++i) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "r"(at)
                 : "memory");
    sum += a ^ b ^ c ^ d;
  }
  out[lane] = sum;
}
template <bool swizzled>
__global__ void stmatrix_kernel(std::uint32_t* out) {
  __shared__ __align__(1024) unsigned char tile[8192];
  const int lane = threadIdx.x;
  const std::uint32_t at = shared_base(tile) + tile_offset(lane % 16, lane / 16 * 16, swizzled);
  for (int i = 0; i < times; ++i)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%1,%1,%1};" ::"r"(at), "r"(lane) : "memory");
  out[lane] = at;
}
template <bool swizzled>
__global__ void store_pairs_kernel(std::uint32_t* out) {
  __shared__ __align__(1024) unsigned char tile[8192];
  const int lane = threadIdx.x;
  const std::uint32_t at = shared_base(tile) + tile_offset(lane / 4, lane % 4 * 4, swizzled);
  for (int i = 0; i < times; ++i) asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(at), "r"(lane) : "memory");
  out[lane] = at;
}
template <bool swizzled>
__global__ void column_kernel(std::uint32_t* out) {
  __shared__ __align__(1024) unsigned char tile[8192];
  const int lane = threadIdx.x;
  const std::uint32_t at = shared_base(tile) + tile_offset(lane, 0, swizzled);
  std::uint32_t a = 0, sum = 0;
#pragma unroll 1
  for (int i = 0; i < times; ++i) {
    asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(a) : "r"(at) : "memory");
    sum += a;
  }
  out[lane] = sum;
}
template <bool swizzled>
__global__ void rows_kernel(std::uint32_t* out) {
  __shared__ __align__(1024) unsigned char tile[8192];
  const int lane = threadIdx.x;
  const std::uint32_t at = shared_base(tile) + tile_offset(lane / 8, lane % 8 * 16, swizzled);
  std::uint32_t a = 0, b, c, d, sum = 0;
#pragma unroll 1
  for (int i = 0; i < times; ++i) {
    asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at) : "memory");
    sum += a;
  }
  out[lane] = sum ^ b ^ c ^ d;
}
__global__ void broadcast_kernel(std::uint32_t* out) {
  __shared__ __align__(1024) unsigned char tile[8192];
  const std::uint32_t at = shared_base(tile);
  std::uint32_t a = 0, sum = 0;
#pragma unroll 1
  for (int i = 0; i < times; ++i) {
    asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(a) : "r"(at) : "memory");
    sum += a;
  }
  out[threadIdx.x] = sum;
}
__global__ void global_kernel(const unsigned char* data, int stride, int first, std::uint32_t* out) {
  const unsigned char* const at = data + first + threadIdx.x * stride;
  std::uint32_t a = 0, sum = 0;
#pragma unroll 1
  for (int i = 0; i < times; ++i) {
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(a) : "l"(at) : "memory");
    sum += a;
  }
  out[threadIdx.x] = sum;
}
__global__ void global_wide_kernel(const unsigned char* data, int stride, std::uint32_t* out) {
  const unsigned char* const at = data + threadIdx.x * stride;
  std::uint32_t a = 0, b, c, d, sum = 0;
#pragma unroll 1
  for (int i = 0; i < times; ++i) {
    asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(at) : "memory");
    sum += a;
  }
  out[threadIdx.x] = sum ^ b ^ c ^ d;
}

}  // namespace

int main() {
  unsigned char* data = nullptr;
  std::uint32_t* out = nullptr;
  if (cudaMalloc(&data, 1 << 16) != cudaSuccess || cudaMemset(data, 1, 1 << 16) != cudaSuccess ||
      cudaMalloc(&out, 128) != cudaSuccess)
    return 1;
  ldmatrix_kernel<false><<<1, 32>>>(out);
  ldmatrix_kernel<true><<<1, 32>>>(out);
  store_pairs_kernel<false><<<1, 32>>>(out);
  store_pairs_kernel<true><<<1, 32>>>(out);
  stmatrix_kernel<false><<<1, 32>>>(out);
  stmatrix_kernel<true><<<1, 32>>>(out);
  column_kernel<false><<<1, 32>>>(out);
  column_kernel<true><<<1, 32>>>(out);
  rows_kernel<false><<<1, 32>>>(out);
  rows_kernel<true><<<1, 32>>>(out);
  broadcast_kernel<<<1, 32>>>(out);
  global_kernel<<<1, 32>>>(data, 4, 0, out);
  global_wide_kernel<<<1, 32>>>(data, 16, out);
  global_kernel<<<1, 32>>>(data, 4, 4, out);
  global_kernel<<<1, 32>>>(data, 8, 0, out);
  global_wide_kernel<<<1, 32>>>(data, 256, out);
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 1;
}
