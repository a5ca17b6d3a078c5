// The busy share of the L2 is a range where reads share lookups.
#include "sim/analysis/l2_busy.h"

#include <doctest/doctest.h>

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

}  // namespace tilescope
