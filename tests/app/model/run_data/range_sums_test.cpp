// Sums over a stretch of a run: bytes, busy shares, stalls.
#include <doctest/doctest.h>

#include "app/model/run_data/range_sums.h"
#include "tests/app/model/session/opened_session.h"

using namespace tilescope;

namespace {

std::int64_t on_link(const Simulation& run, Link link) {
  std::int64_t bytes = 0;
  for (const auto& tensor : run.ledger.table()) bytes += tensor[static_cast<std::size_t>(link)];
  return bytes;
}

}  // namespace

TEST_CASE("range: over the whole run the bytes are those of the ledger") {
  const Opened opened;
  const Lane& lane = opened.view().lane();
  REQUIRE(lane.timeline);
  const RangeSums all = range_sums(*lane.simulation, *lane.timeline, {0, lane.simulation->cycles.value});
  CHECK(all.exact);
  for (const Link link : all_links) {
    CAPTURE(to_string(link));
    CHECK(all.bytes[static_cast<std::size_t>(link)] == on_link(*lane.simulation, link));
  }
}

TEST_CASE("range: over the whole run the L2 is as busy as the run has it, where its reads share lookups") {
  const Opened opened(h200_start({.heads = 16, .kv_heads = 16, .seq_q = 2048, .seq_kv = 2048, .head_dim = 128}));
  const Lane& lane = opened.view().lane();
  REQUIRE(lane.timeline);
  const L2Busy run = l2_busy(lane.simulation->l2);
  const RangeSums all = range_sums(*lane.simulation, *lane.timeline, {0, lane.simulation->cycles.value});
  REQUIRE_FALSE(run.is_known());
  // The run also counts the time before its first launch.
  const double longer = lane.simulation->cycles.value / (all.range.to - all.range.from);
  CHECK(all.l2.least == doctest::Approx(longer * run.least));
  CHECK(all.l2.most == doctest::Approx(longer * run.most));
  CHECK(lane.timeline->l2.unshared_ceiling == lane.simulation->request.gpu.l2_bytes_per_cycle);
}

TEST_CASE("range: two neighbours add up to the stretch of both") {
  const Opened opened;
  const Lane& lane = opened.view().lane();
  const double end = lane.simulation->cycles.value;
  for (const double cut : {0.2 * end, 0.37 * end, 0.81 * end}) {
    const RangeSums before = range_sums(*lane.simulation, *lane.timeline, {0.1 * end, cut});
    const RangeSums after = range_sums(*lane.simulation, *lane.timeline, {cut, 0.9 * end});
    const RangeSums both = range_sums(*lane.simulation, *lane.timeline, {0.1 * end, 0.9 * end});
    for (std::size_t link = 0; link < link_count; ++link) CHECK(before.bytes[link] + after.bytes[link] == both.bytes[link]);
    for (std::size_t unit = 0; unit < timeline_units.size(); ++unit) {
      CHECK(both.busy[unit] >= 0);
      CHECK(both.busy[unit] <= 1 + 1e-9);
      const double parts = before.busy[unit] * (cut - 0.1 * end) + after.busy[unit] * (0.9 * end - cut);
      CHECK(parts == doctest::Approx(both.busy[unit] * 0.8 * end));
    }
    double of_parts = 0, of_both = 0;
    for (const auto& stall : before.stalls) of_parts += stall.cycles;
    for (const auto& stall : after.stalls) of_parts += stall.cycles;
    for (const auto& stall : both.stalls) of_both += stall.cycles;
    CHECK(of_parts == doctest::Approx(of_both));
  }
}

TEST_CASE("range: stalls of the whole run are the waits of its operations, longest cause first") {
  const Opened opened;
  const Lane& lane = opened.view().lane();
  const RangeSums all = range_sums(*lane.simulation, *lane.timeline, {0, lane.simulation->cycles.value});
  double waited = 0;
  for (const Interval& interval : lane.simulation->trace->intervals(lane.focus_sm))
    if (interval.cause != WaitCause::none && interval.cause != WaitCause::program_order) waited += interval.start - interval.ready;
  double summed = 0;
  for (std::size_t i = 0; i < all.stalls.size(); ++i) {
    summed += all.stalls[i].cycles;
    if (i > 0) CHECK(all.stalls[i].cycles <= all.stalls[i - 1].cycles);
  }
  CHECK(waited > 0);
  CHECK(summed == doctest::Approx(waited));
}

TEST_CASE("range: a stretch beyond the end is cut to the run") {
  const Opened opened;
  const Lane& lane = opened.view().lane();
  const RangeSums beyond = range_sums(*lane.simulation, *lane.timeline, {1e9, 2e9});
  CHECK(beyond.range.from == beyond.range.to);
  for (const std::int64_t bytes : beyond.bytes) CHECK(bytes == 0);
}
