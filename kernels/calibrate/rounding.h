// Rounding of measured values.
#pragma once

#include <cmath>

namespace tilescope {

/// Rounds to four significant digits; further digits are noise.
inline double four_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  double scale = 1;
  while (std::abs(value) * scale < 1000) scale *= 10;
  while (std::abs(value) * scale >= 10000) scale /= 10;
  return std::round(value * scale) / scale;
}

}  // namespace tilescope
