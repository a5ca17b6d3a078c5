// Clocks that recorded runs lend, and the runs that lend them.
#include "app/model/measurements/borrowed_clock.h"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "app/model/measurements/recordings.h"
#include "app/model/measurements/useful_flops.h"
#include "app/model/requests/assets.h"
#include "kernels/kernel_table.h"

using namespace tilescope;

namespace {

/// Returns the mean error of the recorded clocks if `guess` foretells each from the other runs.
template <class Guess>
double mean_error(const std::vector<RecordedRun>& runs, ProductInstruction instruction, const Guess& guess) {
  double sum = 0;
  int count = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].load.instruction != instruction) continue;
    std::vector<RecordedRun> others = runs;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    sum += std::abs(guess(others, runs[i].load) / runs[i].clock_hz - 1);
    ++count;
  }
  REQUIRE(count > 50);
  return sum / count;
}

}  // namespace

TEST_CASE("borrowed clock: like runs foretell a recorded clock with at most 60 % of the error of the calibrated clock") {
  for (const char* id : {"h100", "h200"})
    for (const ProductInstruction instruction : {ProductInstruction::mma_sync, ProductInstruction::wgmma}) {
      CAPTURE(id);
      CAPTURE(static_cast<int>(instruction));
      const GpuSpec gpu = *load_gpu(id);
      const Recordings recordings = load_recordings(gpu);
      const double like = mean_error(recordings.runs, instruction,
                                     [](const auto& others, const TensorLoad& load) { return borrowed_clock(others, load)->hz; });
      const double calibrated =
          mean_error(recordings.runs, instruction, [&](const auto&, const TensorLoad&) { return gpu.sm_clock_under_load_hz; });
      CHECK(like < 0.6 * calibrated);
      CHECK(like < 0.04);
    }
}

TEST_CASE("borrowed clock: it is the mean between lighter and heavier runs, and of the same instruction alone") {
  const auto run = [](ProductInstruction instruction, double flops_a_cycle, double cycles, double ghz) {
    return RecordedRun{{instruction, flops_a_cycle * cycles, cycles}, ghz * 1e9};
  };
  std::vector<RecordedRun> runs = {run(ProductInstruction::wgmma, 1e5, 1e5, 1.9), run(ProductInstruction::wgmma, 2e5, 3e5, 1.6),
                                   run(ProductInstruction::wgmma, 3e5, 2e5, 1.5), run(ProductInstruction::wgmma, 4e5, 1e6, 1.4),
                                   run(ProductInstruction::wgmma, 4e5, 2e6, 1.3)};
  for (int i = 0; i < 9; ++i) runs.push_back(run(ProductInstruction::mma_sync, 2e5, 3e5, 1.2));
  const auto busy = borrowed_clock(runs, {ProductInstruction::wgmma, 3.5e5 * 5e5, 5e5});
  REQUIRE(busy);
  CHECK(busy->hz < 1.6e9);
  CHECK(busy->hz > 1.3e9);
  CHECK(busy->runs >= 1);
  CHECK(borrowed_clock(runs, {ProductInstruction::mma_sync, 2e5 * 3e5, 3e5})->hz == doctest::Approx(1.2e9));
  // Two runs that the rule holds against are averaged.
  runs[3].clock_hz = 1.7e9;
  const auto pooled = borrowed_clock(runs, {ProductInstruction::wgmma, 3e5 * 6e5, 6e5});
  REQUIRE(pooled);
  CHECK(pooled->hz > 1.5e9);
  CHECK(pooled->hz < 1.7e9);
  runs.resize(4);
  CHECK_FALSE(borrowed_clock(runs, {ProductInstruction::wgmma, 3e11, 1e6}));
}

TEST_CASE("borrowed clock: more FLOP a cycle, or more cycles, never give a higher clock") {
  for (const char* id : {"h100", "h200"})
    for (const ProductInstruction instruction : {ProductInstruction::mma_sync, ProductInstruction::wgmma}) {
      CAPTURE(id);
      const Recordings recordings = load_recordings(*load_gpu(id));
      double before_in_rate = 1e12;
      for (const double rate : {1e4, 5e4, 1e5, 2e5, 3e5, 4e5}) {
        double before = 1e12;
        for (double cycles = 3e4; cycles < 3e7; cycles *= 1.7) {
          const auto clock = borrowed_clock(recordings.runs, {instruction, rate * cycles, cycles});
          REQUIRE(clock);
          CAPTURE(rate);
          CAPTURE(cycles);
          CHECK(clock->hz <= before * (1 + 1e-12));
          before = clock->hz;
        }
        const auto long_run = borrowed_clock(recordings.runs, {instruction, rate * 1e6, 1e6});
        REQUIRE(long_run);
        CHECK(long_run->hz <= before_in_rate * (1 + 1e-12));
        before_in_rate = long_run->hz;
      }
    }
}

TEST_CASE("recorded runs: a causal mask over more keys than queries counts the visible keys, as a simulated run does") {
  const Recordings recordings = load_recordings(*load_gpu("h100"));
  int tall = 0;
  for (const RecordedRun& run : recordings.runs) {
    const AttentionProblem& p = run.problem;
    if (!p.causal || p.seq_kv < 2 * p.seq_q || run.kernel != "flash3") continue;
    ++tall;
    AttentionProblem dense = p;
    dense.causal = false;
    const double all = useful_flops(**find_kernel(run.kernel), dense);
    CHECK(run.load.flops > 0.74 * all);
    CHECK(run.load.flops < all);
  }
  CHECK(tall > 0);
}
