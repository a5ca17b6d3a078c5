// Outcomes: the figures of a run, and which requests are the same.
#include "sim/analysis/outcome.h"

#include <doctest/doctest.h>

#include "sim/core/mask.h"
#include "sim/masks/mask_choice.h"
#include "sim/programs/attention_tensors.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

SimulationRequest small_request() {
  SimulationRequest request;
  request.algorithm = "standard";
  request.gpu = toy_gpu();
  request.problem = {.batch = 2, .heads = 4, .kv_heads = 2, .seq_q = 64, .seq_kv = 96, .head_dim = 16};
  return request;
}

}  // namespace

TEST_CASE("outcome: the needed products are those of visible scores, and with a mask of its own the least that was computed") {
  AttentionProblem problem = {.batch = 2, .heads = 3, .kv_heads = 3, .seq_q = 4, .seq_kv = 4, .head_dim = 8};
  const std::array<double, 2> computed = {900, 700};
  CHECK(needed_flops(problem, computed) == 4 * 8 * 6 * 16);
  problem.causal = true;
  CHECK(needed_flops(problem, computed) == 4 * 8 * 6 * 10);
  problem.mask = std::make_shared<MatrixMask>(4, 4, std::vector<bool>(16, true));
  CHECK(needed_flops(problem, computed) == 700);
  CHECK(needed_flops(problem, {}) == 0);
}

TEST_CASE("outcome: two requests are the same only if everything is but the SM in focus") {
  const SimulationRequest request = small_request();
  SimulationRequest same = request;
  same.focus_sm = 2;
  same.gpu.name = "Another name";
  CHECK(same_request(request, same));
  void (*const changes[])(SimulationRequest&) = {
      [](SimulationRequest& r) { r.algorithm = "flash1"; },
      [](SimulationRequest& r) { r.problem.batch = 3; },
      [](SimulationRequest& r) { r.problem.heads = 2; },
      [](SimulationRequest& r) { r.problem.kv_heads = 4; },
      [](SimulationRequest& r) { r.problem.seq_q = 65; },
      [](SimulationRequest& r) { r.problem.seq_kv = 95; },
      [](SimulationRequest& r) { r.problem.head_dim = 32; },
      [](SimulationRequest& r) { r.problem.dtype = DataType::bf16; },
      [](SimulationRequest& r) { r.problem.causal = true; },
      [](SimulationRequest& r) { r.problem.pass = Pass::backward; },
      [](SimulationRequest& r) { r.problem.page_size = 16; },
      [](SimulationRequest& r) { r.tile = ProgramTile(16, 16); },
      [](SimulationRequest& r) { r.blocks_per_sm = 1; },
      [](SimulationRequest& r) { r.block_order = BlockOrder::longest; },
      [](SimulationRequest& r) { r.key_order = KeyOrder::descending; },
      [](SimulationRequest& r) { r.gpu.id = "another"; },
      [](SimulationRequest& r) {
        r.gpu.sm_groups = {{3, 0}, {1, 0}};
      },
      [](SimulationRequest& r) { r.masking.masks = {"q >= kv"}; },
  };
  for (std::size_t n = 0; n < std::size(changes); ++n) {
    CAPTURE(n);
    SimulationRequest changed = request, again = request;
    changes[n](changed);
    changes[n](again);
    CHECK_FALSE(same_request(request, changed));
    CHECK(same_request(changed, again));
  }
  for (const SpecKey& key : spec_keys()) {
    CAPTURE(key.key);
    SimulationRequest changed = request;
    changed.gpu.*key.member += 1;
    CHECK_FALSE(same_numbers(request.gpu, changed.gpu));
    CHECK_FALSE(same_request(request, changed));
  }
}

TEST_CASE("outcome: masks of two choices are the same only if the choices are, and masks without a choice only if they are one") {
  SimulationRequest first = small_request(), second = first;
  for (SimulationRequest* request : {&first, &second}) {
    request->masking.masks = {"q >= kv"};
    REQUIRE(settle_masks(request->masking, request->problem));
  }
  CHECK(first.problem.mask != second.problem.mask);
  CHECK(same_request(first, second));
  second = small_request();
  second.masking.masks = {"q > kv"};
  REQUIRE(settle_masks(second.masking, second.problem));
  CHECK_FALSE(same_request(first, second));
  SimulationRequest one = first, other = first;
  one.masking = other.masking = {};
  CHECK(same_request(one, other));
  other.problem.mask = second.problem.mask;
  CHECK_FALSE(same_request(one, other));
}

TEST_CASE("outcome: HBM bytes are those read and written by the end of the run, and what is dirty then is counted apart") {
  SimulationRequest request = small_request();
  for (const double capacity : {1024.0 * 1024, 16.0 * 1024}) {
    request.gpu.l2_capacity_bytes = capacity;
    const auto run = simulate(request);
    REQUIRE(run);
    const Simulation& simulation = **run;
    const auto total = [&](Link link) { return simulation.ledger.total(link).value; };
    std::int64_t of_tensors = 0, dirty_of_tensors = 0;
    for (const Tensor tensor : simulation.program->tensors()) {
      of_tensors += hbm_bytes(simulation, tensor);
      dirty_of_tensors += dirty_bytes_at_end(simulation, tensor);
    }
    CHECK(of_tensors == hbm_bytes(simulation));
    const std::int64_t dirty = dirty_bytes_at_end(simulation);
    CHECK(dirty > 0);
    CHECK(dirty_of_tensors == dirty);
    CHECK(hbm_bytes(simulation) == total(Link::hbm_read) + total(Link::hbm_write));
    CHECK(hbm_bytes(simulation) + dirty == total(Link::hbm_read) + simulation.hbm_write_after_flush.value);
    const Outcome outcome = outcome_of(simulation);
    CHECK(outcome.done());
    CHECK(outcome.hbm() == static_cast<double>(hbm_bytes(simulation)));
    CHECK(outcome.dirty() == static_cast<double>(dirty));
    CHECK(outcome.sm_link() == static_cast<double>(total(Link::l2_to_sm) + total(Link::sm_to_l2)));
    CHECK(outcome.time_ns == simulation.time.value);
    CHECK(outcome.cycles == simulation.cycles.value);
    CHECK(outcome.flops == static_cast<double>(simulation.flops));
    std::size_t longest = 0;
    for (std::size_t i = 1; i < simulation.launches.size(); ++i)
      if (simulation.launches[i].cycles > simulation.launches[longest].cycles) longest = i;
    CHECK(outcome.blocks_per_sm == simulation.launches[longest].blocks_per_sm);
    const auto simulated = simulate_outcome(request);
    REQUIRE(simulated);
    CHECK(*simulated == outcome);
  }
}

TEST_CASE("outcome: a run that is refused says why and on which tile, and one that is cancelled has none") {
  SimulationRequest request = small_request();
  request.tile = ProgramTile(512, 512);
  request.problem.head_dim = 128;
  const auto refused = simulate_outcome(request);
  REQUIRE(refused);
  CHECK_FALSE(refused->done());
  CHECK(refused->refusal.text().find("512x512") != std::string::npos);
  CHECK(refused->tile == TileShape{512, 512});
  request = small_request();
  request.algorithm = "flash2";
  request.problem.seq_q = request.problem.seq_kv = 8192;  // long enough to be asked before it ends
  const auto cancelled = simulate_outcome(request, [](double) { return false; });
  REQUIRE_FALSE(cancelled);
  CHECK(cancelled.error().kind == Error::Kind::cancelled);
}
