// The busy share of the L2 is a range where reads share lookups.
#include "sim/analysis/l2_busy.h"

#include <doctest/doctest.h>

#include "sim/analysis/outcome.h"

namespace tilescope {

TEST_CASE("l2 busy: it reaches from the shared lookups of the model to none, and is one figure where the ports decide") {
  L2Use use;
  use.lookups = 0.18;
  use.ports = 0.22;
  use.unshared = 0.77;
  CHECK(l2_busy(use).least == 0.22);
  CHECK(l2_busy(use).most == 0.77);
  CHECK_FALSE(l2_busy(use).is_known());
  CHECK(l2_busy_text(l2_busy(use)) == "22–77 %");
  use.ports = 0.8;
  CHECK(l2_busy(use).is_known());
  CHECK(l2_busy_text(l2_busy(use)) == "80 %");
  use.unshared = 1.4;  // no time would be enough
  CHECK(l2_busy(use).most == 1);
}

TEST_CASE("l2 busy: without shared lookups the L2 alone needs its bytes over its rate, and may then decide the time") {
  Simulation run;
  run.request.gpu.l2_capacity_bytes = 1 << 20;
  run.request.gpu.l2_bytes_per_cycle = 1000;
  run.request.gpu.sm_clock_hz = 1e9;
  CHECK(looked_up_ns(run, 5e6) == doctest::Approx(5000));
  run.time = Nanoseconds(2000);
  run.l2.unshared = 1.5;
  CHECK(unshared_ns(run) == doctest::Approx(3000));
  Outcome outcome;
  outcome.time_ns = 2000;
  outcome.unshared_ns = 3000;
  CHECK(outcome.l2_may_decide());
  outcome.unshared_ns = 2001;  // no more than noise
  CHECK_FALSE(outcome.l2_may_decide());
}

}  // namespace tilescope
