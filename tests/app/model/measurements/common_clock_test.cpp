// The clock of runs that are compared or ranked.
#include "app/model/measurements/common_clock.h"

#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "app/model/measurements/clock_under_load.h"
#include "tests/app/model/measurements/recorded_problems.h"

using namespace tilescope;

TEST_CASE("common clock: programs that are ranked have the clock of the fastest, in any order and on any number of threads") {
  const Recordings recordings = load_recordings(*load_gpu("h100"));
  std::vector<SimulationRequest> requests;
  for (const char* program : {"flash2", "hopper_wgmma", "flash3", "hopper_producer"})
    requests.push_back(simulated(program, "h100", recorded_rung)->request);
  SimulationRequest refused = requests.front();
  refused.tile = ProgramTile(1 << 14, 1 << 14);
  requests.insert(requests.begin(), refused);
  const auto clock = clock_of_ranking(requests, recordings, 1);
  REQUIRE(clock);
  CHECK(clock->algorithm == "flash3");
  CHECK(clock->hz == clock_under_load(recordings, *simulated("flash3", "h100", recorded_rung))->hz);
  std::ranges::reverse(requests);
  const auto again = clock_of_ranking(requests, recordings, 3);
  REQUIRE(again);
  CHECK(again->algorithm == clock->algorithm);
  CHECK(again->hz == clock->hz);
  CHECK_FALSE(clock_of_ranking(requests, recordings, 2, [](double) { return false; }));
  for (SimulationRequest& each : requests) REQUIRE(set_spec_value(each.gpu, "sm.clock_hz=1.2e9"));
  CHECK(clock_of_ranking(requests, recordings, 2)->hz == 0);
}

TEST_CASE("common clock: a comparison that is cancelled has no clock, whenever that happens") {
  SimulationRequest request = simulated("flash2", "h100", recorded_flash2)->request;
  request.tile = ProgramTile(64, 64);  // its clock is that of the kernel's tile, which is simulated after it
  const Recordings recordings = load_recordings(request.gpu);
  // How often a simulation reports depends on the time that it takes.
  int cancelled = 0;
  for (bool whole = false; !whole; ++cancelled) {
    CAPTURE(cancelled);
    int reports = 0;
    const auto clock = clock_of_comparison(request, recordings, [&](double) { return ++reports <= cancelled; });
    whole = reports <= cancelled;
    REQUIRE(static_cast<bool>(clock) == whole);
    if (!whole) CHECK(clock.error().kind == Error::Kind::cancelled);
  }
  CHECK(cancelled > 2);
}
