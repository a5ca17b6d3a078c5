// How much two pictures differ: on average, and at the worst place once both are blurred.
#pragma once

#include "app/platform/framebuffer.h"

namespace tilescope {

struct PictureDifference {
  double mean = 0;     // of the absolute difference, 0..255
  double blurred = 0;  // the largest after averaging over 9x9 pixels: shifted glyphs blur away, missing panels do not
};

/// Sizes must be equal.
PictureDifference compare_pictures(const Picture& a, const Picture& b);

}  // namespace tilescope
