// Measures what a block does while its additions to memory are under way: whether its warps go on, and how much slower their reads
// of shared memory, their products and their arithmetic become.
//
//   nvcc -O3 -std=c++20 -arch=sm_90 kernels/lab/additions_beside.cu -o additions_beside && ./additions_beside
//
// A block, alone on the GPU, repeats a round: its four warps add 16 KiB as flash2_backward adds a tile of dQ (8 rows of 64 bytes an
// instruction), do other work, and meet at a barrier. Prints the mean cycles of a round, without and with the additions.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr int threads = 128, rounds = 64, adds = 8, tile_floats = 4096, row_floats = 64, tiles = 16;

enum Work { nothing, multiply_adds, products, shared_reads };
constexpr const char* names[] = {"nothing", "dependent FFMA", "mma.sync, 8 sums", "ldmatrix.x4"};

template <Work work, bool add>
__global__ __launch_bounds__(threads) void round_kernel(float* memory, float* out, long long* cycles, int times) {
  __shared__ __align__(128) char shared[16384];
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  for (int i = threadIdx.x; i < 4096; i += threads) reinterpret_cast<float*>(shared)[i] = 0.f;
  __syncthreads();
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared)) + warp * 4096 + lane * 16;
  float sums[8][4] = {};
  std::uint32_t seen = 0;
  float x = threadIdx.x;
  long long start = 0;
  for (int round = 0; round < rounds + 8; ++round) {
    if (round == 8) start = clock64();
    if constexpr (add) {
      float* const to =
          memory + (round % tiles) * tile_floats + (warp / 2 * 32 + lane / 4) * row_floats + warp % 2 * 32 + (lane & 3) * 4;
#pragma unroll
      for (int i = 0; i < adds; ++i)
        asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(to + i / 2 * 8 * row_floats + i % 2 * 16),
                     "f"(1.f)
                     : "memory");
    }
    for (int n = 0; n < times; ++n) {
      if constexpr (work == multiply_adds)
#pragma unroll
        for (int i = 0; i < 16; ++i) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(x));
      if constexpr (work == products)
#pragma unroll
        for (int i = 0; i < 8; ++i)
          asm volatile(
              "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
              : "+f"(sums[i][0]), "+f"(sums[i][1]), "+f"(sums[i][2]), "+f"(sums[i][3])
              : "r"(0));
      if constexpr (work == shared_reads)
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          std::uint32_t a, b, c, d;
          asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                       : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                       : "r"(base + i * 512)
                       : "memory");
          seen ^= a ^ b ^ c ^ d;
        }
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) *cycles = clock64() - start;
  for (auto& sum : sums) x += sum[0] + sum[1] + sum[2] + sum[3];
  out[threadIdx.x] = x + static_cast<float>(seen);
}

float* memory;
float* out;
long long* cycles;

template <Work work, bool add>
double measured(int times) {
  double best = 1e30;
  for (int turn = 0; turn < 5; ++turn) {
    round_kernel<work, add><<<1, threads>>>(memory, out, cycles, times);
    long long found = 0;
    cudaMemcpy(&found, cycles, sizeof(found), cudaMemcpyDeviceToHost);
    if (const double each = static_cast<double>(found) / rounds; each < best) best = each;
  }
  return best;
}

template <Work work>
void print(const std::vector<int>& counts) {
  for (const int times : counts)
    std::printf("%-18s %6d %10.0f %10.0f\n", names[work], times, measured<work, false>(times), measured<work, true>(times));
}

}  // namespace

int main() {
  cudaDeviceProp device{};
  cudaGetDeviceProperties(&device, 0);
  cudaMalloc(&memory, tiles * tile_floats * sizeof(float));
  cudaMemset(memory, 0, tiles * tile_floats * sizeof(float));
  cudaMalloc(&out, threads * sizeof(float));
  cudaMalloc(&cycles, sizeof(long long));
  std::printf("%s: cycles of a round of one block of four warps; with 16 KiB added to memory\n", device.name);
  std::printf("%-18s %6s %10s %10s\n", "work", "times", "without", "with");
  print<nothing>({0});
  print<multiply_adds>({2, 4, 8, 16, 32});
  print<products>({4, 8, 16, 32, 64});
  print<shared_reads>({1, 2, 4, 8, 16});
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    return 1;
  }
}
