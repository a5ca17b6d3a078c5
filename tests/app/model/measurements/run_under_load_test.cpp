// A run at its clock under load, with what is recorded of it.
#include "app/model/measurements/run_under_load.h"

#include <doctest/doctest.h>

#include "tests/app/model/measurements/recorded_problems.h"

using namespace tilescope;

TEST_CASE("run under load: a run that was recorded has the clock of its recording, and is simulated at it") {
  const auto run = simulated("flash3", "h100", recorded_flash3);
  const Recordings recordings = load_recordings(run->request.gpu);
  const auto loaded = run_under_load(recordings, *run);
  REQUIRE(loaded);
  REQUIRE(loaded->recorded);
  CHECK(loaded->clock.from == ClockUnderLoad::From::this_case);
  CHECK(loaded->clock.hz == loaded->recorded->measured().sm_clock_hz);
  CHECK(loaded->simulation->request.gpu.sm_clock_hz == loaded->clock.hz);
  CHECK(loaded->simulation->time.value > run->time.value);
  REQUIRE(loaded->errors.time);
  CHECK(loaded->errors.time->is_short);
  CHECK(loaded->errors.time->runs >= 15);
  CHECK_FALSE(loaded->errors.clock);  // the clock is its own
}
