// link_bytes_by_bin(): bytes over links in equal bins of time, none of them above what the links can carry.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "sim/core/tensor.h"
#include "sim/engine/trace.h"

namespace tilescope {

/// Returns the most bytes that HBM moves in a cycle, both ways together.
double hbm_peak(const GpuSpec& gpu);
/// Returns the most bytes between the L2 and the SMs in a cycle, both ways together; 0: no limit. Where reads of a line share a
/// lookup, that is what the ports of all SMs take in, which is more than the L2 looks up.
double l2_peak(const GpuSpec& gpu);
/// Returns the most bytes from the SMs to the L2 in a cycle; 0: no limit.
double l2_write_peak(const GpuSpec& gpu);

/// Returns, per link, the bytes of all tensors in each bin. The trace books a transfer in the bin in which it ends; its bytes
/// crossed before. So what a bin has beyond `most` bytes per cycle, for all `links` together, goes to the bin before it. Sums stay
/// equal. A `most` of 0 leaves the bins as they are. Links of HBM are as in hbm_bytes_by_bin(); what the L2 has evicted and HBM has
/// not written when the run ends is in further bins.
std::vector<std::vector<double>> link_bytes_by_bin(const TimeBins& bins, std::span<const Link> links, double most);

/// Returns the same for the L2: to SMs and from SMs, together at most l2_peak(), and from SMs at most l2_write_peak().
std::array<std::vector<double>, 2> l2_bytes_by_bin(const TimeBins& bins, const GpuSpec& gpu);

/// Returns the HBM bytes of each bin by tensor, both ways. A read is booked when it ends, so it crosses before; a write is booked
/// when the L2 evicts it, and crosses when HBM gets to it, after the reads. Sums stay equal; the first and the last bin can be
/// above `most`.
std::vector<std::array<double, most_tensors>> hbm_bytes_by_bin(const TimeBins& bins, double most);

}  // namespace tilescope
