// What two events show around a kernel beyond the time in which its blocks run, by the shape of the kernel and by what it does
// last.
//
//   nvcc -std=c++20 -O3 -I. -arch=sm_90 -o launch_shapes kernels/lab/launch_shapes.cu && ./launch_shapes
//
// Each block waits for `cycles` cycles of its SM and ends. One kernel of N cycles and one of 2 N share what does not grow, so
// 2 t(N) - t(2 N) is that part. A flush of the L2 comes before each, as in `tilescope measure`; it has no shared memory.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kernels/lab/cold_start.cuh"

constexpr int short_wait = 8000, repeats = 61;

__device__ __forceinline__ unsigned sm_number() {
  unsigned number;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}

/// What a kernel does besides waiting.
struct Work {
  int cycles;
  int stores;  // of 16 bytes, by each thread, at the end
  uint4* out;
  long long* stamps;  // start and end of each block; null: none
  unsigned* sms;
};

__device__ __forceinline__ void wait_and_store(const Work& work) {
  const long long start = cycle_counter();
  long long now = start;
  while (now - start < work.cycles) now = cycle_counter();
  const long long at = static_cast<long long>(blockIdx.x) * blockDim.x * work.stores + threadIdx.x;
  for (int i = 0; i < work.stores; ++i)
    work.out[at + static_cast<long long>(i) * blockDim.x] = make_uint4(static_cast<unsigned>(now), 1, 2, 3);
  if (work.stamps != nullptr && threadIdx.x == 0) {
    work.stamps[2 * blockIdx.x] = start;
    work.stamps[2 * blockIdx.x + 1] = cycle_counter();
    work.sms[blockIdx.x] = sm_number();
  }
}

__global__ void plain(const Work work) {
  wait_and_store(work);
}
template <int bytes>
struct Parameters {
  float values[bytes / 4];
};
/// Reads one of its parameters.
template <int bytes>
__global__ void with_parameters(const Work work, const Parameters<bytes> parameters, float* never) {
  if (parameters.values[work.cycles % (bytes / 4)] == 12345.f) *never = 1;
  wait_and_store(work);
}
/// Runs `kib` KiB of code `rounds` times before the wait; 0: jumps over it.
template <int kib>
__global__ void with_code(const Work work, int rounds, float* never) {
  float x = 1.f;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round)
#pragma unroll
    for (int i = 0; i < kib * 64; ++i) asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x) : "f"(1.5f), "f"(0.5f));
  wait_and_store(work);
  if (x == 12345.f) *never = x;
}
FlushScratch scratch;
int sms;
cudaEvent_t begin, end;
uint4* out;
float* never;

enum class Kernel { plain, parameters_128, parameters_512, parameters_1024, parameters_2048, parameters_3600, code_16, code_64 };
const char* const kernel_names[] = {"plain",
                                    "128 B of parameters",
                                    "512 B of parameters",
                                    "1024 B of parameters",
                                    "2048 B of parameters",
                                    "3600 B of parameters",
                                    "16 KiB of code",
                                    "64 KiB of code"};

struct Shape {
  Kernel kernel = Kernel::plain;
  int blocks = 132, threads = 128, shared = 0, stores = 0;
  int flush_shared = 0;
  bool warm = false;
  int rounds = 0;  // of code
};

template <int bytes>
void launch_with(const Shape& shape, const Work& work) {
  with_parameters<bytes><<<shape.blocks, shape.threads, shape.shared>>>(work, Parameters<bytes>{}, never);
}
void launch(const Shape& shape, const Work& work) {
  switch (shape.kernel) {
    case Kernel::plain:
      plain<<<shape.blocks, shape.threads, shape.shared>>>(work);
      break;
    case Kernel::parameters_128:
      launch_with<128>(shape, work);
      break;
    case Kernel::parameters_512:
      launch_with<512>(shape, work);
      break;
    case Kernel::parameters_1024:
      launch_with<1024>(shape, work);
      break;
    case Kernel::parameters_2048:
      launch_with<2048>(shape, work);
      break;
    case Kernel::parameters_3600:
      launch_with<3600>(shape, work);
      break;
    case Kernel::code_16:
      with_code<16><<<shape.blocks, shape.threads, shape.shared>>>(work, shape.rounds, never);
      break;
    case Kernel::code_64:
      with_code<64><<<shape.blocks, shape.threads, shape.shared>>>(work, shape.rounds, never);
      break;
  }
}
template <class Function>
void allow_shared(Function function) {
  cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 * 1024);
}

double median_ns(const Shape& shape, int cycles) {
  std::vector<float> times;
  for (int i = 0; i < repeats; ++i) {
    scratch.flush(shape.flush_shared);
    if (shape.warm) launch(shape, {2 * short_wait, shape.stores, out, nullptr, nullptr});
    cudaEventRecord(begin);
    launch(shape, {cycles, shape.stores, out, nullptr, nullptr});
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    if (i >= 5) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2] * 1e6;
}
double fixed_ns(const Shape& shape) {
  return 2 * median_ns(shape, short_wait) - median_ns(shape, 2 * short_wait);
}
void show(const char* what, const Shape& shape) {
  double found[3];
  for (double& each : found) each = fixed_ns(shape);
  std::sort(found, found + 3);
  std::printf("%-44s %-24s blocks %3d threads %3d shared %6d stores %2d%s: %5.0f ns (%.0f to %.0f)\n", what,
              kernel_names[static_cast<int>(shape.kernel)], shape.blocks, shape.threads, shape.shared, shape.stores,
              shape.warm ? " warm" : "", found[1], found[0], found[2]);
}

/// Prints the median time from the end of a block to the start of the next on its SM.
void show_gap(const Shape& shape) {
  constexpr int blocks_of_sm = 8;
  Shape many = shape;
  many.blocks = sms * blocks_of_sm;
  long long* stamps;
  unsigned* where;
  cudaMallocManaged(&stamps, sizeof(long long) * 2 * static_cast<std::size_t>(many.blocks));
  cudaMallocManaged(&where, sizeof(unsigned) * static_cast<std::size_t>(many.blocks));
  for (int i = 0; i < 2; ++i) launch(many, {4000, shape.stores, out, stamps, where});
  cudaDeviceSynchronize();
  std::vector<std::vector<std::pair<long long, long long>>> of_sm(static_cast<std::size_t>(sms) + 64);
  for (int i = 0; i < many.blocks; ++i) of_sm[where[i]].emplace_back(stamps[2 * i], stamps[2 * i + 1]);
  std::vector<double> gaps;
  for (auto& list : of_sm) {
    std::sort(list.begin(), list.end());
    for (std::size_t i = 1; i < list.size(); ++i)
      if (list[i].first > list[i - 1].second) gaps.push_back(static_cast<double>(list[i].first - list[i - 1].second));
  }
  std::sort(gaps.begin(), gaps.end());
  if (!gaps.empty())
    std::printf("from block to block on one SM: %-24s threads %3d shared %6d stores %2d: %5.0f cycles (%.0f to %.0f), %zu gaps\n",
                kernel_names[static_cast<int>(shape.kernel)], shape.threads, shape.shared, shape.stores, gaps[gaps.size() / 2],
                gaps[gaps.size() / 10], gaps[gaps.size() * 9 / 10], gaps.size());
  cudaFree(stamps);
  cudaFree(where);
}

int main() {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 1;
  sms = properties.multiProcessorCount;
  scratch.allocate(properties);
  cudaMalloc(&out, std::size_t{64} << 20);
  cudaMalloc(&never, 4);
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  allow_shared(plain), allow_shared(flush_kernel);
  std::printf("# kernels/lab/launch_shapes.cu on %s: fixed part of the time between two events, medians of 3\n", properties.name);
  constexpr int kib = 1024;
  show("one warp", {.blocks = 1, .threads = 32});
  show("a block an SM", {});
  for (const int shared : {8, 16, 32, 48, 64, 82, 100, 132, 164, 200, 226}) show("shared memory", {.shared = shared * kib});
  for (const int threads : {256, 384, 512, 1024}) show("threads", {.threads = threads});
  for (const Kernel kernel :
       {Kernel::parameters_128, Kernel::parameters_512, Kernel::parameters_1024, Kernel::parameters_2048, Kernel::parameters_3600})
    for (const int blocks : {1, 132}) show("parameters", {.kernel = kernel, .blocks = blocks});
  for (const Kernel kernel : {Kernel::code_16, Kernel::code_64})
    for (const int rounds : {0, 1, 2, 3})
      show(rounds == 0   ? "code that nobody runs"
           : rounds == 1 ? "code, run once"
           : rounds == 2 ? "code, run twice"
                         : "code, run three times",
           {.kernel = kernel, .rounds = rounds});
  for (const int shared : {0, 82, 200})
    show("the flush has as much shared memory", {.shared = shared * kib, .flush_shared = shared * kib});
  for (const int shared : {0, 82, 200}) show("after itself", {.shared = shared * kib, .warm = true});
  for (const int stores : {1, 2, 4, 8, 16}) show("stores at the end", {.stores = stores});
  for (const int stores : {1, 8}) show("stores at the end, one block", {.blocks = 1, .stores = stores});
  for (const int stores : {1, 8}) show("stores and shared memory", {.shared = 82 * kib, .stores = stores});
  for (const int stores : {1, 2, 4, 8}) show("stores and threads", {.threads = 384, .stores = stores});
  for (const int blocks : {8, 32, 64, 264}) show("stores and blocks", {.blocks = blocks, .stores = 8});
  for (const int shared : {0, 82, 200})
    for (const int threads : {128, 384}) show_gap({.threads = threads, .shared = shared * kib});
  show_gap({.shared = 200 * kib, .stores = 8});
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::printf("%s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
