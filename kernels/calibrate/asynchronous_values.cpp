// Spec values of barriers and TMA boxes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "kernels/calibrate/asynchronous.h"
#include "kernels/calibrate/rounding.h"
#include "kernels/measure/measure_case.h"

namespace tilescope::microbench {

namespace {

constexpr double kib = 1024;

/// Formats one number of each box: "1 KiB 528, 2 KiB 540".
std::string by_box(const std::vector<BoxCycles>& boxes, double BoxCycles::*cycles) {
  std::vector<std::string> parts;
  parts.reserve(boxes.size());
  for (const BoxCycles& box : boxes) parts.push_back(fmt::format("{:g} KiB {:.4g}", box.bytes() / kib, box.*cycles));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Formats "1 KiB 4.2 and 4.2, 8 KiB 33.6 and 33.6".
std::string by_stream(const std::vector<BoxStream>& streams) {
  std::vector<std::string> parts;
  parts.reserve(streams.size());
  for (const BoxStream& stream : streams)
    parts.push_back(fmt::format("{:g} KiB {:.4g} and {:.4g}", stream.rows * 128 / kib, stream.one_sm, stream.every_sm));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::vector<CalibratedValue> asynchronous_values(const AsynchronousUnits& units, double l2_latency_cycles) {
  const TokenCycles& tokens = units.tokens;
  const std::vector<BoxCycles>& boxes = units.boxes;
  const BoxCycles &largest = boxes[boxes.size() - 1], &next = boxes[boxes.size() - 2];
  const double bytes_a_cycle = (largest.bytes() - next.bytes()) / (largest.from_l2 - next.from_l2);
  std::vector<double> issue, latency;
  for (const BoxCycles& box : boxes) {
    issue.push_back(box.issue);
    latency.push_back(box.from_l2 - tokens.mbarrier_wait - l2_latency_cycles - box.bytes() / bytes_a_cycle);
  }
  return {
      {"sm.mbarrier_cycles", four_digits(tokens.mbarrier_warps / 2),
       fmt::format("half a round trip of two warps through two mbarriers; of two groups of 128 threads {:.4g}",
                   tokens.mbarrier_groups / 2)},
      {"sm.mbarrier_wait_cycles", four_digits(tokens.mbarrier_wait), "try_wait for a phase that is over, repeated"},
      {"sm.named_barrier_cycles", four_digits(tokens.named_barriers / 2),
       "half a round trip of two groups of 128 threads through bar.sync and bar.arrive"},
      {"sm.box_issue_cycles", four_digits(spread_of(std::move(issue)).median),
       fmt::format("six boxes requested one after the other, the median over sizes: {}; the last has landed after {}",
                   by_box(boxes, &BoxCycles::issue), by_box(boxes, &BoxCycles::all_from_l2))},
      {"sm.box_latency_cycles", four_digits(std::max(0.0, spread_of(std::move(latency)).median)),
       fmt::format("a box from the L2 has landed and is waited for after {}: the median of what is left without "
                   "mbarrier_wait_cycles, l2.latency_cycles and the bytes at box_bytes_per_cycle; from HBM after {}",
                   by_box(boxes, &BoxCycles::from_l2), by_box(boxes, &BoxCycles::from_hbm))},
      {"sm.box_bytes_per_cycle", four_digits(bytes_a_cycle),
       fmt::format("what a box of {:g} KiB takes longer than one of {:g} KiB; streams of boxes from the L2, of one SM and of each "
                   "of all SMs: {}",
                   largest.bytes() / kib, next.bytes() / kib, by_stream(units.streams))},
  };
}

}  // namespace tilescope::microbench
