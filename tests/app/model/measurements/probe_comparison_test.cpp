// What kernels recorded of a row, beside the tile machine: the committed recordings, and what is made of ones that do not fit.
#include "app/model/measurements/probe_comparison.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <doctest/doctest.h>

#include "app/model/session/session.h"
#include "app/platform/files.h"
#include "app/views/softmax/softmax_kernel.h"
#include "kernels/measure/probe_json.h"
#include "sim/programs/attention_tensors.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

std::shared_ptr<const Simulation> simulation_of(const ProbeResult& probe) {
  SimulationRequest request;
  request.algorithm = probe.kernel;
  request.problem = probe.problem;
  request.tile = probe.tile;
  request.gpu = h200_gpu();
  auto made = simulate(request);
  REQUIRE_MESSAGE(made, (made ? "" : made.error().sentence));
  return *made;
}

std::vector<std::shared_ptr<const KnownProbe>> recorded_probes() {
  return load_measurements().probes;
}

/// A probe of flash2 whose figures are the tile machine's own, put together here: no kernel recorded it.
std::shared_ptr<const KnownProbe> synthetic(std::int64_t plane, std::int64_t query, std::uint64_t seed) {
  KnownProbe known;
  ProbeResult& probe = known.probe;
  probe.kernel = "flash2";
  probe.device = "NVIDIA H200";
  probe.date = "2000-01-02T03:04:05Z";
  probe.problem.heads = probe.problem.kv_heads = 2;
  probe.problem.head_dim = 64;
  probe.problem.seq_q = probe.problem.seq_kv = 512;
  probe.tile = {128, 128};
  probe.launches = {{"attention", 1000, 1100}};
  probe.sm_blocks = {{0, 0, 0, 900, {{ProbeStage::softmax, 0, 0, 10, 800}}}};
  probe.plane = plane;
  probe.query = query;
  probe.block = plane * 4 + query / 128;
  probe.row = query % 128;
  probe.seed = known.inputs.seed = seed;
  probe.steps.resize(4);
  const auto simulation = simulation_of(probe);
  const auto compared = compare_probe(*simulation->program, std::make_shared<const KnownProbe>(known));
  REQUIRE(compared);
  for (std::size_t i = 0; i < 4; ++i) probe.steps[i] = (*compared)->steps[i].machine;
  return std::make_shared<const KnownProbe>(std::move(known));
}

}  // namespace

TEST_CASE("probe comparison: every recorded m, l and alpha is the tile machine's on the same numbers, at every step") {
  const auto probes = recorded_probes();
  REQUIRE_FALSE(probes.empty());
  for (const auto& known : probes) {
    const ProbeResult& probe = known->probe;
    CAPTURE(probe.kernel);
    CAPTURE(probe.problem.head_dim);
    const auto compared = compare_probe(*simulation_of(probe)->program, known);
    REQUIRE_MESSAGE(compared, (compared ? "" : compared.error().sentence));
    CHECK((*compared)->steps.size() == probe.steps.size());
    CHECK((*compared)->first_row + (*compared)->row == probe.query);
    const ProbedStep worst = (*compared)->worst();
    // Both add up in fp32, in another order, and the kernel's exponential is the special-function unit's. Standard's scores are
    // rounded on their way, and one between two numbers of the type can go either way.
    const double within = probe.kernel != "standard" ? 1e-5 : probe.problem.dtype == DataType::fp16 ? 1e-3 : 8e-3;
    CHECK(worst.m < within);
    CHECK(worst.l < within);
    CHECK(worst.alpha < within);
  }
}

TEST_CASE("probe comparison: a wrong figure is reported with its error") {
  KnownProbe wrong = *synthetic(1, 300, 3);
  wrong.probe.steps[2].l *= 1.25;
  const auto compared = compare_probe(*simulation_of(wrong.probe)->program, std::make_shared<const KnownProbe>(wrong));
  REQUIRE(compared);
  CHECK((*compared)->worst().l == doctest::Approx(0.25));
  CHECK((*compared)->worst().m == 0);
  CHECK(difference((*compared)->steps[2]).l == doctest::Approx(0.25));
  CHECK(difference((*compared)->steps[1]).l == 0);
}

TEST_CASE("probe comparison: tiles that the kernel's warp skips are not steps") {
  ProbeResult probe = synthetic(0, 5, 1)->probe;
  probe.problem.causal = true;
  probe.problem.head_dim = 128;
  probe.tile = {128, 64};
  probe.query = 384;  // the first row of the last tile of queries: of its two last tiles of keys it sees one key of the first
  const auto simulation = simulation_of(probe);
  for (const std::size_t steps : {7U, 8U, 6U}) {
    KnownProbe known{probe, {}, false};
    known.probe.steps.assign(steps, {});
    const auto compared = compare_probe(*simulation->program, std::make_shared<const KnownProbe>(known));
    CHECK(static_cast<bool>(compared) == (steps != 6));
    if (compared) CHECK((*compared)->steps.size() == steps);
  }
}

TEST_CASE("probe comparison: other inputs give different figures, and other steps are refused") {
  KnownProbe other = *synthetic(0, 5, 1);
  other.inputs.seed = 2;
  const auto program = simulation_of(other.probe);
  auto compared = compare_probe(*program->program, std::make_shared<const KnownProbe>(other));
  REQUIRE(compared);
  CHECK((*compared)->worst().l > 1e-3);
  other.probe.steps.pop_back();
  compared = compare_probe(*program->program, std::make_shared<const KnownProbe>(other));
  REQUIRE_FALSE(compared);
  CHECK(compared.error().sentence.text().find("3 steps") != std::string::npos);
}

TEST_CASE("probe comparison: every row of every plane belongs to a block") {
  for (const std::string kernel : {"flash2", "flash1", "standard"}) {
    ProbeResult probe;
    probe.kernel = kernel;
    probe.problem.heads = probe.problem.kv_heads = 2;
    probe.problem.head_dim = 64;
    probe.problem.seq_q = 200;
    probe.problem.seq_kv = 136;
    probe.tile = kernel == "flash1" ? TileShape{64, 64} : TileShape{128, 128};
    const auto simulation = simulation_of(probe);
    const int launch = kernel == "standard" ? 1 : 0;
    BlockOperations block;
    for (std::int64_t plane = 0; plane < 2; ++plane)
      for (const std::int64_t query : {0, 1, 63, 64, 127, 128, 199}) {
        const auto found = block_of_row(*simulation->program, launch, plane, query);
        REQUIRE(found);
        simulation->program->emit_block(launch, *found, block);
        CHECK(block.domain.plane == plane);
        CHECK(query >= block.domain.first);
        CHECK(query < block.domain.end());
      }
    CHECK_FALSE(block_of_row(*simulation->program, launch, 0, 200));
  }
}

TEST_CASE("session: the kernel's row is compared at once, and shown with the kernel's inputs on request") {
  const auto known = synthetic(1, 300, 7);
  Session::Start start;
  start.request.algorithm = "flash2";
  start.request.problem = known->probe.problem;
  start.request.tile = known->probe.tile;
  start.request.gpu = h200_gpu();
  start.measurements.probes = {known};
  start.threads = false;
  Session session(std::move(start));
  session.finish();
  SessionView view = session.view();
  REQUIRE(view.measured.compared != nullptr);
  CHECK(view.measured.probe == known.get());
  CHECK(view.measured.compared->worst().l == 0);
  CHECK_FALSE(shown_beside(view).inputs);  // the window has seed 1, the kernel had 7

  session.apply(ShowProbe{});
  session.finish();
  view = session.view();
  CHECK(shown_beside(view).inputs);
  CHECK(shown_beside(view).row);
  CHECK(view.workspace->row == 300 - 256);
  REQUIRE(view.lane().operations != nullptr);
  CHECK(view.lane().operations->domain.plane == 1);
  const std::size_t step = compared_step(view);
  CHECK(step == 1);
  // What the panel shows of the row is what the comparison has.
  REQUIRE(view.lane().history != nullptr);
  const auto l = view.lane().history->value(tiles::l, view.lane().rest.op);
  REQUIRE(l != nullptr);
  CHECK(static_cast<double>(l->at(view.workspace->row, 0)) == view.measured.compared->steps[step].machine.l);
}

TEST_CASE("measurements: samples lie next to the bundles; inputs are equal if every element is") {
  InputSource a, b;
  CHECK(same_numbers(a, b));
  b.seed = 2;
  CHECK_FALSE(same_numbers(a, b));
  b = a;
  b.q = std::make_shared<const Matrix>(2, 3, 1.0F);
  CHECK_FALSE(same_numbers(a, b));
  a.q = std::make_shared<const Matrix>(2, 3, 1.0F);
  CHECK(same_numbers(a, b));

  const Measurements known = load_measurements();
  REQUIRE_FALSE(known.bandwidths.empty());
  const BandwidthRecord& record = known.bandwidths.front()->record;
  SimulationRequest request;
  request.algorithm = record.kernel;
  request.problem = record.problem;
  request.problem.seq_q = request.problem.seq_kv = 512;  // another problem than was sampled
  request.tile = record.tile;
  request.gpu = h200_gpu();
  const auto other = simulate(request);
  REQUIRE(other);
  CHECK(find_bandwidth(known, **other) == nullptr);
}
