// Probes: what the device wrote is understood, written and read back.
#include "kernels/measure/probe.h"

#include <doctest/doctest.h>

#include "kernels/attention/flash2_probe_layout.h"
#include "kernels/measure/bandwidth.h"
#include "kernels/measure/probe_json.h"

using namespace tilescope;

namespace {

/// Two query tiles on SMs 4 and 0, two tiles of keys; SM 4 is looked into. Warp 3 ran no second tile.
ProbeRecords some_records() {
  ProbeRecords records;
  records.blocks = {5, 1000, 3000, 50000, 54000, 1, 1100, 2100, 90000, 92000};
  const std::size_t per_warp = 3 * probe_events;
  records.ticks.assign(2 * probe_warps * per_warp, 0);
  for (std::size_t warp = 0; warp < probe_warps; ++warp) {
    std::uint64_t* const ticks = records.ticks.data() + warp * per_warp;
    for (std::size_t tile = 0; tile < (warp == 3 ? 1U : 2U); ++tile)
      for (std::size_t event = 0; event < 7; ++event) ticks[tile * probe_events + event] = 50100 + tile * 1000 + event * 100 + warp;
    std::uint64_t* const own = ticks + 2 * probe_events;
    own[0] = 50010, own[1] = 50090, own[2] = 53000, own[3] = 53900, own[4] = 1;
  }
  records.row = {0.5F, 0, 1, 2, 3, 4, 1.5F, 0.25F, 2, 2, 2, 2};
  return records;
}

ProbeResult some_result() {
  ProbeResult result;
  result.kernel = "flash2";
  result.problem.seq_q = result.problem.seq_kv = 256;
  result.problem.head_dim = 64;
  result.tile = {128, 128};
  result.sm = 4;
  decode_probe(some_records(), result);
  return result;
}

}  // namespace

TEST_CASE("probe: blocks, their SMs and their times are from the start of the first") {
  const ProbeResult result = some_result();
  REQUIRE(result.blocks.size() == 2);
  CHECK(result.blocks[0] == ProbedBlock{0, 4, 0, 2000});
  CHECK(result.blocks[1] == ProbedBlock{1, 0, 100, 1100});
  CHECK(result.sm_clock_hz == doctest::Approx(2e9));
}

TEST_CASE("probe: each warp has its stages in order, and those of iterations that it did not run are not there") {
  const ProbeResult result = some_result();
  REQUIRE(result.sm_blocks.size() == 1);
  const ProbedSmBlock& block = result.sm_blocks[0];
  CHECK(block.block == 0);
  CHECK(block.start_cycles == 0);
  CHECK(block.end_cycles == 4000);
  int count[probe_warps] = {};
  double last[probe_warps] = {};
  for (const ProbeInterval& interval : block.intervals) {
    ++count[interval.warp];
    CHECK(interval.start_cycles >= last[interval.warp]);
    CHECK(interval.end_cycles >= interval.start_cycles);
    last[interval.warp] = interval.end_cycles;
  }
  CHECK(count[0] == 2 + 2 * 6);
  CHECK(count[3] == 2 + 6);
  CHECK(block.intervals[0].stage == ProbeStage::prologue);
  CHECK(block.intervals[1] == ProbeInterval{ProbeStage::wait, 0, 0, 100, 200});
}

TEST_CASE("probe: m and alpha are as recorded, l is the sum of the lanes that share the row") {
  const ProbeResult result = some_result();
  REQUIRE(result.steps.size() == 2);
  CHECK(result.steps[0] == ProbedStep{0.5, 10, 0});
  CHECK(result.steps[1] == ProbedStep{1.5, 8, 0.25});
}

TEST_CASE("probe: what is written is read back, and a file of another kind is refused") {
  ProbeResult result = some_result();
  result.device = "NVIDIA H200";
  result.steps[0].m = -0.25;  // maxima may be negative
  const Result<ProbeResult> read = probe_from_json(to_json(result));
  REQUIRE_MESSAGE(read, read.error().sentence);
  CHECK(*read == result);

  BandwidthRecord record;
  record.kernel = "standard";
  record.samples = {{0, 1000, 4000000, 3.5}, {1000, 2000, 0, 1}};
  const Result<BandwidthRecord> again = bandwidth_from_json(to_json(record));
  REQUIRE_MESSAGE(again, again.error().sentence);
  CHECK(*again == record);
  CHECK_FALSE(probe_from_json(to_json(record)));
  CHECK_FALSE(bandwidth_from_json("[]"));
  CHECK_FALSE(bandwidth_from_json(""));
}

TEST_CASE("bandwidth: quiet is cut off but for a little, and times are from the first sample that is kept") {
  std::vector<BandwidthSample> samples;
  for (int i = 0; i < 100; ++i) {
    const bool busy = i >= 40 && i < 60;
    samples.push_back({i * 1000.0, (i + 1) * 1000.0, busy ? 1e6 : 100.0, 0});
  }
  const std::vector<BandwidthSample> kept = trimmed(samples);
  REQUIRE(kept.size() == 20 + 2 * 8);
  CHECK(kept.front().start_ns == 0);
  CHECK(kept[8].read_bytes == 1e6);
  CHECK(kept[7].read_bytes == 100);
  CHECK(trimmed({}).empty());
  CHECK(trimmed({{0, 1, 0, 0}}).empty());
}
