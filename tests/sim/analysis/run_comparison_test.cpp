// RunComparison: every figure is that of its simulation, and what differs most comes first.
#include <algorithm>
#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "sim/analysis/run_comparison.h"
#include "tests/sim/test_gpus.h"

using namespace tilescope;

namespace {

std::shared_ptr<const Simulation> run_of(const SimulationRequest& request) {
  const auto made = simulate(request);
  REQUIRE_MESSAGE(static_cast<bool>(made), (made ? "" : made.error().sentence.text()));
  return *made;
}

SimulationRequest toy_request(const std::string& algorithm = "flash2") {
  SimulationRequest request;
  request.algorithm = algorithm;
  request.gpu = toy_gpu();
  return request;
}

const SettingDifference* setting(const RunComparison& compared, std::string_view key) {
  const auto found =
      std::find_if(compared.settings.begin(), compared.settings.end(), [&](const SettingDifference& s) { return s.key == key; });
  return found == compared.settings.end() ? nullptr : &*found;
}

const ComparedFigure* bytes_of(const RunComparison& compared, std::string_view tensor, Link link) {
  for (const ComparedFigure& f : compared.figures)
    if (f.figure == RunFigure::tensor_bytes && to_string(f.tensor) == tensor && f.link == link) return &f;
  return nullptr;
}

}  // namespace

TEST_CASE("run comparison: the same run twice differs in nothing") {
  const auto run = run_of(toy_request());
  const RunComparison compared = compare_runs(run, run);
  CHECK(compared.settings.empty());
  CHECK(compared.equal_settings > 10);
  CHECK(compared.figures.size() > 20);
  for (const ComparedFigure& figure : compared.figures) CHECK(figure.equal());
}

TEST_CASE("run comparison: every figure is the simulation's own") {
  SimulationRequest other = toy_request("standard");
  other.problem.causal = true;
  const auto first = run_of(toy_request()), second = run_of(other);
  const RunComparison compared = compare_runs(first, second);
  REQUIRE(compared.find(RunFigure::time) != nullptr);
  CHECK(*compared.find(RunFigure::time)->first == first->time.value);
  CHECK(*compared.find(RunFigure::time)->second == second->time.value);
  double waits_first = 0, waits_second = 0;
  for (const ComparedFigure& f : compared.figures) {
    if (f.figure == RunFigure::link_bytes) {
      CHECK(*f.first == static_cast<double>(first->ledger.total(f.link).value));
      CHECK(*f.second == static_cast<double>(second->ledger.total(f.link).value));
    }
    if (f.figure == RunFigure::busy) CHECK(*f.second == second->utilisation[static_cast<std::size_t>(f.bound)]);
    if (f.figure == RunFigure::tensor_bytes && f.first)
      for (const Tensor tensor : first->program->tensors())
        if (to_string(tensor) == to_string(f.tensor))
          CHECK(*f.first == static_cast<double>(first->ledger.total(tensor, f.link).value));
    if (f.figure == RunFigure::launch_cycles && f.launch == "softmax") {
      CHECK_FALSE(f.first.has_value());
      CHECK(*f.second == second->launches[1].cycles.value);
    }
    if (f.figure == RunFigure::wait_cycles) waits_first += f.first.value_or(0), waits_second += f.second.value_or(0);
  }
  const auto waits_of = [](const Simulation& run) {
    double sum = 0;
    for (const Interval& interval : run.trace->intervals(run.request.focus_sm))
      if (interval.cause != WaitCause::none && interval.cause != WaitCause::program_order) sum += interval.start - interval.ready;
    return sum;
  };
  CHECK(waits_first == doctest::Approx(waits_of(*first)));
  CHECK(waits_second == doctest::Approx(waits_of(*second)));
  // flash2 never stores S.
  const ComparedFigure* scores = bytes_of(compared, "S", Link::l2_to_sm);
  REQUIRE(scores != nullptr);
  CHECK(scores->first.value_or(0) == 0);
  CHECK(*scores->second > 0);
}

TEST_CASE("run comparison: within a group of one unit the largest difference comes first, equal figures last") {
  SimulationRequest other = toy_request();
  other.tile = ProgramTile(8, 16);
  const RunComparison compared = compare_runs(run_of(toy_request()), run_of(other));
  for (const FigureGroup group : {FigureGroup::bytes, FigureGroup::busy, FigureGroup::waits}) {
    const auto figures = compared.of(group);
    for (std::size_t i = 1; i < figures.size(); ++i) {
      CHECK(std::abs(figures[i - 1].difference()) >= std::abs(figures[i].difference()));
      if (figures[i - 1].equal()) CHECK(figures[i].equal());
    }
  }
}

TEST_CASE("run comparison: only settings that differ are named, in both values") {
  SimulationRequest other = toy_request();
  other.tile = ProgramTile(8, 16);
  other.problem.causal = true;
  REQUIRE(static_cast<bool>(set_spec_value(other.gpu, "l2.capacity_bytes=0")));
  const auto first = run_of(toy_request());
  const RunComparison compared = compare_runs(first, run_of(other));
  REQUIRE(setting(compared, "block_q") != nullptr);
  CHECK(setting(compared, "block_q")->first == std::to_string(first->program->tile().block_q));
  CHECK(setting(compared, "block_q")->second == "8");
  REQUIRE(setting(compared, "mask") != nullptr);
  CHECK(setting(compared, "mask")->first.empty());
  CHECK(setting(compared, "mask")->second == "causal");
  REQUIRE(setting(compared, "l2.capacity_bytes") != nullptr);
  CHECK(setting(compared, "l2.capacity_bytes")->second == "0");
  CHECK(setting(compared, "heads") == nullptr);
  CHECK(setting(compared, "gpu") == nullptr);
}

TEST_CASE("run comparison: of another GPU its name is named, not its hundred numbers") {
  SimulationRequest other = toy_request();
  other.gpu = h200_gpu();
  other.tile = ProgramTile(16, 16);
  const RunComparison compared = compare_runs(run_of(toy_request()), run_of(other));
  REQUIRE(setting(compared, "gpu") != nullptr);
  CHECK(setting(compared, "gpu")->second == "h200");
  CHECK(setting(compared, "sm.count") == nullptr);
}

TEST_CASE("run comparison: only a persistent launch has tiles per block, and it is one wave") {
  SimulationRequest request;
  request.gpu = h200_gpu();
  request.problem = {.heads = 32, .kv_heads = 32, .seq_q = 1024, .seq_kv = 1024, .head_dim = 64, .dtype = DataType::fp16};
  request.algorithm = "flash2";
  const auto plain = run_of(request);
  request.algorithm = "hopper_persistent";
  const auto persistent = run_of(request);
  const RunComparison compared = compare_runs(plain, persistent);
  const ComparedFigure* const tiles = compared.find(RunFigure::tiles_per_block);
  REQUIRE(tiles != nullptr);
  CHECK_FALSE(tiles->first);
  CHECK(tiles->second == static_cast<double>(persistent->launches[0].blocks) / 132);
  CHECK(compared.find(RunFigure::waves)->second == 1);
  CHECK(compared.find(RunFigure::waves)->first == plain->launches[0].waves);
  CHECK(compared.find(RunFigure::launch_blocks)->second == 132);
  // Both have the bound of perfect balance, and no time is below it.
  const ComparedFigure* const least = compared.find(RunFigure::balanced_time);
  REQUIRE(least != nullptr);
  CHECK(*least->first <= plain->time.value);
  CHECK(*least->second <= persistent->time.value);
}
