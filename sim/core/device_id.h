// DeviceId names one of the GPUs that run a program together.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace tilescope {

/// The number of a device, counted from 0. A program on one GPU runs on device 0.
struct DeviceId {
  std::int32_t number = 0;
  constexpr std::size_t index() const { return static_cast<std::size_t>(number); }
  auto operator<=>(const DeviceId&) const = default;
};

}  // namespace tilescope
