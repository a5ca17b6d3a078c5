// What the window calls a bottleneck.
#include <doctest/doctest.h>

#include "app/views/study_panel.h"

using namespace tilescope;

namespace {

NextLimit limit_that_saves(double part) {
  NextLimit limit;
  limit.without = Bound::hbm;
  limit.before_ns = 1000;
  limit.outcome.time_ns = 1000 * (1 - part);
  limit.outcome.bound = Bound::tensor;
  return limit;
}

}  // namespace

TEST_CASE("bottleneck: what saves a few percent when lifted is only the busiest resource") {
  const NextLimit large = limit_that_saves(0.6), little = limit_that_saves(0.019);
  CHECK(bottleneck_text(Bound::hbm, &large) == "Bottleneck: HBM bandwidth");
  CHECK(next_limit_text(large) == "Without it: 2.5× faster, then limited by the tensor cores");
  CHECK(bottleneck_text(Bound::hbm, &little) == "No single bottleneck, busiest: HBM bandwidth");
  CHECK(next_limit_text(little) == "Without HBM bandwidth alone: 1.02× faster");
  const NextLimit slower = limit_that_saves(-0.05);
  CHECK(next_limit_text(slower) == "Without HBM bandwidth alone: no faster");
  CHECK(bottleneck_text(Bound::latency, &slower) == "No single bottleneck");
  CHECK(bottleneck_text(Bound::hbm, nullptr) == "Bottleneck: HBM bandwidth");
}
