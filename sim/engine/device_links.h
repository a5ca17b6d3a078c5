// TensorHomes says which device holds a tile in its HBM. DeviceLinks models the links over which other devices read it.
//
//   device 0   SMs ── L2 ── HBM: first rows of K, V          one link for each ordered pair of devices
//                     ▲
//                     └──── link ────► SMs of device 1       the tile comes from its home's L2; the reader's L2 does not cache it
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
  /// Splits the rows of every plane of each tensor in `split` over the devices, in order, by whole tiles and as evenly as possible.
  /// Every other tensor is local: a device holds what its own blocks touch.
  TensorHomes(int devices, const TensorLayouts& layouts, std::span<const Tensor> split);

  int devices() const { return devices_; }
  /// Returns the device whose HBM holds the first row of `tile`; for a tensor that is not split, the device `reader`.
  DeviceId home_of(const TileRef& tile, DeviceId reader) const {
    const std::int64_t rows = rows_each_[tile.tensor.index()];
    return rows == 0 ? reader : DeviceId{static_cast<std::int32_t>(tile.row / rows)};
  }
  /// Returns whether all rows of a tile lie on one device.
  bool is_whole(const TileRef& tile) const {
    const std::int64_t rows = rows_each_[tile.tensor.index()];
    return rows == 0 || tile.rows == 0 || tile.row / rows == (tile.row + tile.rows - 1) / rows;
  }

 private:
  int devices_;
  std::array<std::int64_t, most_tensors> rows_each_{};  // 0: not split
};

/// The memories of all devices, and the links between them.
/// Units       a link moves link.bytes_per_second in its direction; its latency is in SM cycles
/// Leaves out  the trip of the request: the home's L2 sees a read when the SM issues it, and the whole latency follows
class DeviceLinks {
 public:
  DeviceLinks(const GpuSpec& gpu, const TensorHomes& homes);
  DeviceLinks(const DeviceLinks&) = delete;
  DeviceLinks& operator=(const DeviceLinks&) = delete;

  /// Registers the memory of the next device, starting with device 0.
  void add(MemorySystem& memory) { memories_.push_back(&memory); }
  const TensorHomes& homes() const { return homes_; }
  MemorySystem& memory(DeviceId device) const { return *memories_[device.index()]; }
  double latency() const { return latency_; }
  /// Returns the cycles in which a link moves bytes.
  double cycles(std::int64_t bytes) const { return static_cast<double>(bytes) * cycles_per_byte_; }
  /// Queues bytes on a link at `cycle`; returns when the last one has crossed.
  double cross(DeviceId from, DeviceId to, double cycle, std::int64_t bytes);

 private:
  TensorHomes homes_;
  double cycles_per_byte_, latency_;
  std::vector<MemorySystem*> memories_;
  std::vector<double> free_;  // when the link of each ordered pair is free
};

}  // namespace tilescope
