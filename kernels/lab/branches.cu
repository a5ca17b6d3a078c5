// What branches and code that runs for the first time cost a warp.
//
//   nvcc -std=c++20 -O3 -I. -arch=sm_90 -o branches kernels/lab/branches.cu && ./branches
//
// One block an SM, with one or two warps a scheduler. Each kernel runs a unit `units` times in straight line, and that a few
// rounds: the first round runs code for the first time. A unit's cost is a round's cycles over `units`; a chain of FFMAs begins it.
#include <algorithm>
#include <cstddef>
#include <cstdio>

constexpr int units = 16, rounds = 8, chain = 16;

#define FMA1 "fma.rn.f32 %0, %0, %2, %3;\n"
#define FMA4 FMA1 FMA1 FMA1 FMA1
#define FMA16 FMA4 FMA4 FMA4 FMA4
#define FMA64 FMA16 FMA16 FMA16 FMA16
#define FMA256 FMA64 FMA64 FMA64 FMA64
#define FMA1024 FMA256 FMA256 FMA256 FMA256
#define RUN(CODE) asm volatile(CODE : "+f"(x) : "r"(value), "f"(factor), "f"(addend), "r"(limit + i) : "memory")
// Skips `CODE` where the predicate holds. The comparison takes a value that changes from round to round, so it stays with its
// branch. Before a kernel another one runs, large enough to take its place in the instruction caches. Flushed: 256 MiB are written
// then too, so that the L2 does not hold the code either. Again: the kernel itself ran before the flush, as in a suite.
#define SKIP(CODE) RUN("{ .reg .pred p; setp.gt.s32 p, %1, %4;\n @p bra AFTER;\n" CODE "AFTER: }\n")

enum class Before { other, flushed, again };
enum class Unit { chain_only, compare_only, skip_16, skip_64, skip_256, skip_1024 };

struct Parameters {
  float values[900];
};

template <Unit unit>
__global__ void run(float* out, long long* cycles, float factor, float addend, int limit, int first, int step) {
  float x = 1.f;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round) {
    const int value = limit + first + round * step;
    const long long start = clock64();
#pragma unroll
    for (int i = 0; i < units; ++i) {
      RUN(FMA16);
      if constexpr (unit == Unit::compare_only)
        asm volatile("{ .reg .pred p; setp.gt.s32 p, %1, %2;\n selp.f32 %0, %0, %3, p; }"
                     : "+f"(x)
                     : "r"(value), "r"(limit + i), "f"(factor));
      if constexpr (unit == Unit::skip_16) SKIP(FMA16);
      if constexpr (unit == Unit::skip_64) SKIP(FMA64);
      if constexpr (unit == Unit::skip_256) SKIP(FMA256);
      if constexpr (unit == Unit::skip_1024) SKIP(FMA1024);
    }
    const long long now = clock64();
    if (threadIdx.x == 0) cycles[blockIdx.x * rounds + round] = now - start;
  }
  if (x == 12345.f) *out = x;
}

/// Reads one parameter of every 64 bytes, twice.
__global__ void read_parameters(float* out, long long* cycles, const Parameters parameters) {
  float x = 1.f;
  for (int round = 0; round < 2; ++round) {
    const long long start = clock64();
#pragma unroll
    for (int i = 0; i < 56; ++i) asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(x) : "f"(parameters.values[i * 16]));
    const long long now = clock64();
    if (threadIdx.x == 0) cycles[round] = now - start;
  }
  if (x == 12345.f) *out = x;
}

float* out;
long long* cycles;
int sms;
constexpr std::size_t flushed_bytes = std::size_t{256} << 20;
void* flushed;

/// Launches other code, so that the next kernel's first round meets no instructions of its own.
void forget_code() {
  run<Unit::skip_256><<<sms, 128>>>(out, cycles, 1.f, 0.f, 0, 0, 0);
}

/// first 0: no branch is taken in the first round, 1000: all are. step 0: later rounds do as the first; 1000: they take all.
template <Unit unit>
void measure(const char* name, int first = 0, int step = 0, Before before = Before::other) {
  for (const int warps : {1, 2}) {
    forget_code();
    if (before == Before::again) run<unit><<<sms, 128 * warps>>>(out, cycles, 1.f, 0.f, 0, first, step);
    if (before != Before::other) cudaMemset(flushed, warps, flushed_bytes);
    run<unit><<<sms, 128 * warps>>>(out, cycles, 1.f, 0.f, 0, first, step);
    cudaDeviceSynchronize();
    const double steady = static_cast<double>(*std::min_element(cycles + 3, cycles + rounds));
    double cold = 0;
    for (int sm = 0; sm < sms; ++sm) cold += static_cast<double>(cycles[sm * rounds]) / sms;
    std::printf("%-46s%s warps a scheduler %d: a unit %7.1f cycles; in the first round %7.1f\n", name,
                before == Before::again     ? ", again"
                : before == Before::flushed ? ", flushed"
                                            : "",
                warps, steady / units, cold / units);
  }
}

int main() {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 1;
  sms = properties.multiProcessorCount;
  std::printf("# kernels/lab/branches.cu on %s; each unit begins with %d dependent FFMAs\n", properties.name, chain);
  cudaMalloc(&out, 4);
  cudaMalloc(&flushed, flushed_bytes);
  cudaMallocManaged(&cycles, sizeof(long long) * static_cast<std::size_t>(sms) * rounds);
  measure<Unit::chain_only>("FFMAs alone");
  measure<Unit::compare_only>("a comparison and a selection");
  measure<Unit::skip_16>("a branch not taken, 16 FFMAs behind it");
  measure<Unit::skip_64>("a branch not taken, 64 FFMAs behind it");
  measure<Unit::skip_16>("a branch over 16 FFMAs", 1000);
  measure<Unit::skip_64>("a branch over 64 FFMAs", 1000);
  measure<Unit::skip_256>("a branch over 256 FFMAs", 1000);
  measure<Unit::skip_1024>("a branch over 1024 FFMAs", 1000);
  for (const Before before : {Before::flushed, Before::again}) {
    measure<Unit::chain_only>("FFMAs alone", 0, 0, before);
    measure<Unit::skip_16>("a branch over 16 FFMAs", 1000, 0, before);
    measure<Unit::skip_64>("a branch over 64 FFMAs", 1000, 0, before);
    measure<Unit::skip_256>("a branch over 256 FFMAs", 1000, 0, before);
    measure<Unit::skip_1024>("a branch over 1024 FFMAs", 1000, 0, before);
  }
  measure<Unit::skip_64>("a branch over 64 FFMAs that the first round ran", 0, 1000);
  const Parameters parameters{};
  for (int repeat = 0; repeat < 3; ++repeat) {
    forget_code();
    read_parameters<<<1, 128>>>(out, cycles, parameters);
    cudaDeviceSynchronize();
    std::printf("56 parameters, one in each 64 bytes: first %lld cycles, again %lld\n", cycles[0], cycles[1]);
  }
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) std::printf("%s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
