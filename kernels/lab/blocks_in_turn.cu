// How long an SM takes from one block to the next, by the block's threads, registers and shared memory.
//
//   nvcc -std=c++20 -O3 -I. -gencode=arch=compute_90a,code=sm_90a -o blocks_in_turn kernels/lab/blocks_in_turn.cu &&
//   ./blocks_in_turn
//
// Every SM runs eight blocks, one at a time. Each warp reads the SM's clock at its start, behind a barrier of the block and at its
// end. With "all registers" the block holds the SM's whole register file; with "registers move" its groups also exchange
// them (setmaxnreg), as the rungs of the ladder do. Medians over all SMs, in cycles.
#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

constexpr int blocks_of_sm = 8, work = 6000, most_warps = 32;

struct WarpStamps {
  long long start, together, end;
  int sm;
};

enum class Registers { few, all, move };

template <int threads, Registers registers>
__global__ void __launch_bounds__(threads, 1) run(WarpStamps* stamps, int never) {
  extern __shared__ char shared[];
  const long long start = clock64();
  __syncthreads();
  const long long together = clock64();
  if constexpr (registers != Registers::few) {
    // A kernel with setmaxnreg gets all the registers that its launch bounds allow.
    constexpr int taken = threads == 384 ? 240 : 160, kept = threads == 384 ? 24 : 32;
    if (registers == Registers::move || never == 1) {
      if (threadIdx.x < 128)
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kept));
      else
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(taken));
    }
  }
  while (clock64() - together < work) {}
  if (never == 2) shared[threadIdx.x] = 1;
  if (threadIdx.x % 32 != 0) return;
  int sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  stamps[blockIdx.x * most_warps + threadIdx.x / 32] = {start, together, clock64(), sm};
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

template <int threads, Registers registers>
void measure(const char* name, int shared_bytes, int sms, WarpStamps* stamps) {
  const int blocks = sms * blocks_of_sm, warps = threads / 32;
  cudaFuncSetAttribute(run<threads, registers>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
  for (int repeat = 0; repeat < 3; ++repeat) run<threads, registers><<<blocks, threads, shared_bytes>>>(stamps, 0);
  std::vector<WarpStamps> all(static_cast<std::size_t>(blocks) * most_warps);
  cudaMemcpy(all.data(), stamps, all.size() * sizeof(WarpStamps), cudaMemcpyDeviceToHost);
  struct Block {
    long long first, last, together, end;
  };
  std::vector<std::vector<Block>> of_sm(static_cast<std::size_t>(sms));
  for (int b = 0; b < blocks; ++b) {
    const WarpStamps* const own = &all[static_cast<std::size_t>(b) * most_warps];
    Block block{own->start, own->start, own->together, own->end};
    for (int w = 1; w < warps; ++w) {
      block.first = std::min(block.first, own[w].start), block.last = std::max(block.last, own[w].start);
      block.together = std::max(block.together, own[w].together), block.end = std::max(block.end, own[w].end);
    }
    of_sm[static_cast<std::size_t>(own->sm)].push_back(block);
  }
  std::vector<double> first, last, together;
  for (std::vector<Block>& list : of_sm) {
    std::sort(list.begin(), list.end(), [](const Block& a, const Block& b) { return a.first < b.first; });
    for (std::size_t i = 1; i < list.size(); ++i) {
      if (list[i].first < list[i - 1].end) continue;  // side by side
      first.push_back(static_cast<double>(list[i].first - list[i - 1].end));
      last.push_back(static_cast<double>(list[i].last - list[i - 1].end));
      together.push_back(static_cast<double>(list[i].together - list[i - 1].end));
    }
  }
  if (first.empty()) {
    std::printf("%4d threads, %-14s, %3d KiB: blocks ran side by side\n", threads, name, shared_bytes / 1024);
    return;
  }
  std::printf(
      "%4d threads, %-14s, %3d KiB: from the end of a block to the next block's first warp %5.0f, last warp %5.0f, barrier %5.0f\n",
      threads, name, shared_bytes / 1024, median(first), median(last), median(together));
}

}  // namespace

int main() {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return 1;
  const int sms = properties.multiProcessorCount;
  std::printf("# kernels/lab/blocks_in_turn.cu on %s\n", properties.name);
  WarpStamps* stamps;
  cudaMalloc(&stamps, sizeof(WarpStamps) * static_cast<std::size_t>(sms) * blocks_of_sm * most_warps);
  for (const int shared : {120 << 10, 160 << 10, 220 << 10}) {
    measure<128, Registers::few>("few registers", shared, sms, stamps);
    measure<256, Registers::few>("few registers", shared, sms, stamps);
    measure<384, Registers::few>("few registers", shared, sms, stamps);
    measure<512, Registers::few>("few registers", shared, sms, stamps);
    measure<1024, Registers::few>("few registers", shared, sms, stamps);
    measure<384, Registers::all>("all registers", shared, sms, stamps);
    measure<512, Registers::all>("all registers", shared, sms, stamps);
    measure<384, Registers::move>("registers move", shared, sms, stamps);
    measure<512, Registers::move>("registers move", shared, sms, stamps);
  }
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) std::printf("%s\n", cudaGetErrorString(error));
  return error != cudaSuccess;
}
