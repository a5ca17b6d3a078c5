// Ledger counts bytes by device, launch, tensor, link and listing line.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/device_id.h"
#include "sim/core/tensor.h"

namespace tilescope {

/// Bytes by tensor and link, as the traffic panel shows them.
using TrafficTable = std::array<std::array<std::int64_t, link_count>, most_tensors>;

struct LedgerEntry {
  int launch = 0;
  Tensor tensor;
  Link link = Link::hbm_read;
  int line = 0;  // 0 for bytes that no line asks for: evicted dirty lines
  std::int64_t bytes = 0;
  DeviceId device;  // HBM bytes: the device that holds them; all others: the device of the SM
};

class Ledger {
 public:
  Ledger() = default;
  Ledger(int launches, int lines, std::span<const Tensor> tensors, int devices = 1);
  void add(int launch, Tensor tensor, Link link, int line, std::int64_t bytes, DeviceId device = {}) {
    cells_[index(device, launch, tensor, link, line)] += bytes;
  }
  int devices() const { return devices_; }

  Bytes total(Link link) const;
  Bytes total(Tensor tensor, Link link) const;
  Bytes total(int launch, Tensor tensor, Link link) const;
  Bytes total(DeviceId device, Tensor tensor, Link link) const;
  TrafficTable table() const;
  TrafficTable table(DeviceId device) const;
  /// Lists all nonzero entries, ordered by device, launch, tensor, link and line.
  std::vector<LedgerEntry> entries() const;

 private:
  std::size_t index(DeviceId device, int launch, Tensor tensor, Link link, int line) const {
    return (((device.index() * static_cast<std::size_t>(launches_) + static_cast<std::size_t>(launch)) * most_tensors +
             tensor.index()) *
                link_count +
            static_cast<std::size_t>(link)) *
               static_cast<std::size_t>(lines_ + 1) +
           static_cast<std::size_t>(line);
  }
  int launches_ = 0, lines_ = 0, devices_ = 0;
  std::vector<Tensor> tensors_;
  std::vector<std::int64_t> cells_;
};

}  // namespace tilescope
