// link_bytes_by_bin(): bytes over links in equal bins of time, none of them above what the links can carry.
#pragma once

#include <span>
#include <vector>

#include "sim/core/tensor.h"
#include "sim/engine/trace.h"

namespace tilescope {

/// Returns, per link, the bytes of all tensors in each bin. The trace books a transfer in the bin in which it ends; its bytes
/// crossed before. So what a bin has beyond `most` bytes per cycle, for all `links` together, goes to the bin before it. Sums stay
/// equal. A `most` of 0 leaves the bins as they are.
std::vector<std::vector<double>> link_bytes_by_bin(const TimeBins& bins, std::span<const Link> links, double most);

/// Returns the same by tensor instead, by index: all `links` of a tensor together.
std::vector<std::vector<double>> tensor_bytes_by_bin(const TimeBins& bins, std::span<const Link> links, double most);

}  // namespace tilescope
