// The lights of full and empty tokens and of turns, against what the operations of a block do.
#include "app/model/run_data/token_lights.h"

#include <doctest/doctest.h>

#include "sim/programs/attention_tensors.h"
#include "tests/app/run_simulation.h"

using namespace tilescope;

namespace {

const AttentionProblem problem = {.heads = 8, .kv_heads = 8, .seq_q = 1024, .seq_kv = 1024, .head_dim = 128};

struct Lit {
  std::shared_ptr<const Simulation> simulation;
  StepIndex steps;
  BlockOperations block;
  std::optional<TokenLights> lights;

  explicit Lit(const char* algorithm) : simulation(run(algorithm, h200_gpu(), problem)), steps(make_step_index(*simulation, 0)) {
    simulation->program->emit_block(0, simulation->trace->runs().front().block, block);
    lights.emplace(*simulation, steps, 0, block);
  }
};

}  // namespace

TEST_CASE("token lights: a buffer is full from the landing of its copy until every group has read it") {
  const Lit lit("hopper_ping_pong");
  const auto intervals = lit.simulation->trace->intervals(0);
  // Of buffer 0 of K: when copies landed, and when each group signalled that it has read them.
  std::vector<double> landed, read_by_1, read_by_2;
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    if (intervals[i].run != 0) continue;
    const Operation& op = lit.block.operations[static_cast<std::size_t>(intervals[i].op)];
    if (op.kind == OpKind::load && op.dst == tiles::k && op.ring == 0) landed.push_back(intervals[i].end);
    if (op.kind == OpKind::wait && op.wait_on == WaitOn::product && op.signal_token >= 0 &&
        lit.block.tokens[static_cast<std::size_t>(op.signal_token)] == "empty K 0")
      (intervals[i].group == 1 ? read_by_1 : read_by_2).push_back(intervals[i].end);
  }
  REQUIRE(landed.size() == 4);  // eight key tiles, two buffers
  REQUIRE(read_by_1.size() == 4);
  REQUIRE(read_by_2.size() == 4);
  const auto at = [&](double cycle) { return *lit.lights->buffer(tiles::k, 0, cycle); };
  for (std::size_t n = 0; n < landed.size(); ++n) {
    CHECK_FALSE(at(landed[n] - 1).is_full);
    const BufferLights filled = at(landed[n] + 1);
    CHECK(filled.is_full);
    CHECK(filled.groups == std::vector<GroupLight>{{1, false}, {2, false}});
    const double first = std::min(read_by_1[n], read_by_2[n]), last = std::max(read_by_1[n], read_by_2[n]);
    REQUIRE(last - first > 2);
    const BufferLights between = at(0.5 * (first + last));
    CHECK(between.is_full);
    CHECK(between.groups[0].is_free == (read_by_1[n] < read_by_2[n]));
    CHECK(between.groups[1].is_free == (read_by_2[n] < read_by_1[n]));
    const BufferLights empty = at(last + 0.01);
    CHECK_FALSE(empty.is_full);
    CHECK(empty.groups == std::vector<GroupLight>{{1, true}, {2, true}});
  }
}

TEST_CASE("token lights: only the group whose turn it is issues products") {
  const Lit lit("hopper_ping_pong");
  REQUIRE(lit.lights->taking_turns() == std::vector<int>{1, 2});
  int issued = 0;
  for (const Interval& interval : lit.simulation->trace->intervals(0)) {
    const Operation& op = lit.block.operations[static_cast<std::size_t>(interval.op)];
    if (interval.run != 0 || op.kind != OpKind::wait) continue;
    if (lit.simulation->info->listing[op.line - 1U].text != "pass the turn on") continue;
    // It has the turn until it passes it on.
    CHECK(lit.lights->turn(interval.end - 0.01) == interval.group);
    CHECK(lit.lights->turn(interval.end + 0.01) == 3 - interval.group);
    ++issued;
  }
  CHECK(issued == 16);
}

TEST_CASE("token lights: groups without turns take none, and a barrier of all groups is no turn") {
  for (const char* algorithm : {"hopper_wgmma", "hopper_producer", "hopper_overlap"}) {
    CAPTURE(algorithm);
    const Lit lit(algorithm);
    CHECK(lit.lights->taking_turns().empty());
    CHECK(lit.lights->turn(1000) == -1);
    CHECK(lit.lights->buffer(tiles::k, 0, 0));
  }
}
