// Requested: each control changes its part of the request, and what was good can be asked for again.
#include <doctest/doctest.h>

#include "app/model/requests/assets.h"
#include "app/model/requests/requested.h"
#include "sim/analysis/outcome.h"

using namespace tilescope;

namespace {

Requested toy() {
  Requested requested;
  requested.request.gpu = requested.gpu_base = *load_gpu("toy");
  return requested;
}

}  // namespace

TEST_CASE("requested: another GPU brings its kernel's tile and blocks, and the focus back to SM 0") {
  Requested requested = toy();
  requested.request.tile = ProgramTile(16, 16);
  requested.request.blocks_per_sm = 2;
  requested.request.focus_sm = 3;
  requested.set_gpu("h200", *load_gpu("h200"));
  CHECK(requested.gpu_source == "h200");
  CHECK(requested.request.gpu.id == "h200");
  CHECK(requested.gpu_base.id == "h200");
  CHECK_FALSE(requested.request.tile.has_value());
  CHECK_FALSE(requested.request.blocks_per_sm.has_value());
  CHECK(requested.request.focus_sm == 0);
}

TEST_CASE("requested: a value of the GPU changes and goes back to its file's, alone or with all others") {
  Requested requested = toy();
  const double capacity = requested.gpu_base.l2_capacity_bytes, clock = requested.gpu_base.sm_clock_hz;
  REQUIRE(requested.set_spec_value("l2.capacity_bytes=0"));
  REQUIRE(requested.set_spec_value("sm.clock_hz=1000000000"));
  CHECK_FALSE(requested.set_spec_value("l2.capacity_bytes=-4"));
  CHECK(requested.request.gpu.l2_capacity_bytes == 0);
  CHECK(requested.gpu_base.l2_capacity_bytes == capacity);
  requested.reset_spec_value("l2.capacity_bytes");
  CHECK(requested.request.gpu.l2_capacity_bytes == capacity);
  CHECK(requested.request.gpu.sm_clock_hz == 1e9);
  requested.reset_spec_value("");
  CHECK(requested.request.gpu.sm_clock_hz == clock);
  CHECK(requested.request.gpu.provenance.find("sm.clock_hz")->second.source != Source::user);
}

TEST_CASE("requested: a value that the GPU's file leaves out can be set, and reset to nothing") {
  Requested requested = toy();
  REQUIRE_FALSE(requested.gpu_base.provenance.contains("link.latency_cycles"));
  REQUIRE(requested.set_spec_value("link.latency_cycles=7"));
  REQUIRE(requested.set_spec_value("sm.clock_under_load_hz=1000000"));
  CHECK_FALSE(same_numbers(requested.request.gpu, requested.gpu_base));
  requested.reset_spec_value("");
  CHECK(same_numbers(requested.request.gpu, requested.gpu_base));
  for (const char* key : {"link.latency_cycles", "sm.clock_under_load_hz"})
    CHECK_FALSE(requested.request.gpu.provenance.contains(key));
}

TEST_CASE("requested: a matrix takes the place of seeded values where its shape is the problem's") {
  Requested requested = toy();
  requested.request.problem.seq_q = requested.request.problem.seq_kv = 2;
  requested.request.problem.head_dim = 3;
  const auto changed = requested.with_matrix(Meaning::key, "1,2,3\n4,5,6", "typed");
  REQUIRE(changed);
  REQUIRE(changed->k != nullptr);
  CHECK(changed->k->at(1, 2) == 6);
  CHECK(requested.inputs.k == nullptr);  // not yet
  CHECK_FALSE(requested.with_matrix(Meaning::query, "1,2", "typed"));
  CHECK_FALSE(requested.with_matrix(Meaning::query, "one", "typed"));
  requested.inputs = *changed;
  CHECK(requested.with_matrix(Meaning::key, "", "typed")->k == nullptr);
  CHECK(requested.inputs_fit());

  requested.request.problem.seq_q = requested.request.problem.seq_kv = 8;
  CHECK_FALSE(requested.inputs_fit());
  CHECK(requested.fitting_inputs(requested.request.problem).k == nullptr);
  CHECK(requested.inputs.k != nullptr);  // it comes back with a problem that it fits
}

TEST_CASE("requested: a measured case replaces the request, and keeps the focus on the same GPU") {
  Requested requested = toy();
  requested.race = true;
  requested.request.focus_sm = 2;
  requested.open_case(std::nullopt, {.algorithm = "standard"}, {.seq_q = 32, .seq_kv = 32}, {16, 16});
  CHECK(requested.request.algorithm == "standard");
  CHECK(requested.request.focus_sm == 2);
  CHECK_FALSE(requested.race);
  requested.open_case(*load_gpu("h200"), counterpart_of("flash2_longest"), {}, {64, 64});
  CHECK(requested.gpu_base.id == "h200");
  CHECK(requested.request.focus_sm == 0);
  CHECK(requested.request.algorithm == "flash2");
  CHECK(requested.request.block_order == BlockOrder::grouped);
  requested.open_case(std::nullopt, counterpart_of("flash2"), {}, {64, 64});
  CHECK(requested.request.block_order == BlockOrder::launch);
}

TEST_CASE("requested: what was good can be asked for again") {
  Requested requested = toy();
  requested.keep_good(requested.request, false, requested.gpu_source, requested.gpu_base);
  requested.request.problem.seq_q = 1 << 20;
  requested.race = true;
  requested.back_to_good();
  CHECK(requested.request.problem.seq_q == 64);
  CHECK_FALSE(requested.race);
}

TEST_CASE("requested: a mask takes a kernel of Hopper to hopper_flex where that runs, and any other to flex") {
  const auto masked = [](const char* gpu, const char* algorithm, std::int64_t head_dim, std::optional<ProgramTile> tile = {}) {
    Requested requested;
    requested.request.gpu = requested.gpu_base = *load_gpu(gpu);
    requested.request.algorithm = algorithm;
    requested.request.tile = tile;
    requested.request.problem = {1, 4, 4, 1024, 1024, head_dim, DataType::fp16, false, Pass::forward, {}};
    MaskChoice choice;
    choice.masks = {"q - kv < 64"};
    requested.set_masking(choice);
    return requested.request.algorithm;
  };
  CHECK(masked("h100", "flash3", 128) == "hopper_flex");
  CHECK(masked("h200", "hopper_producer", 64) == "hopper_flex");
  CHECK(masked("h200", "flash2", 128) == "flex");
  CHECK(masked("a100", "flash3", 128) == "flex");                         // has no wgmma
  CHECK(masked("h100", "flash3", 128, ProgramTile(128, 512)) == "flex");  // does not fit shared memory
  CHECK(masked("h100", "hopper_flex", 128) == "hopper_flex");
}

TEST_CASE("requested: pages take a kernel of Hopper to hopper_flex") {
  Requested requested;
  requested.request.gpu = requested.gpu_base = *load_gpu("h100");
  requested.request.algorithm = "flash3";
  AttentionProblem paged = {1, 4, 4, 1024, 1024, 128, DataType::fp16, false, Pass::forward, {}};
  requested.request.problem = paged;
  paged.page_size = 64;
  requested.set_problem(paged);
  CHECK(requested.request.algorithm == "hopper_flex");
}
