// Why one of two runs moves fewer bytes: the tensors that are named, and what is said of HBM.
#include <doctest/doctest.h>

#include "app/views/race/race_reason.h"
#include "sim/programs/attention_tensors.h"
#include "tests/app/run_simulation.h"

using namespace tilescope;

namespace {

std::shared_ptr<const Simulation> of_rows(const char* algorithm, const GpuSpec& gpu) {
  AttentionProblem problem;
  problem.seq_q = problem.seq_kv = 64;
  return run(algorithm, gpu, problem);
}

}  // namespace

TEST_CASE("race reason: standard attention's extra traffic is S and P") {
  const auto standard = of_rows("standard", toy_gpu()), flash = of_rows("flash2", toy_gpu());
  const RaceReason reason = race_reason(*standard, *flash);
  REQUIRE(reason.tensors.size() == 2);
  for (const Tensor tensor : reason.tensors) CHECK((tensor == tensors::s || tensor == tensors::p));
  CHECK(reason.second == 0);
  const auto moved = [&](Tensor tensor) {
    const TrafficTable table = standard->ledger.table();
    const auto& row = table[tensor.index()];
    return row[static_cast<std::size_t>(Link::l2_to_sm)] + row[static_cast<std::size_t>(Link::sm_to_l2)];
  };
  CHECK(reason.first == moved(tensors::s) + moved(tensors::p));
  CHECK(reason.share > 0);
  CHECK(reason.share < 1);
}

TEST_CASE("race reason: HBM traffic is called identical only if the L2 holds everything") {
  CHECK(race_reason(*of_rows("standard", toy_gpu()), *of_rows("flash2", toy_gpu())).same_hbm);
  GpuSpec small = toy_gpu();
  REQUIRE(set_spec_value(small, "l2.capacity_bytes=4096"));
  const auto standard = of_rows("standard", small), flash = of_rows("flash2", small);
  CHECK_FALSE(race_reason(*standard, *flash).same_hbm);
  CHECK(race_sentences(*standard, *flash).front().find("HBM") == std::string::npos);
}

TEST_CASE("race reason: a tensor that both move has both figures; the reverse race has no reason") {
  const auto naive = of_rows("matmul_naive", toy_gpu()), tiled = of_rows("matmul_tiled", toy_gpu());
  const RaceReason reason = race_reason(*naive, *tiled);
  REQUIRE_FALSE(reason.tensors.empty());
  CHECK(reason.tensors.front() == tensors::k);
  CHECK(reason.second > 0);
  CHECK(reason.first > reason.second);
  CHECK(race_reason(*tiled, *naive).tensors.empty());
  CHECK(race_sentences(*tiled, *naive).empty());
  CHECK(race_sentences(*naive, *naive).empty());
}
