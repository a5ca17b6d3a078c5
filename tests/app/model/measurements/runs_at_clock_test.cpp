// Runs at the clock of a comparison, and at their own under load.
#include "app/model/measurements/runs_at_clock.h"

#include <doctest/doctest.h>

#include "app/model/measurements/clock_under_load.h"
#include "app/model/measurements/run_under_load.h"
#include "tests/app/model/measurements/recorded_problems.h"

using namespace tilescope;

TEST_CASE("runs at a clock: figures under load are those of the run under load, whether its clock is known before or not") {
  SimulationRequest recorded = simulated("flash3", "h100", recorded_flash3)->request;
  recorded.tile.reset();
  recorded.blocks_per_sm.reset();
  SimulationRequest other_tile = recorded, longer = recorded;
  other_tile.tile = ProgramTile(128, 32);
  longer.problem.seq_q = longer.problem.seq_kv = 1024;
  const Recordings recordings = load_recordings(recorded.gpu);
  struct Asked {
    const SimulationRequest& request;
    bool is_known_before;
  };
  for (const Asked& asked : {Asked{recorded, true}, Asked{other_tile, true}, Asked{longer, false}}) {
    CAPTURE(asked.request.problem.seq_q);
    const auto before = clock_before_simulating(asked.request, recordings);
    REQUIRE(before);
    CHECK(before->has_value() == asked.is_known_before);
    const auto loaded = run_under_load(recordings, **simulate(asked.request));
    REQUIRE(loaded);
    const auto outcome = simulate_outcome_under_load(asked.request, recordings);
    REQUIRE(outcome);
    CHECK(outcome->under_load.clock_hz == loaded->clock.hz);
    CHECK(outcome->under_load.recorded_ns == (loaded->recorded ? loaded->recorded->measured().time_cold_ns.median : 0));
    CHECK(outcome->time_ns == loaded->simulation->time.value);
    CHECK(outcome->cycles == loaded->simulation->cycles.value);
  }
}

TEST_CASE("runs at a clock: two runs that are compared have the clock of the first, so that a borrowed one swaps no two tiles") {
  const auto recorded = simulated("flash3", "h100", recorded_flash3);
  SimulationRequest request = recorded->request;
  request.tile = ProgramTile(128, 64);
  const auto other = *simulate(request);
  const Measurements known = load_measurements_of("h100");
  const Recordings recordings = recordings_of(known, recorded->request.gpu);
  const auto own = clock_under_load(recordings, *recorded), of_other = clock_under_load(recordings, *other);
  REQUIRE(own);
  REQUIRE(of_other);
  CHECK(own->from == ClockUnderLoad::From::this_case);
  // Another tile has the clock of the kernel's own, in whatever order they are compared.
  CHECK(of_other->from == ClockUnderLoad::From::this_case);
  CHECK(of_other->of_own_tile);
  CHECK_FALSE(own->of_own_tile);
  CHECK(of_other->hz == own->hz);
  const auto pair = pair_under_load(known, recorded, other), swapped = pair_under_load(known, other, recorded);
  REQUIRE(pair);
  REQUIRE(swapped);
  CHECK(pair->first->request.gpu.sm_clock_hz == own->hz);
  CHECK(pair->second->request.gpu.sm_clock_hz == own->hz);
  CHECK(swapped->first->request.gpu.sm_clock_hz == of_other->hz);
  CHECK(swapped->second->request.gpu.sm_clock_hz == of_other->hz);
  CHECK((pair->first->time.value < pair->second->time.value) == (swapped->second->time.value < swapped->first->time.value));
  CHECK(*clock_of_comparison(recorded->request, recordings) == own->hz);
  // Two programs too, and two sizes: with a clock each, the clock could decide which is faster.
  const auto flash2 = simulated("flash2", "h100", recorded_flash3);
  REQUIRE(clock_under_load(recordings, *flash2)->hz != own->hz);
  AttentionProblem longer = recorded_flash3, masked = recorded_flash3;
  longer.seq_q = longer.seq_kv = 2048;
  masked.causal = true;
  for (const auto& second : {flash2, simulated("flash3", "h100", longer), simulated("flash3", "h100", masked)}) {
    const auto together = pair_under_load(known, recorded, second);
    REQUIRE(together);
    CHECK(together->first->request.gpu.sm_clock_hz == own->hz);
    CHECK(together->second->request.gpu.sm_clock_hz == own->hz);
  }
  // Two recorded runs, of which both clocks are known.
  AttentionProblem full = recorded_rung, causal = recorded_rung;
  full.causal = false;
  causal.causal = true;
  const auto of_full = simulated("hopper_causal", "h100", full), of_causal = simulated("hopper_causal", "h100", causal);
  REQUIRE(clock_under_load(recordings, *of_full)->hz != clock_under_load(recordings, *of_causal)->hz);
  const auto recorded_both = pair_under_load(known, of_full, of_causal);
  REQUIRE(recorded_both);
  CHECK(recorded_both->first->request.gpu.sm_clock_hz == clock_under_load(recordings, *of_full)->hz);
  CHECK(recorded_both->second->request.gpu.sm_clock_hz == recorded_both->first->request.gpu.sm_clock_hz);
  // On two GPUs each has its own.
  const auto h200 = simulated("flash3", "h200", recorded_flash3);
  Measurements both = known;
  const Measurements of_h200 = load_measurements_of("h200");
  both.bundles.insert(both.bundles.end(), of_h200.bundles.begin(), of_h200.bundles.end());
  const auto two = pair_under_load(both, recorded, h200);
  REQUIRE(two);
  CHECK(two->second->request.gpu.sm_clock_hz == clock_under_load(recordings_of(both, h200->request.gpu), *h200)->hz);
  // A clock that the user chose stays.
  REQUIRE(set_spec_value(request.gpu, "sm.clock_hz=1.2e9"));
  CHECK(at_clock(request, 1.5e9).gpu.sm_clock_hz == 1.2e9);
}

TEST_CASE("runs at a clock: two runs on two GPUs that are cancelled are no pair, whenever that happens") {
  const auto first = simulated("flash2", "h100", recorded_flash2), second = simulated("flash2", "h200", recorded_flash2);
  SimulationRequest other_tile = second->request;
  other_tile.tile = ProgramTile(64, 64);  // its clock is that of the kernel's tile, which is simulated after it
  const auto made = simulate(other_tile);
  REQUIRE(made);
  Measurements known = load_measurements_of("h100");
  const Measurements of_h200 = load_measurements_of("h200");
  known.bundles.insert(known.bundles.end(), of_h200.bundles.begin(), of_h200.bundles.end());
  int cancelled = 0;
  for (bool whole = false; !whole; ++cancelled) {
    CAPTURE(cancelled);
    int reports = 0;
    const auto pair = pair_under_load(known, first, *made, [&](double) { return ++reports <= cancelled; });
    whole = reports <= cancelled;
    REQUIRE(static_cast<bool>(pair) == whole);
    if (!whole) CHECK(pair.error().kind == Error::Kind::cancelled);
  }
  CHECK(cancelled > 2);
}
