// What a lane shows of its bytes, at the end of its run and before.
#include "app/model/session/lane.h"

#include "sim/analysis/outcome.h"

namespace tilescope {

std::int64_t left_in_l2(const Lane& lane) {
  if (!lane.simulation || lane.state.cycle < lane.simulation->cycles.value) return 0;
  return dirty_bytes_at_end(*lane.simulation);
}

const char* about_mark(const Lane& lane, double bytes) {
  return lane.state.traffic_exact || bytes == 0 ? "" : "≈ ";
}

}  // namespace tilescope
