// DeviceLinks: which device has a tile in its HBM, and the links over which other devices read it.
//
//   device 0   SMs ── L2 ── HBM: first rows of K, V          one link for each ordered pair of devices
//                     ▲
//                     └──── link ────► SMs of device 1       a tile comes from the L2 of its home, and stays out of the reader's L2
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/device_id.h"
#include "sim/core/gpu_spec.h"
#include "sim/core/tensor.h"

namespace tilescope {

class MemorySystem;

/// How tensors are spread over the HBM of several devices.
class TensorHomes {
 public:
  /// Of each tensor in `split` every device has a part of the rows of every plane: whole tiles, as even as those can be, in order.
  /// Of all others a device has what its own blocks touch.
  TensorHomes(int devices, const TensorLayouts& layouts, std::span<const Tensor> split);

  int devices() const { return devices_; }
  /// The device that has the first row of `tile` in its HBM, where device `reader` asks.
  DeviceId home_of(const TileRef& tile, DeviceId reader) const {
    const std::int64_t rows = rows_each_[tile.tensor.index()];
    return rows == 0 ? reader : DeviceId{static_cast<std::int32_t>(tile.row / rows)};
  }
  /// Whether a tile lies on one device as a whole.
  bool is_whole(const TileRef& tile) const {
    const std::int64_t rows = rows_each_[tile.tensor.index()];
    return rows == 0 || tile.rows == 0 || tile.row / rows == (tile.row + tile.rows - 1) / rows;
  }

 private:
  int devices_;
  std::array<std::int64_t, most_tensors> rows_each_{};  // 0: not split
};

/// All devices of a run, and the links between them.
/// Units   a link moves link.bytes_per_second in its direction; its latency is in cycles of the SM clock
/// Leaves out   the way of the request: the home's L2 sees a read when the SM issues it, and all of the latency comes after
class DeviceLinks {
 public:
  DeviceLinks(const GpuSpec& gpu, const TensorHomes& homes);
  DeviceLinks(const DeviceLinks&) = delete;
  DeviceLinks& operator=(const DeviceLinks&) = delete;

  /// Tells the memory of the next device, from device 0 on.
  void add(MemorySystem& memory) { memories_.push_back(&memory); }
  const TensorHomes& homes() const { return homes_; }
  MemorySystem& memory(DeviceId device) const { return *memories_[device.index()]; }
  double latency() const { return latency_; }
  /// When bytes that ask for the link at `cycle` have passed it.
  double cross(DeviceId from, DeviceId to, double cycle, std::int64_t bytes);

 private:
  TensorHomes homes_;
  double cycles_per_byte_, latency_;
  std::vector<MemorySystem*> memories_;
  std::vector<double> free_;  // of each ordered pair
};

}  // namespace tilescope
