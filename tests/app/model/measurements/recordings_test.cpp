// Recordings of a GPU, and of others that have its id.
#include "app/model/measurements/recordings.h"

#include <doctest/doctest.h>

#include "app/model/requests/assets.h"

using namespace tilescope;

TEST_CASE("recordings: a file with the id of a GPU and other numbers has no recordings, and a value that is set keeps them") {
  GpuSpec gpu = *load_gpu("h100");
  CHECK_FALSE(load_recordings(gpu).runs.empty());
  REQUIRE(set_spec_value(gpu, "l2.capacity_bytes=1000000"));
  CHECK_FALSE(load_recordings(gpu).runs.empty());
  gpu = *load_gpu("h100");
  gpu.sm_clock_hz = 1e9;
  CHECK(load_recordings(gpu).runs.empty());
}
