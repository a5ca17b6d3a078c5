// Tickets: which launches draw their tiles, and that the trace hands them out in order.
#include "sim/engine/launch_order.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <doctest/doctest.h>

#include "sim/engine/trace.h"
#include "sim/programs/tile_program.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

std::shared_ptr<const Simulation> run_of(std::string_view algorithm, bool causal) {
  SimulationRequest request;
  request.algorithm = algorithm;
  request.gpu = h200_gpu();
  REQUIRE(set_spec_value(request.gpu, "sm.count=4"));
  request.problem = {.batch = 2, .heads = 3, .kv_heads = 3, .seq_q = 1400, .seq_kv = 1400, .head_dim = 64, .causal = causal};
  const auto simulation = simulate(request);
  REQUIRE_MESSAGE(simulation, (simulation ? std::string() : simulation.error().sentence.text()));
  return *simulation;
}

}  // namespace

TEST_CASE("tickets: every tile has one, and a block that becomes free later draws a higher one") {
  for (const bool causal : {false, true}) {
    CAPTURE(causal);
    const auto simulation = run_of("hopper_causal", causal);
    std::set<std::int64_t> numbers;
    std::int64_t highest = -1;
    double at = -1;
    for (const BlockRun& run : simulation->trace->runs()) {
      const auto ticket = ticket_of(*simulation, run);
      REQUIRE(ticket);
      CHECK(numbers.insert(ticket->number).second);
      // As many as there are blocks that stay are not drawn.
      CHECK(ticket->is_drawn == (ticket->number >= 4 * simulation->launches.front().blocks_per_sm));
      if (run.start > at) CHECK(ticket->number > highest);
      at = run.start;
      highest = std::max(highest, ticket->number);
    }
    CHECK(static_cast<std::int64_t>(numbers.size()) == simulation->launches.front().blocks);
    CHECK(*numbers.rbegin() == simulation->launches.front().blocks - 1);
  }
}

TEST_CASE("tickets: with a causal mask the first are the last tiles of the heads, and a ticket names the rows of its block") {
  const auto simulation = run_of("hopper_causal", true);
  const std::int64_t block_q = simulation->program->tile().block_q;
  for (const BlockRun& run : simulation->trace->runs()) {
    const auto ticket = ticket_of(*simulation, run);
    REQUIRE(ticket);
    BlockOperations block;
    simulation->program->emit_block(run.launch, run.block, block);
    CHECK(ticket->plane == block.domain.plane);
    CHECK(ticket->tile * block_q == block.domain.first);
    if (ticket->number < 6) CHECK(ticket->tile == (1400 + block_q - 1) / block_q - 1);
  }
}

TEST_CASE("tickets: a kernel whose tiles are fixed has none") {
  for (const char* algorithm : {"flash2", "hopper_ping_pong", "hopper_persistent"}) {
    CAPTURE(algorithm);
    const auto simulation = run_of(algorithm, true);
    for (const BlockRun& run : simulation->trace->runs()) CHECK_FALSE(ticket_of(*simulation, run).has_value());
  }
}
