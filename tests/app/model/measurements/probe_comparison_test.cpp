// What kernels recorded of a row, beside the tile machine: the committed recordings, and what is made of ones that do not fit.
#include "app/model/measurements/probe_comparison.h"

#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>
#include <imgui_internal.h>

#include "app/model/measurements/block_of_row.h"
#include "app/model/measurements/find_recorded.h"
#include "app/model/session/session.h"
#include "app/views/panels.h"
#include "app/views/softmax/softmax_kernel.h"
#include "sim/analysis/softmax_row.h"
#include "sim/programs/backward_tensors.h"
#include "tests/app/views/panel_screen.h"
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

/// The same of a backward kernel: query 300 of head 1 of two that share keys.
std::shared_ptr<const KnownProbe> synthetic_pairs(const std::string& kernel, bool causal, std::uint64_t seed) {
  KnownProbe known;
  ProbeResult& probe = known.probe;
  probe.kernel = kernel;
  probe.device = "NVIDIA H200";
  probe.date = "2000-01-02T03:04:05Z";
  probe.problem.heads = 2, probe.problem.kv_heads = 1;
  probe.problem.head_dim = 64;
  probe.problem.seq_q = probe.problem.seq_kv = 384;
  probe.problem.pass = Pass::backward;
  probe.problem.causal = causal;
  const bool is_flash1 = kernel == "flash1_backward", has_two = kernel == "flash2_backward_two_pass" || kernel == "flex_backward";
  probe.tile = is_flash1 ? TileShape{64, 64} : TileShape{64, 128};
  probe.launches.resize(is_flash1 ? 1 : has_two ? 2 : 3, {"of the kernel", 1000, 1100});
  probe.plane = 1;
  probe.query = 300;
  probe.seed = known.inputs.seed = seed;
  probe.pairs.resize(static_cast<std::size_t>(probe.problem.visible_keys(probe.query)));
  const auto simulation = simulation_of(probe);
  const auto compared = compare_probe(*simulation->program, std::make_shared<const KnownProbe>(known));
  REQUIRE_MESSAGE(compared, (compared ? "" : compared.error().sentence));
  for (std::size_t i = 0; i < probe.pairs.size(); ++i) probe.pairs[i] = (*compared)->pairs[i].machine;
  return std::make_shared<const KnownProbe>(std::move(known));
}

Session::Start start_of(const std::shared_ptr<const KnownProbe>& known) {
  Session::Start start;
  start.request.algorithm = known->probe.kernel;
  start.request.problem = known->probe.problem;
  start.request.tile = known->probe.tile;
  start.request.gpu = h200_gpu();
  start.measurements.probes = {known};
  start.threads = false;
  return start;
}

}  // namespace

TEST_CASE("probe comparison: the machine's S, P, dP and dS of a row are those of float64, from the blocks of all its keys") {
  for (const std::string kernel :
       {"flash1_backward", "flash2_backward", "flash2_backward_two_pass", "flash2_backward_deterministic", "flex_backward"})
    for (const bool causal : {false, true}) {
      CAPTURE(kernel);
      const auto known = synthetic_pairs(kernel, causal, 3);
      const ProbeResult& probe = known->probe;
      REQUIRE(probe.pairs.size() == (causal ? 301U : 384U));
      double sum = 0, d = 0, d_s = 0;
      for (const ProbedPair& pair : probe.pairs) sum += pair.p, d += pair.p * pair.d_p, d_s += std::fabs(pair.d_s);
      CHECK(sum == doctest::Approx(1));
      for (std::size_t key : {std::size_t{0}, std::size_t{130}, probe.pairs.size() - 1}) {
        const ProbedPair& pair = probe.pairs[key];
        double s = 0, d_p = 0;
        for (std::int64_t c = 0; c < 64; ++c) {
          const auto value = [&](Tensor tensor, std::int64_t plane, std::int64_t row) {
            return static_cast<double>(known->inputs.value(probe.problem, tensor, plane, row, c));
          };
          s += value(tensors::q, 1, 300) * value(tensors::k, 0, static_cast<std::int64_t>(key)) / 8;
          d_p += value(tensors::d_o, 1, 300) * value(tensors::v, 0, static_cast<std::int64_t>(key));
        }
        CHECK(pair.s == doctest::Approx(s).epsilon(1e-5));
        CHECK(pair.d_p == doctest::Approx(d_p).epsilon(1e-5));
        CHECK(std::fabs(pair.d_s - pair.p * (pair.d_p - d)) < 1e-3 * pair.p);  // D is that of the rounded O
      }
      CHECK(d_s > 0.1);
    }
}

TEST_CASE("probe comparison: a wrong dS is reported, relative to P where dP is about D") {
  KnownProbe wrong = *synthetic_pairs("flash2_backward", false, 3);
  ProbedPair& pair = wrong.probe.pairs[200];
  pair.d_s += 0.25 * std::max(pair.p, std::fabs(pair.d_s));
  const auto compared = compare_probe(*simulation_of(wrong.probe)->program, std::make_shared<const KnownProbe>(wrong));
  REQUIRE(compared);
  const ProbedPair worst = (*compared)->worst_pair();
  CHECK(worst.d_s == doctest::Approx(0.25));
  CHECK(worst.s == 0);
  CHECK(worst.p == 0);
  CHECK(worst.d_p == 0);
  CHECK(difference((*compared)->pairs[199]).d_s == 0);
}

TEST_CASE("probe comparison: a head with too many pairs is refused before anything runs") {
  KnownProbe large = *synthetic_pairs("flash2_backward", false, 3);
  const auto simulation = simulation_of(large.probe);
  large.probe.problem.seq_q = large.probe.problem.seq_kv = 4096;
  const auto compared = compare_probe(*simulation->program, std::make_shared<const KnownProbe>(large));
  REQUIRE_FALSE(compared);
  CHECK(compared.error().sentence.text().find("33554432 pairs") != std::string::npos);
}

TEST_CASE("session: a backward kernel's row is compared, and the panel shows the key of the window with the largest difference") {
  KnownProbe changed = *synthetic_pairs("flash2_backward", false, 7);
  changed.probe.pairs[200].p *= 1.5;
  const auto known = std::make_shared<const KnownProbe>(changed);
  Session session(start_of(known));
  session.finish();
  SessionView view = session.view();
  REQUIRE(view.measured.compared != nullptr);
  CHECK_FALSE(shown_beside(view).inputs);
  CHECK_FALSE(shown_beside(view).row);
  CHECK(compared_key(view) == 200);

  session.apply(ShowProbe{});
  session.finish();
  view = session.view();
  CHECK(shown_beside(view).inputs);
  CHECK(shown_beside(view).row);
  CHECK(view.workspace->row == 300 - 256);
  REQUIRE(view.lane().operations != nullptr);
  CHECK(view.lane().operations->domain.axis == Axis::key);
  CHECK(query_plane(*view.lane().operations, view.lane().rest.op) == 1);
  ViewChoices views = view.workspace->views;
  views.column = 70;
  session.apply(SetViews{views});
  view = session.view();
  CHECK(compared_key(view) == 70);
  // What the panel shows of the key is what the comparison has.
  const SoftmaxRow row =
      softmax_row(*view.lane().simulation->program, *view.lane().history, view.lane().rest.op, view.workspace->row);
  REQUIRE(row.gradient);
  const ProbedPair& machine = view.measured.compared->pairs[70].machine;
  CHECK(static_cast<double>(row.gradient->p_row[70]) == machine.p);
  CHECK(static_cast<double>(row.gradient->d_p_row[70]) == machine.d_p);
  CHECK(static_cast<double>(row.gradient->d_s_row[70]) == machine.d_s);

  View shown;
  static_cast<SessionView&>(shown) = view;
  PanelScreen screen({560, 700});
  const std::string text = screen.text(shown, draw_softmax_panel);
  CAPTURE(text);
  CHECK(text.find("Recorded inside the kernel, 2000-01-02") != std::string::npos);
  CHECK(text.find("key 70, largest of the row 5.0e-01") != std::string::npos);
  CHECK(text.find(fmt::format("{:.5f}", machine.d_s)) != std::string::npos);
  CHECK(text.find(fmt::format("{:.5f}", machine.d_p)) != std::string::npos);
}

TEST_CASE("session: the kernel's S, P, dP and dS are shown only where the panel has room for them, and its day always") {
  const auto known = synthetic_pairs("flash2_backward", false, 7);
  Session session(start_of(known));
  session.finish();
  View shown;
  static_cast<SessionView&>(shown) = session.view();
  bool as_line = false, as_table = false;
  for (float height = 160; height <= 500; height += 20) {
    CAPTURE(height);
    PanelScreen screen({380, height});
    const std::string text = screen.text(shown, draw_softmax_panel);
    CAPTURE(text);
    const bool has_rows = text.find("Kernel, recorded 2000-01-02") != std::string::npos;
    CHECK(has_rows == (text.find("Show query 300, head 1") != std::string::npos));
    if (!has_rows) {
      CHECK(text.find("dS = P · (dP − D)\tkernel =") != std::string::npos);
      continue;
    }
    (text.find("tile machine") == std::string::npos ? as_line : as_table) = true;
    CHECK(ImGui::FindWindowByName("panel")->ScrollMax.y == 0);
  }
  CHECK(as_line);
  CHECK(as_table);
}

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
    CHECK((*compared)->pairs.size() == probe.pairs.size());
    CHECK((*compared)->first_row + (*compared)->row == probe.query);
    const ProbedStep worst = (*compared)->worst();
    // Both add up in fp32, in another order, and the kernel's exponential is the special-function unit's. Standard's scores are
    // rounded on their way, and one between two numbers of the type can go either way.
    const double within = probe.kernel != "standard" ? 1e-5 : probe.problem.dtype == DataType::fp16 ? 1e-3 : 8e-3;
    CHECK(worst.m < within);
    CHECK(worst.l < within);
    CHECK(worst.alpha < within);
    const ProbedPair pair = (*compared)->worst_pair();
    constexpr double truncated = 1e-4;  // up to 8 steps of 16 products, each truncated to 2^-18 of sums below 64
    CHECK(std::max({pair.s, pair.p, pair.d_p, pair.d_s}) < truncated);
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
  Session session(start_of(known));
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

  // Nor do samples belong to a run whose blocks begin in another order.
  auto sampled = std::make_shared<KnownBandwidth>(*known.bandwidths.front());
  sampled->record.problem = request.problem;
  Measurements with_it;
  with_it.bandwidths.push_back(sampled);
  CHECK(find_bandwidth(with_it, **other) == sampled);
  request.block_order = BlockOrder::reversed;
  const auto reversed = simulate(request);
  REQUIRE(reversed);
  CHECK(find_bandwidth(with_it, **reversed) == nullptr);
}
