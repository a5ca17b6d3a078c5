// What a kernel's first reads of its parameters cost, and what parameters that nobody reads cost.
//
//   nvcc -std=c++20 -O3 -I. -arch=sm_90 -o cold_parameters kernels/lab/cold_parameters.cu && ./cold_parameters
//
// Parameters lie in a constant bank. A warp reads one in each 64 bytes, as an operand of an FFMA or by an index, and stamps the
// time after each. Before the kernel runs a flush of the L2, or the kernel itself.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "kernels/lab/cold_start.cuh"

constexpr int lines = 24, repeats = 41;

struct Parameters {
  float values[lines * 16];
};

/// Stamps the time before the reads and after each. `by_index`: the address of a parameter is in a register.
template <bool by_index>
__global__ void read_parameters(long long* stamps, float* never, const Parameters parameters) {
  float x = 1.f;
  long long at[lines + 1];
  at[0] = cycle_counter();
#pragma unroll
  for (int i = 0; i < lines; ++i) {
    if constexpr (by_index) {
      int index = i * 16;
      asm volatile("" : "+r"(index));
      asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(x) : "f"(parameters.values[index]));
    } else {
      asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(x) : "f"(parameters.values[i * 16]));
    }
    asm volatile("mov.f32 %0, %0;" : "+f"(x));
    at[i + 1] = cycle_counter() + (x == 12345.f);
  }
  if (threadIdx.x == 0)
    for (int i = 0; i <= lines; ++i) stamps[blockIdx.x * (lines + 1) + i] = at[i];
  if (x == 12345.f) *never = x;
}

struct Plain {
  int cycles;
};
template <int bytes>
struct Padded {
  int cycles;
  char unread[bytes];
};
__device__ __forceinline__ void wait(int cycles) {
  const long long start = cycle_counter();
  while (cycle_counter() - start < cycles) {}
}
__global__ void wait_plain(const Plain work) {
  wait(work.cycles);
}
template <int bytes>
__global__ void wait_padded(const Padded<bytes> work) {
  wait(work.cycles);
}

FlushScratch scratch;
long long* stamps;
float* never;
cudaEvent_t begin, end;

void flush_l2() {
  scratch.flush();
}

template <bool by_index>
void show(const char* before, bool cold, int blocks) {
  std::vector<double> each(lines, 0);
  for (int i = 0; i < repeats; ++i) {
    if (cold) flush_l2();
    read_parameters<by_index><<<blocks, 128>>>(stamps, never, Parameters{});
    cudaDeviceSynchronize();
    if (i == 0) continue;
    for (int block = 0; block < blocks; ++block)
      for (int line = 0; line < lines; ++line)
        each[static_cast<std::size_t>(line)] +=
            static_cast<double>(stamps[block * (lines + 1) + line + 1] - stamps[block * (lines + 1) + line]) / blocks /
            (repeats - 1);
  }
  std::printf("%-10s blocks %3d, %-12s cycles by line:", by_index ? "by index" : "operand", blocks, before);
  for (const double cycles : each) std::printf(" %.0f", cycles);
  std::printf("\n");
}

/// Median ns between two events around a kernel, from a cold L2. Prints it for waits of N, 2 N and 4 N cycles.
template <class Launch>
void show_times(int bytes, const char* before, void (*prepare)(), Launch launch) {
  for (const int blocks : {1, 132, 264}) {
    std::printf("%4d bytes of parameters, %s, blocks %3d:", bytes, before, blocks);
    for (const int cycles : {0, 8000, 16000, 32000}) {
      std::vector<float> times;
      for (int i = 0; i < repeats; ++i) {
        prepare();
        cudaEventRecord(begin);
        launch(blocks, cycles);
        cudaEventRecord(end);
        cudaEventSynchronize(end);
        float ms = 0;
        cudaEventElapsedTime(&ms, begin, end);
        times.push_back(ms);
      }
      std::sort(times.begin(), times.end());
      std::printf("  wait %5d %6.0f ns", cycles, times[times.size() / 2] * 1e6);
    }
    std::printf("\n");
  }
}
void flush_and_wait() {
  flush_l2();
  wait_plain<<<1, 32>>>(Plain{40000});
}
template <int bytes>
void show_padded() {
  const auto launch = [](int blocks, int cycles) { wait_padded<bytes><<<blocks, 128>>>(Padded<bytes>{cycles, {}}); };
  show_times(bytes + 4, "after a flush", flush_l2, launch);
  show_times(bytes + 4, "after a flush and a wait", flush_and_wait, launch);
}

int main() {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 1;
  scratch.allocate(properties);
  cudaMallocManaged(&stamps, sizeof(long long) * 132 * (lines + 1));
  cudaMalloc(&never, 4);
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::printf("# kernels/lab/cold_parameters.cu on %s\n", properties.name);
  for (const int blocks : {1, 132}) {
    show<false>("after a flush", true, blocks);
    show<false>("after itself", false, blocks);
    show<true>("after a flush", true, blocks);
    show<true>("after itself", false, blocks);
  }
  show_padded<28>();
  show_padded<60>();
  show_padded<92>();
  show_padded<124>();
  show_padded<156>();
  show_padded<188>();
  show_padded<252>();
  show_padded<508>();
  show_padded<1020>();
  show_padded<4000>();
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::printf("%s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
