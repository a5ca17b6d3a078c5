// WorkKind: what the session works on off the frame. The views put it into words.
#pragma once

#include <cstdint>

namespace tilescope {

enum class WorkKind : std::uint8_t {
  unnamed,  // too short to be shown
  simulation,
  timeline,
  other_sms,
  values,
  probe_comparison,
  validation,
  measurement,
  calibration,
  roofline,
  variants,
  fit_maps,
  ladder,
  next_limit,
  sweep,
  pinned,
  lesson
};

}  // namespace tilescope
