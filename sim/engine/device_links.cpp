// The homes of tiles, and the queue of each link.
#include "sim/engine/device_links.h"

#include <algorithm>

namespace tilescope {

TensorHomes::TensorHomes(int devices, const TensorLayouts& layouts, std::span<const Tensor> split) : devices_(devices) {
  for (const Tensor tensor : split) {
    const TensorLayout& layout = layouts[tensor.index()];
    const std::int64_t tiles = ceil_div(layout.rows, layout.tile_rows);
    rows_each_[tensor.index()] = ceil_div(tiles, devices) * layout.tile_rows;
  }
}

DeviceLinks::DeviceLinks(const GpuSpec& gpu, const TensorHomes& homes)
    : homes_(homes),
      cycles_per_byte_(gpu.sm_clock_hz / gpu.link_bytes_per_second),
      latency_(gpu.link_latency_cycles),
      free_(static_cast<std::size_t>(homes.devices() * homes.devices()), 0) {}

double DeviceLinks::cross(DeviceId from, DeviceId to, double cycle, std::int64_t bytes) {
  double& free = free_[from.index() * static_cast<std::size_t>(homes_.devices()) + to.index()];
  return free = std::max(free, cycle) + cycles(bytes);
}

}  // namespace tilescope
