// Fills tensors with seeded, normally distributed elements on the device, for problems too large to generate on the host.
#include "kernels/common/tensor_core.cuh"
#include "kernels/measure/device_problem.h"

namespace tilescope {

namespace device {

struct RandomArguments {
  void* to;
  std::int64_t pairs, cols, pitch;
  std::uint64_t seed;
};

/// Hashes a counter to 64 random bits (the finaliser of SplitMix64), so that an element depends only on its index and the seed.
__device__ __forceinline__ std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

template <class T>
__global__ __launch_bounds__(256) void random_kernel(const RandomArguments arguments) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= arguments.pairs) return;
  const std::uint64_t bits = mixed(mixed(arguments.seed) + static_cast<std::uint64_t>(i));
  const float u = (static_cast<float>(static_cast<std::uint32_t>(bits)) + 1.f) * 0x1p-32f;  // never 0
  const float angle = static_cast<float>(static_cast<std::uint32_t>(bits >> 32)) * 0x1p-31f;
  const float radius = sqrtf(-2.f * logf(u));
  float sine, cosine;
  sincospif(angle, &sine, &cosine);
  const std::int64_t col = i * 2 % arguments.pitch;  // the pitch is even, so a pair never straddles two rows
  static_cast<std::uint32_t*>(arguments.to)[i] = pack<T>(col < arguments.cols ? radius * cosine : minus_infinity(),
                                                         col + 1 < arguments.cols ? radius * sine : minus_infinity());
}

}  // namespace device

PlannedLaunch plan_random(const DeviceMemory& memory, const TensorLayout& layout, DataType type, std::uint64_t seed) {
  const device::RandomArguments arguments{memory.address(), memory.bytes() / 4, layout.cols, layout.cols + layout.pad, seed};
  const void* const function = type == DataType::fp16 ? reinterpret_cast<const void*>(&device::random_kernel<device::half_type>)
                                                      : reinterpret_cast<const void*>(&device::random_kernel<device::bfloat_type>);
  return planned("random", function, {(arguments.pairs + 255) / 256, 1, 1}, 256, 0, arguments);
}

}  // namespace tilescope
