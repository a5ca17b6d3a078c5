// Probes: what the device wrote is understood, written and read back.
#include "kernels/measure/probe.h"

#include <algorithm>
#include <limits>
#include <span>

#include <doctest/doctest.h>

#include "kernels/measure/bandwidth.h"
#include "kernels/measure/probe_json.h"
#include "tests/skip.h"

using namespace tilescope;

namespace {

constexpr std::size_t warps = 4, events = probe_events;

AttentionProblem two_tiles() {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 256;
  problem.head_dim = 64;
  return problem;
}

std::vector<ProbeShape> shapes_of(std::string_view kernel, const AttentionProblem& problem) {
  return probe_shapes(**find_kernel(kernel), problem);
}

/// Two query tiles on SMs 4 and 0, two tiles of keys; SM 4 is looked into. Warp 3 ran no second tile.
ProbeRecords some_records() {
  ProbeRecords records;
  records.blocks = {5, 1000, 3000, 50000, 54000, 1, 1100, 2100, 90000, 92000};
  const std::size_t per_warp = 3 * events;
  records.ticks.assign(2 * warps * per_warp, 0);
  for (std::size_t warp = 0; warp < warps; ++warp) {
    std::uint64_t* const ticks = records.ticks.data() + warp * per_warp;
    for (std::size_t tile = 0; tile < (warp == 3 ? 1U : 2U); ++tile)
      for (std::size_t event = 0; event < 7; ++event) ticks[tile * events + event] = 50100 + tile * 1000 + event * 100 + warp;
    std::uint64_t* const own = ticks + 2 * events;
    own[0] = 50010, own[1] = 50090, own[2] = 53000, own[3] = 53900, own[4] = 1;
  }
  records.row = {0.5F, 0, 1, 2, 3, 4, 1.5F, 0.25F, 2, 2, 2, 2};
  return records;
}

ProbeResult some_result() {
  ProbeResult result;
  result.kernel = "flash2";
  result.problem = two_tiles();
  result.tile = {128, 128};
  result.sm = 4;
  decode_probe(std::vector{some_records()}, shapes_of("flash2", two_tiles()), result);
  return result;
}

/// Two heads of a backward pass, two tiles of keys and four of queries.
AttentionProblem backward_tiles(bool causal) {
  AttentionProblem problem = two_tiles();
  problem.heads = problem.kv_heads = 2;
  problem.pass = Pass::backward;
  problem.causal = causal;
  return problem;
}

/// Query 100 of head 1. S without the scale is 8 at key 0 and grows by 1 a key; P, dP - D, dS and D are the same for all keys.
ProbeResult some_pairs(bool causal) {
  ProbeResult result;
  result.kernel = "flash2_backward";
  result.problem = backward_tiles(causal);
  result.tile = {64, 128};
  result.plane = 1;
  result.query = 100;
  const std::vector<ProbeShape> shapes = shapes_of("flash2_backward", result.problem);
  result.row_launch = row_launch_of(shapes);
  std::vector<ProbeRecords> records(shapes.size());
  for (std::size_t launch = 0; launch < shapes.size(); ++launch)
    records[launch].blocks.assign(static_cast<std::size_t>(shapes[launch].blocks) * probe_block_numbers, 0);
  for (int key = 0; key < 256; ++key)
    for (const float number : {8.0F + static_cast<float>(key), 0.5F, 3.0F, 1.5F, -2.0F}) records[1].row.push_back(number);
  decode_probe(records, shapes, result);
  return result;
}

}  // namespace

TEST_CASE("probe: blocks, their SMs and their times are from the start of the first") {
  const ProbeResult result = some_result();
  REQUIRE(result.blocks.size() == 2);
  CHECK(result.blocks[0] == ProbedBlock{0, 0, 4, 0, 2000});
  CHECK(result.blocks[1] == ProbedBlock{0, 1, 0, 100, 1100});
  CHECK(result.sm_clock_hz == doctest::Approx(2e9));
}

TEST_CASE("probe: each warp has its stages in order, and those of iterations that it did not run are not there") {
  const ProbeResult result = some_result();
  REQUIRE(result.sm_blocks.size() == 1);
  const ProbedSmBlock& block = result.sm_blocks[0];
  CHECK(block.block == 0);
  CHECK(block.start_cycles == 0);
  CHECK(block.end_cycles == 4000);
  int count[warps] = {};
  double last[warps] = {};
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

TEST_CASE("probe: launches one after another are on one axis, each block with its launch") {
  AttentionProblem problem = two_tiles();
  problem.seq_kv = 128;
  const std::vector<ProbeShape> shapes = shapes_of("standard", problem);
  REQUIRE(shapes.size() == 3);
  CHECK(row_launch_of(shapes) == 1);
  std::vector<ProbeRecords> records(3);
  for (std::size_t launch = 0; launch < 3; ++launch) {
    const ProbeShape& shape = shapes[launch];
    const auto blocks = static_cast<std::size_t>(shape.blocks), per_warp = static_cast<std::size_t>(shape.iterations + 1) * events;
    const std::uint64_t start = 1000 + 1000 * launch;
    records[launch].blocks.assign(blocks * probe_block_numbers, 0);
    std::uint64_t* const r = records[launch].blocks.data();
    r[0] = 1, r[1] = start, r[2] = start + 500, r[3] = 2 * start, r[4] = 2 * start + 1000;
    records[launch].ticks.assign(static_cast<std::size_t>(shape.warps) * per_warp, 0);
    for (std::size_t event = 0; event <= shape.stages.size(); ++event) records[launch].ticks[event] = 2 * start + 10 + event * 100;
    records[launch].ticks[per_warp - events + 4] = 1;
  }
  records[1].row = {2.5F, 0, 7, 0, 0, 0};
  ProbeResult result;
  result.problem = problem;
  decode_probe(records, shapes, result);
  REQUIRE(result.sm_blocks.size() == 3);
  for (int launch = 0; launch < 3; ++launch) {
    const ProbedSmBlock& block = result.sm_blocks[static_cast<std::size_t>(launch)];
    CHECK(block.launch == launch);
    CHECK(block.start_cycles == 2000 * launch);
    CHECK(block.intervals.size() == shapes[static_cast<std::size_t>(launch)].stages.size());
  }
  CHECK(result.sm_blocks[1].intervals[1] == ProbeInterval{ProbeStage::softmax, 0, 0, 2110, 2210});
  REQUIRE(result.steps.size() == 1);
  CHECK(result.steps[0] == ProbedStep{2.5, 7, 0});
}

TEST_CASE("probe: a role's stamps are its stages one after the other, across a wrap of the counter, each with its key tile") {
  using enum ProbeStage;
  const std::vector<ProbeShape> shapes = shapes_of("hopper_ping_pong", two_tiles());  // d 64: a producer and three groups
  REQUIRE(shapes.size() == 1);
  REQUIRE(shapes[0].roles.size() == 4);
  constexpr std::uint64_t start = (std::uint64_t{5} << (32 - stage_bits)) - 100;  // 100 cycles before the low bits wrap
  ProbeRecords records;
  records.blocks = {1, 1000, 2000, start, start + 2000, 2, 1000, 2000, start, start + 1000};
  records.row.assign(2 * probe_row_numbers, 0);
  records.ticks.assign(4 * role_words, 0);
  const auto record = [&](std::size_t role, const std::vector<std::pair<ProbeStage, std::uint64_t>>& stamps) {
    std::uint64_t* const words = records.ticks.data() + role * role_words;
    words[0] = 1;
    for (std::size_t i = 0; i < stamps.size(); ++i)
      words[2 + i] = static_cast<std::uint32_t>((start + stamps[i].second) << stage_bits) | static_cast<unsigned>(stamps[i].first);
  };
  record(0, {{prologue, 50},
             {wait_empty, 60},
             {copy_q, 70},
             {wait_empty, 80},
             {copy_k, 90},
             {wait_empty, 130},
             {copy_v, 140},
             {wait_empty, 900},
             {copy_k, 910}});
  // The product of tile 0 is issued after S of tile 1.
  record(2, {{prologue, 55},
             {wait_q, 200},
             {wait_k, 210},
             {wait_turn, 220},
             {scores, 230},
             {wait_scores, 300},
             {softmax, 400},
             {wait_k, 410},
             {wait_turn, 420},
             {scores, 430},
             {wait_v, 440},
             {product, 450},
             {wait_scores, 500},
             {softmax, 600},
             {wait_product, 610},
             {rescale, 650}});
  ProbeResult result;
  result.problem = two_tiles();
  decode_probe(std::vector{records}, shapes, result);
  CHECK(result.roles == std::vector<std::string>{"producer", "consumer 0", "consumer 1", "consumer 2"});
  REQUIRE(result.sm_blocks.size() == 1);
  const std::vector<ProbeInterval>& intervals = result.sm_blocks[0].intervals;
  REQUIRE(intervals.size() == 9 + 16);
  CHECK(intervals[0] == ProbeInterval{prologue, 0, 0, 0, 50});
  CHECK(intervals[4] == ProbeInterval{copy_k, 0, 0, 80, 90});
  CHECK(intervals[5] == ProbeInterval{wait_empty, 0, 0, 90, 130});
  CHECK(intervals[8] == ProbeInterval{copy_k, 0, 1, 900, 910});
  CHECK(intervals[9 + 7] == ProbeInterval{wait_k, 2, 1, 400, 410});
  CHECK(intervals[9 + 11] == ProbeInterval{product, 2, 0, 440, 450});
  CHECK(intervals[9 + 13] == ProbeInterval{softmax, 2, 1, 500, 600});
  CHECK(intervals[9 + 14] == ProbeInterval{wait_product, 2, 0, 600, 610});
  CHECK(intervals[9 + 15] == ProbeInterval{rescale, 2, 1, 610, 650});
  result.device = "NVIDIA H100";
  result.launches = {{"attention", 1000, 1100}};
  const Result<ProbeResult> read = probe_from_json(to_json(result));
  REQUIRE_MESSAGE(read, read.error().sentence);
  CHECK(*read == result);
}

TEST_CASE("probe: from the right edge, the first tiles of a row may show it no key") {
  ProbeRecords records = some_records();
  records.row = {-std::numeric_limits<float>::infinity(), 0, 0, 0, 0, 0, 1.5F, 0, 2, 2, 2, 2};
  ProbeResult result;
  result.problem = two_tiles();
  decode_probe(std::vector{records}, shapes_of("flash2", two_tiles()), result);
  REQUIRE(result.steps.size() == 1);
  CHECK(result.steps[0] == ProbedStep{1.5, 8, 0});
}

TEST_CASE("probe: every row of every plane has one block, which has that row, in each kernel with a probe") {
  int kernels = 0;
  for (const KernelInfo& kernel : kernel_table())
    for (const std::int64_t rows : {1, 64, 127, 130, 1000}) {
      AttentionProblem problem;
      problem.heads = problem.kv_heads = 2;
      problem.seq_q = rows;
      problem.seq_kv = 300;
      problem.head_dim = 64;
      const std::vector<ProbeShape> shapes = probe_shapes(kernel, problem);
      CHECK(shapes.empty() == (kernel.plan_probed == nullptr));
      if (shapes.empty()) continue;
      kernels += rows == 1;
      const ProbeShape& shape = shapes[static_cast<std::size_t>(row_launch_of(shapes))];
      std::int64_t all = 0;
      for (std::int64_t block = 0; block < shape.blocks; ++block) all += shape.rows(block);
      CHECK(all == problem.query_planes() * rows);
      for (std::int64_t plane = 0; plane < 2; ++plane)
        for (std::int64_t query = 0; query < rows; ++query) {
          const auto [block, row] = shape.place_of(plane, query);
          CHECK(shape.row_of(block, row) == std::pair{plane, query});
          CHECK(row < shape.rows(block));
        }
    }
  CHECK(kernels == 17);  // flash2, flash1, standard, the rungs to Hopper, and the backward kernels of flash1, flash2 and flex
}

TEST_CASE("probe: a kernel without one is refused, and the sentence names each kernel of its pass that has one") {
  AttentionProblem problem = two_tiles();
  for (const Pass pass : {Pass::forward, Pass::backward}) {
    problem.pass = pass;
    std::string ids;
    for (const KernelInfo& kernel : kernel_table())
      if (kernel.pass == pass && kernel.plan_probed != nullptr) ids += (ids.empty() ? "" : ", ") + std::string(kernel.id);
    const std::string_view without = pass == Pass::forward ? "flex" : "standard_backward";
    const auto refused = run_probe(**find_kernel(without), problem, {}, {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().sentence.text() == "kernel " + std::string(without) + " has no probe: use algorithm with one of " + ids);
  }
}

TEST_CASE("probe: a block of flash1_backward has the rows of all query heads that share its keys, one head after the other") {
  AttentionProblem problem = backward_tiles(false);
  problem.batch = 2, problem.heads = 6, problem.kv_heads = 2, problem.seq_q = 100;
  const std::vector<ProbeShape> shapes = shapes_of("flash1_backward", problem);
  REQUIRE(shapes.size() == 1);
  CHECK(shapes[0].blocks == 4);
  CHECK(shapes[0].keys == 256);
  CHECK(shapes[0].iterations == 4 * 3 * 2);  // key tiles, heads, query tiles of 64 rows
  for (std::int64_t block = 0; block < 4; ++block) CHECK(shapes[0].rows(block) == 300);
  CHECK(shapes[0].place_of(7, 42) == std::pair<std::int64_t, std::int64_t>{2, 142});  // the second of heads 6, 7 and 8
  CHECK(shapes[0].row_of(2, 142) == std::pair<std::int64_t, std::int64_t>{7, 42});
}

TEST_CASE("probe: a launch has the blocks that its kernel is launched with") {
  if (!built_with_cuda()) return skip_test("built without CUDA");
  for (const KernelInfo& kernel : kernel_table())
    for (const std::int64_t rows : {64, 130, 1000}) {
      AttentionProblem problem;
      problem.heads = problem.kv_heads = 3;
      problem.seq_q = rows;
      problem.seq_kv = 2 * rows;
      problem.head_dim = 128;
      const std::vector<ProbeShape> shapes = probe_shapes(kernel, problem);
      if (shapes.empty()) continue;
      const LaunchPlan plan = kernel.plan(problem, {});
      REQUIRE(plan.size() == shapes.size());
      for (std::size_t i = 0; i < plan.size(); ++i) {
        CHECK(plan[i].name == shapes[i].launch);
        CHECK(plan[i].threads == 32 * shapes[i].warps);
        const std::int64_t blocks = plan[i].grid[0] * plan[i].grid[1] * plan[i].grid[2];
        CHECK((shapes[i].blocks_stay ? blocks <= shapes[i].blocks : blocks == shapes[i].blocks));
      }
      std::vector<ProbeBuffers> buffers(shapes.size());
      for (std::size_t i = 0; i < plan.size(); ++i) buffers[i].roles = static_cast<int>(shapes[i].roles.size());
      const LaunchPlan probed = kernel.plan_probed(problem, {}, buffers);
      REQUIRE(probed.size() == plan.size());
      for (std::size_t i = 0; i < plan.size(); ++i) {
        const bool waits_for_request = kernel.prepare != nullptr && plan[i].function == nullptr;
        CHECK((probed[i].function != plan[i].function || waits_for_request));
        CHECK(probed[i].grid == plan[i].grid);
        CHECK(probed[i].threads == plan[i].threads);
        CHECK(probed[i].shared_bytes == plan[i].shared_bytes + buffers[i].roles * role_stamp_bytes);
      }
    }
}

TEST_CASE("probe: what is written is read back, and a file of another kind is refused") {
  ProbeResult result = some_result();
  result.device = "NVIDIA H200";
  result.launches = {{"attention", 1000, 1100}};
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

TEST_CASE("probe: a stage, role, warp or launch that is not there is refused in a sentence") {
  ProbeResult result = some_result();
  result.launches = {{"attention", 1000, 1100}};
  const auto refused = [](const ProbeResult& bad) {
    const Result<ProbeResult> read = probe_from_json(to_json(bad));
    REQUIRE_FALSE(read);
    return read.error().sentence.text();
  };
  ProbeResult bad = result;
  bad.sm_blocks[0].intervals[3].stage = static_cast<ProbeStage>(probe_stages);
  CHECK(refused(bad) == "the probe is not sound: sm_blocks[0].intervals[3][0] is no stage: they are 0 to 25");
  bad = result;
  bad.sm_blocks[0].intervals[3].warp = 32;
  CHECK(refused(bad) == "the probe is not sound: block 0 has a stage of line 32, and there are 32");
  bad = result;
  bad.roles = {"producer"};
  CHECK(refused(bad) == "the probe is not sound: block 0 has a stage of line 1, and there are 1");
  bad = result;
  bad.launches.clear();
  CHECK(refused(bad) == "the probe is not sound: block 0 is of launch 0, and there are 0");
}

TEST_CASE("probe: the pairs of a backward kernel have a scaled S and the whole dP, and end at the last key that the row sees") {
  for (const bool causal : {false, true}) {
    const ProbeResult result = some_pairs(causal);
    REQUIRE(result.pairs.size() == (causal ? 101U : 256U));  // query 100 of 256 keys
    CHECK(result.pairs[0] == ProbedPair{0.125 * 8, 0.5, 3.0 + 2.0, 1.5});
    CHECK(result.pairs[100] == ProbedPair{0.125 * 108, 0.5, 3.0 + 2.0, 1.5});
    CHECK(result.steps.empty());
    CHECK(result.row_launch == 0);
  }
}

TEST_CASE("probe: a block that owns keys records its iterations, each a pair of tiles") {
  using enum ProbeStage;
  const std::vector<ProbeStage> d64 = {wait, pairs, d_q_part}, d128 = {wait, pairs, other_half, d_q_part};
  for (const std::int64_t d : {64, 128}) {
    AttentionProblem problem = backward_tiles(false);
    problem.heads = 6, problem.kv_heads = 2, problem.head_dim = d;
    const std::vector<ProbeShape> adds = shapes_of("flash2_backward", problem),
                                  two = shapes_of("flash2_backward_two_pass", problem);
    REQUIRE(adds.size() == 3);
    REQUIRE(two.size() == 2);
    CHECK(std::ranges::equal(adds[1].stages, d == 64 ? d64 : d128));
    CHECK(std::ranges::equal(two[1].stages, std::span(d == 64 ? d64 : d128).first(d == 64 ? 2 : 3)));
    for (const ProbeShape& shape : {adds[1], two[1]}) {
      CHECK(shape.keys == 256);
      CHECK(shape.iterations == 3 * 4);  // a group of three heads, four query tiles of 64 rows
    }
  }
}

TEST_CASE("probe: pairs are written and read back, and those that cannot be are refused in a sentence") {
  const ProbeResult result = some_pairs(true);
  const Result<ProbeResult> read = probe_from_json(to_json(result));
  REQUIRE_MESSAGE(read, read.error().sentence);
  CHECK(*read == result);
  CHECK(to_json(some_result()).find("pairs") == std::string::npos);
  const auto refused = [&](auto change) {
    ProbeResult bad = result;
    change(bad);
    const Result<ProbeResult> again = probe_from_json(to_json(bad));
    REQUIRE_FALSE(again);
    return again.error().sentence.text();
  };
  CHECK(refused([](ProbeResult& bad) { bad.pairs.pop_back(); }) ==
        "the probe is not sound: it has 100 pairs, and the row sees 101 keys");
  CHECK(refused([](ProbeResult& bad) { bad.problem.pass = Pass::forward; }) ==
        "the probe is not sound: it has pairs, and its pass is forward");
  CHECK(refused([](ProbeResult& bad) { bad.query = 256; }) == "the probe is not sound: query 256 of head 1 is not there");
  CHECK(refused([](ProbeResult& bad) { bad.plane = 2; }) == "the probe is not sound: query 100 of head 2 is not there");
}

TEST_CASE("probe: a schema with control characters is quoted without them") {
  const Result<ProbeResult> read = probe_from_json(R"({"schema": "tilescope.pr\u0007\u007fbe/2"})");
  REQUIRE_FALSE(read);
  CHECK(read.error().sentence.text() ==
        R"(the probe has schema "tilescope.pr??be/2"; this program reads "tilescope.probe/2": measure again)");
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
