// HbmQueue: rates, the share of write-backs, and what is done up to a moment.
#include "sim/engine/hbm_queue.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/sim/test_gpus.h"

using namespace tilescope;

TEST_CASE("hbm: reads and writes queue in order of arrival, and a copy of both runs at the sustained rate") {
  GpuSpec gpu = toy_gpu();  // 64 bytes a cycle
  gpu.hbm_sustained_fraction = 0.8;
  HbmQueue hbm(gpu);
  CHECK(hbm.read(10, 640) == 10 + 640.0 / 64);
  const double both = 2 * 640 / (0.8 * 64);
  CHECK(hbm.write(12, 640) == doctest::Approx(10 + both));
  CHECK(hbm.read(1000, 64) == 1001);  // the queue was empty again
}

TEST_CASE("hbm: the share of write-backs grows with their cycles and decays with time") {
  HbmQueue hbm(toy_gpu());
  CHECK(hbm.part_writing(0) == 0);
  hbm.write_back(100, 64 * 500);
  CHECK(hbm.part_writing(100) == doctest::Approx(0.25));
  CHECK(hbm.part_writing(50) == doctest::Approx(0.25));  // calls come in order of time
  CHECK(hbm.part_writing(2100) == doctest::Approx(0.25 * std::exp(-1)));
  hbm.write_back(2100, 64 * 500);
  CHECK(hbm.part_writing(2100) == doctest::Approx(0.25 + 0.25 * std::exp(-1)));
  hbm.write(2100, 64 * 500);  // what somebody waits for is no write-back
  CHECK(hbm.part_writing(2100) == doctest::Approx(0.25 + 0.25 * std::exp(-1)));
}

TEST_CASE("hbm: work that is still queued at a moment is not done") {
  HbmQueue hbm(toy_gpu());
  hbm.read(0, 6400);
  hbm.write_back(0, 6400);
  CHECK(hbm.use(150).bytes == 6400 + 3200);
  CHECK(hbm.use(150).busy_cycles == 150);
  CHECK(hbm.use(200).bytes == 12800);
  CHECK(hbm.use(500).busy_cycles == 200);
}
