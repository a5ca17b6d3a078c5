// Measures how many bytes of fp32 numbers SMs can add to memory: red.global.add by one, two and four numbers, and bulk additions
// from shared memory.
#include "kernels/calibrate/bench_timer.cuh"
#include "kernels/calibrate/reducing.h"

namespace tilescope::microbench {

namespace {

constexpr int adding_threads = 512, bulk_bytes = 2048;  // bulk: each warp adds so many bytes at once

struct AddArguments {
  float* to;
  std::int64_t count;   // numbers of a block
  std::int64_t stride;  // numbers from one block to the next; 0: all add to the same ones
  int rounds;
  std::int64_t* cycles;  // may be null
};

template <AddForm form>
__device__ __forceinline__ void add_to(float* to, const float* shared) {
  if constexpr (form == AddForm::scalar) {
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(to), "f"(1.f) : "memory");
  } else {
#if __CUDA_ARCH__ >= 900
    if constexpr (form == AddForm::pair) asm volatile("red.global.add.v2.f32 [%0], {%1, %1};" ::"l"(to), "f"(1.f) : "memory");
    if constexpr (form == AddForm::quad)
      asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(to), "f"(1.f) : "memory");
    if constexpr (form == AddForm::bulk) {
      const auto from = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to), "r"(from),
                   "n"(bulk_bytes)
                   : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      asm volatile("cp.async.bulk.wait_group.read 4;" ::: "memory");
    }
#endif
  }
}

template <AddForm form>
__global__ __launch_bounds__(adding_threads) void add_kernel(const AddArguments a) {
  __shared__ __align__(128) float ones[adding_threads / 32][bulk_bytes / 4];
  constexpr bool bulk = form == AddForm::bulk;
  constexpr int width = bulk ? bulk_bytes / 4 : form == AddForm::quad ? 4 : form == AddForm::pair ? 2 : 1;
  const int worker = bulk ? threadIdx.x / 32 : threadIdx.x, workers = bulk ? adding_threads / 32 : adding_threads;
  const bool works = !bulk || threadIdx.x % 32 == 0;
  if (bulk) {
    for (int i = threadIdx.x % 32; i < bulk_bytes / 4; i += 32) ones[worker][i] = 1.f;
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    __syncwarp();
  }
  float* const own = a.to + blockIdx.x * a.stride;
  const std::int64_t start = cycle_counter();
  if (works) {
    for (int round = 0; round < a.rounds; ++round)
      for (std::int64_t i = std::int64_t{worker} * width; i < a.count; i += workers * width)
        add_to<form>(own + i, ones[bulk ? worker : 0]);
#if __CUDA_ARCH__ >= 900
    if (bulk) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && a.cycles != nullptr) a.cycles[blockIdx.x] = cycle_counter() - start;
}

const void* function_of(AddForm form) {
  switch (form) {
    case AddForm::scalar:
      return reinterpret_cast<const void*>(&add_kernel<AddForm::scalar>);
    case AddForm::pair:
      return reinterpret_cast<const void*>(&add_kernel<AddForm::pair>);
    case AddForm::quad:
      return reinterpret_cast<const void*>(&add_kernel<AddForm::quad>);
    default:
      return reinterpret_cast<const void*>(&add_kernel<AddForm::bulk>);
  }
}

}  // namespace

std::string_view to_string(AddForm form) {
  constexpr std::string_view names[] = {"scalar", "pair", "quad", "bulk"};
  return names[static_cast<int>(form)];
}

Result<double> add_rate(AddForm form, AddTarget target, int blocks, std::int64_t bytes_a_block, int rounds) {
  const std::int64_t count = bytes_a_block / static_cast<std::int64_t>(sizeof(float));
  auto to = DeviceArray<float>::make(target == AddTarget::same ? count : count * blocks);
  if (!to) return to.error();
  auto cycles = DeviceArray<std::int64_t>::make(blocks);
  if (!cycles) return cycles.error();
  AddArguments arguments{to->data(), count, target == AddTarget::same ? 0 : count, rounds, cycles->data()};
  void* parameters[] = {&arguments};
  return repeated(
      3, "measuring additions into memory",
      [&] {
        cudaLaunchKernel(function_of(form), dim3(static_cast<unsigned>(blocks)), dim3(adding_threads), parameters, 0, nullptr);
      },
      [&]() -> Result<double> {
        const auto read = cycles->host();
        if (!read) return read.error();
        return static_cast<double>(count) * sizeof(float) * rounds / mean(*read);
      });
}

PlannedLaunch plan_additions(AddForm form, const DeviceMemory& memory, int blocks) {
  const std::int64_t count = memory.bytes() / static_cast<std::int64_t>(sizeof(float)) / blocks;
  const AddArguments arguments{static_cast<float*>(memory.address()), count, count, 1, nullptr};
  return planned("additions", function_of(form), {blocks, 1, 1}, adding_threads, 0, arguments);
}

}  // namespace tilescope::microbench
